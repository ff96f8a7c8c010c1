"""A rule around another one is that one, but for what it states of itself."""

import inspect
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Deposit, Mechanism, NoPayments, ShapleyShare
from fedabm.mechanisms.traits import RuleTraits
from fedabm.mechanisms.wrapper import RuleWrapper
from fedabm.views import Reports, ServerView

REPORTS = Reports(np.array([1.0, 2.0, 3.0]), np.full(3, 5.0), Linear(np.array([0.01, 0.02, 0.03])))
PUBLIC = {name: value for name, value in vars(Mechanism).items() if not name.startswith("_")}
METHODS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
FLAGS = [name for name in PUBLIC if name not in (*METHODS, "traits", "needs")]


class Odd(ContributionSubsidy):
    """Everything that a rule can say of itself, the other way round."""

    def quotas(self, reports: Reports) -> np.ndarray:
        """Half of what each has."""
        return 0.5 * reports.size

    def forfeits(self, view: ServerView) -> np.ndarray:
        """A tenth of what each gave."""
        return 0.1 * view.reports.contribution


for name in FLAGS:
    setattr(Odd, name, not getattr(Mechanism, name))


class Told(NoPayments):
    """Notes what it is asked."""

    asked: ClassVar[list] = []


for name in METHODS:
    setattr(Told, name, lambda self, *given, name=name, **named: Told.asked.append((name, given, named)) or name)


class Stating(RuleWrapper):
    """States what is the default anyway."""

    budget_balanced = True
    promises = True


@dataclass(frozen=True)
class Deaf(RuleWrapper):
    """Hears of a tenth of the costs."""

    def hears(self, reports: Reports) -> Reports:
        """Costs divided by ten."""
        assert isinstance(reports.cost, PowerCost)
        return replace(reports, cost=Linear(reports.cost.rate / 10))


def test_a_rule_says_of_itself_what_the_inner_one_says() -> None:
    assert set(FLAGS) >= {one.name for one in fields(RuleTraits)}
    assert all(getattr(RuleWrapper(Odd(0.1)), name) is getattr(Odd(0.1), name) for name in FLAGS)
    assert all(getattr(RuleWrapper(NoPayments()), name) is getattr(NoPayments(), name) for name in FLAGS)
    assert RuleWrapper(Odd(0.1)).traits == Odd(0.1).traits


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_a_mechanism_is_that_of_the_inner_one_by_what_it_hears(name: str) -> None:
    view = ServerView(0, REPORTS, PowerLaw())
    takes_view = "view" in inspect.signature(PUBLIC[name]).parameters
    given = (view,) if takes_view else (PowerLaw(), REPORTS)[-len(inspect.signature(PUBLIC[name]).parameters) + 1 :]
    Told.asked.clear()
    assert getattr(Deaf(Told()), name)(*given) == name
    ((asked, heard, _),) = Told.asked
    assert asked == name
    reports = heard[-1].reports if takes_view else heard[-1]
    assert np.array_equal(reports.cost.rate, REPORTS.cost.rate / 10)


def test_what_sweeps_and_proofs_rely_on_is_not_taken_over_by_a_rule_that_changes_something() -> None:
    inner = NoPayments()
    assert (inner.stacks, inner.separable) == (RuleWrapper(inner).stacks, RuleWrapper(inner).separable) == (True, True)
    assert not any(getattr(Deaf(inner), name) for name in ("stacks", "separable", "potential"))
    assert not any(getattr(Deposit(inner), name) for name in ("stacks", "separable", "potential"))
    assert Deposit(ShapleyShare()).ignores_size


def test_what_a_subclass_states_stands() -> None:
    stating = Stating(Odd(0.1))
    assert stating.budget_balanced
    assert stating.promises
    assert stating.asks_cost


def test_all_that_a_rule_does_is_done_by_the_inner_one() -> None:
    inner, outer, view = Odd(0.1), RuleWrapper(Odd(0.1)), ServerView(0, REPORTS, PowerLaw())
    np.testing.assert_array_equal(outer.quotas(REPORTS), inner.quotas(REPORTS))
    np.testing.assert_array_equal(outer.forfeits(view), inner.forfeits(view))
    np.testing.assert_array_equal(outer.settle(view).payments, inner.settle(view).payments)
    bend = inner.jacobian(PowerLaw(), REPORTS)
    assert bend is not None
    np.testing.assert_array_equal(outer.jacobian(PowerLaw(), REPORTS), bend)


def test_a_rule_that_hears_something_else_settles_and_offers_by_that() -> None:
    inner, outer = CostSharing(0.5), Deaf(CostSharing(0.5))
    heard, given = outer.hears(REPORTS), REPORTS.contribution
    offers = outer.offers(PowerLaw(), REPORTS).payment.value(given)
    assert np.array_equal(offers, inner.offers(PowerLaw(), heard).payment.value(given))
    assert not np.allclose(offers, inner.offers(PowerLaw(), REPORTS).payment.value(given))
    assert np.allclose(outer.settle(ServerView(0, REPORTS, PowerLaw())).payments, offers, atol=1e-15)


def test_only_a_rule_can_be_inside() -> None:
    with pytest.raises(InputError, match="the rule beside it"):
        RuleWrapper("no payments")  # type: ignore[arg-type]
