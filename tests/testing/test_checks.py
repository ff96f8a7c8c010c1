"""The public checks: classes that keep the contract pass, and each broken promise is told with what to mend."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from fedabm import InputError
from fedabm.games.curves import Line
from fedabm.games.offers import full_access, nothing
from fedabm.mechanisms import Mechanism, NoPayments, PaymentRule
from fedabm.strategies import Honest, Strategy
from fedabm.testing import ContractBroken, check_mechanism, check_strategy


def line(accuracy, reports, payment, slope=0.0):
    n = len(reports.size)
    return full_access(accuracy, reports.contribution, Line(np.broadcast_to(payment, n) + 0.0, np.full(n, slope)))


@dataclass(frozen=True)
class Leaky(Mechanism):
    """Pays everyone, and says that it does not."""

    def offers(self, accuracy, reports):
        return line(accuracy, reports, 0.1)


@dataclass(frozen=True)
class Favourite(Mechanism):
    """Pays the first from the others' pockets."""

    def offers(self, accuracy, reports):
        n = len(reports.size)
        return line(accuracy, reports, np.where(np.arange(n) == 0, 0.1 * (n - 1), -0.1))


@dataclass(frozen=True)
class Fixed(Mechanism):
    """Pays for the contribution that was reported, not for the one in question."""

    budget_balanced = False

    def offers(self, accuracy, reports):
        return line(accuracy, reports, 0.1 * reports.contribution)


@dataclass(frozen=True)
class Curious(Mechanism):
    """Looks at costs without asking for them."""

    budget_balanced = False

    def offers(self, accuracy, reports):
        return line(accuracy, reports, 0.0 if reports.cost is None else 0.1)


@dataclass(frozen=True)
class Demanding(Mechanism):
    """Needs costs and does not say so in words."""

    asks_cost = True
    budget_balanced = False

    def offers(self, accuracy, reports):
        return line(accuracy, reports, reports.cost.value(reports.size))


@dataclass(frozen=True)
class Generous(Mechanism):
    """Hands out more than there is."""

    def offers(self, accuracy, reports):
        offers = full_access(accuracy, reports.contribution, nothing(len(reports.size)))
        return replace(offers, received=2.0 * offers.received)


@dataclass(frozen=True)
class Moody(Mechanism):
    """Counts how often it is asked."""

    asked: list = field(default_factory=list, compare=False, repr=False)
    budget_balanced = False

    def offers(self, accuracy, reports):
        self.asked.append(1)
        return line(accuracy, reports, 0.1 * len(self.asked))


@dataclass(frozen=True)
class Convex(PaymentRule):
    """Promises a concave payment and pays a convex one."""

    budget_balanced: bool = False

    def offers(self, accuracy, reports):
        return replace(super().offers(accuracy, reports), shape="concave")


def squares(accuracy, reports):
    return reports.contribution**2


def by_cost(accuracy, reports):
    return reports.cost.value(reports.contribution)


@dataclass
class Changeable(Mechanism):
    """Not frozen."""

    rate: float = 0.0

    def offers(self, accuracy, reports):
        return line(accuracy, reports, 0.0)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Leaky(), r"Leaky: payments sum to 0\.\d+ under power_law; mend them or set budget_balanced = False"),
        (Favourite(), "two equal owners have payments .*; mend that or set equal_treatment = False"),
        (
            Fixed(),
            "the offered payment is .* but settling it brings .*; the curves must hold the others'",
        ),
        (Curious(), "reported costs change the outcome; set asks_cost = True"),
        (Demanding(), "without reported costs it does not say what is missing; raise InputError"),
        (Generous(), "is received of .*; hand out no more than the full model"),
        (Moody(), "the same view gave two outcomes under power_law; draw from a seed"),
        (Convex(squares), "promised to be concave and is not, .*; name its kinks, or promise less"),
        (PaymentRule(by_cost, asks_cost=True), "others' reported sizes or costs can be read from an owner's offer"),
        (PaymentRule(lambda accuracy, reports: squares), "it failed where .* was checked: .*; let it not fail"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_broken_promise_of_a_mechanism_is_told(broken, told):
    with pytest.raises(ContractBroken, match=told) as error:
        check_mechanism(broken, seeds=1)
    lines = str(error.value).split("\n")
    assert all(line.startswith(f"{type(broken).__name__}: ") and "; " in line for line in lines)


@dataclass(frozen=True)
class MindReader(Strategy):
    """Gives as much as the cheapest would."""

    def act(self, view):
        return view.truthful(np.minimum(view.capacity, view.cost.rate.min()))


@dataclass(frozen=True)
class Greedy(Strategy):
    """Gives more than it has."""

    def act(self, view):
        return view.truthful(2.0 * view.capacity)


@dataclass(frozen=True)
class Careless(Strategy):
    """Believes that there was a step before the first."""

    def act(self, view):
        return view.truthful(np.clip(view.last.utility, 0.0, view.capacity))


@dataclass(frozen=True)
class Rude(Strategy):
    """Writes on what it is shown."""

    def act(self, view):
        view.last.utility[:] = 0.0
        return view.truthful(0.1 * view.capacity)


@dataclass(frozen=True)
class Gambler(Strategy):
    """Brings its own generator."""

    dice: list = field(default_factory=lambda: [np.random.default_rng(0)], compare=False, repr=False)

    def act(self, view):
        return view.truthful(view.capacity * self.dice[0].uniform(size=len(view.capacity)))


class Plain(Strategy):
    """No dataclass."""

    def act(self, view):
        return view.truthful(0.1 * view.capacity)


@dataclass(frozen=True)
class Silent(Strategy):
    """Does nothing at all."""

    def act(self, view):
        return None


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (
            MindReader(),
            "another owner's secret changes what it does: its contribution is .*no max, mean or sum",
        ),
        (Greedy(), r"in step 3 it contributes less than 0 or more than it has; clip to \[0, view.capacity\]"),
        (Careless(), "in its first step contribution is not finite; mind that the first utility is not a number"),
        (Rude(), "it changes view.last; copy an array before writing to it"),
        (Gambler(), "equal views give two actions: .*; draw from view.rng, keep no state"),
        (Plain(), r"it is no dataclass; write @dataclass\(frozen=True\) above class Plain"),
        (Silent(), "it gives None; return an Action"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_broken_promise_of_a_strategy_is_told(broken, told):
    with pytest.raises(ContractBroken, match=told):
        check_strategy(broken, seeds=1)


def test_classes_that_keep_their_promises_pass_and_others_are_refused():
    assert check_mechanism(NoPayments(), seeds=1) is None
    assert check_strategy(Honest(), seeds=1) is None
    with pytest.raises(InputError, match="mechanism must be a Mechanism"):
        check_mechanism(Honest())
    with pytest.raises(ContractBroken, match="Changeable: its rate can be changed; write @dataclass"):
        check_mechanism(Changeable(), seeds=1)
