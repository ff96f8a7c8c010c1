"""Nobody learns a foreign secret: everything reachable from a view is searched for numbers planted in other owners."""

import functools
import sys
import weakref
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from fedabm import Federation, Scenario
from fedabm.games.accuracy import GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Linear, PowerCost
from fedabm.games.offers import Offers
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments
from fedabm.simulation.activation import RandomSubset, Sequential, Simultaneous
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import FixedShare, GradientResponse, Liar, Strategy, Wrapper
from fedabm.testing.models import RepeatedModels
from fedabm.testing.privacy import leaks
from fedabm.views import Action, Outcome, OwnerView, Reports, ServerView
from tests.mechanisms.test_mechanisms import EXAMPLES

#: written out to all digits, so that none of these numbers can turn up by chance
COSTS = [0.012345678912345, 0.023456789123451, 0.034567891234512, 0.045678912345123]
CAPACITIES = [7.891234567891, 6.789123456789, 5.678912345678, 4.567891234567]
SEED = 7654321987654321

# Views as the model hands them out


@dataclass(frozen=True)
class Spy(Wrapper):
    """Notes the views it gets; the number keeps it alone in its cohort."""

    number: int = 0
    views: list[OwnerView] = field(default_factory=list, compare=False, repr=False)

    def act(self, view: OwnerView) -> Action:
        self.views.append(view)
        return self.truth.act(view)


@dataclass(frozen=True)
class Bugged(Mechanism):
    """Notes what the mechanism gets to see."""

    inner: Mechanism
    seen: list[Any] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        flags = (
            "asks_cost",
            "asks_eagerness",
            "asks_losses",
            "budget_balanced",
            "equal_treatment",
            "promises",
            "needs",
        )
        for name in flags:
            object.__setattr__(self, name, getattr(self.inner, name))

    def offers(self, accuracy: Any, reports: Reports) -> Offers:
        self.seen.append((accuracy, reports))
        return self.inner.offers(accuracy, reports)

    def settle(self, view: ServerView) -> Outcome:
        self.seen.append(view)
        return self.inner.settle(view)


def spied(mechanism: Mechanism, inner: Strategy, accuracy=None, activation=None) -> tuple[list[Spy], Bugged]:
    """Three steps of a federation whose owners and server are watched."""
    spies = [Spy(inner, number) for number in range(len(COSTS))]
    profiles = [OwnerProfile(Linear(c), b, spy) for c, b, spy in zip(COSTS, CAPACITIES, spies, strict=True)]
    bugged = Bugged(mechanism)
    accuracy = accuracy or (PowerLaw() if mechanism.promises else RepeatedModels(len(COSTS)))
    model = Federation(Scenario(profiles, accuracy, bugged, activation or Simultaneous(), steps=3), SEED)
    for _ in range(3):
        model.step()
    return spies, bugged


#: what owners do depends on their secrets, but is no secret itself
LIAR = Liar(FixedShare(0.371), cost_factor=2.5, size_factor=1.7)
MECHANISMS = sorted(EXAMPLES)


def foreign(owner: int) -> list[float]:
    return [secret for row in range(len(COSTS)) if row != owner for secret in (COSTS[row], CAPACITIES[row])]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("inner", [LIAR, GradientResponse(0.1)], ids=["liar", "gradient"])
def test_an_owners_view_holds_its_own_secrets_and_no_others(name, inner):
    spies, _ = spied(EXAMPLES[name], inner)
    for spy in spies:
        assert len(spy.views) == 3
        for view in spy.views:
            assert leaks(view, [COSTS[spy.number], CAPACITIES[spy.number]]) == [
                COSTS[spy.number],
                CAPACITIES[spy.number],
            ]
            found = set(leaks(view, [*foreign(spy.number), SEED]))
            assert found <= (set(COSTS) if EXAMPLES[name].traits.reveals_bids else set())


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_others_claim_their_data_cost_is_not_in_an_owners_view_either(name):
    spies, _ = spied(EXAMPLES[name], LIAR)
    for spy in spies:
        claims = [2.5 * cost for row, cost in enumerate(COSTS) if row != spy.number]
        if not EXAMPLES[name].traits.reveals_bids:
            assert all(leaks(view, claims) == [] for view in spy.views)


def test_rules_that_reveal_bids_are_known_by_name():
    assert [name for name in MECHANISMS if EXAMPLES[name].traits.reveals_bids] == ["ReverseAuction"]


@pytest.mark.parametrize("activation", [Sequential(shuffle=True), RandomSubset(2)])
@pytest.mark.parametrize(
    "accuracy",
    [
        GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 1, 1, 0)),
        RandomCoverage(np.linspace(0.1, 0.5, 12).reshape(4, 3)),
    ],
    ids=["groups", "coverage"],
)
def test_no_accuracy_or_activation_opens_a_leak(activation, accuracy):
    spies, bugged = spied(ContributionSubsidy(0.01), LIAR, accuracy, activation)
    for spy in spies:
        assert all(leaks(view, foreign(spy.number)) == [] for view in spy.views)
    assert all(leaks(seen, COSTS) == [] for seen in bugged.seen)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_server_hears_claims_and_never_a_true_cost(name):
    """From the first announcement on, before anybody has acted."""
    _, bugged = spied(EXAMPLES[name], LIAR)
    assert any(isinstance(seen, ServerView) for seen in bugged.seen)
    for seen in bugged.seen:
        assert leaks(seen, [*COSTS, *CAPACITIES, SEED]) == []
        claimed = leaks(seen, [2.5 * cost for cost in COSTS])
        assert claimed == ([2.5 * cost for cost in COSTS] if bugged.asks_cost else [])


def test_a_mechanism_that_does_not_ask_gets_no_cost_object_at_all():
    _, bugged = spied(NoPayments(), GradientResponse(0.1))
    views = [seen for seen in bugged.seen if isinstance(seen, ServerView)]
    assert len(views) == 3
    assert all(view.reports.cost is None for view in views)


def test_nothing_is_kept_in_the_modules():
    """A global table would be within everybody's reach."""
    spied(ContributionSubsidy(0.01), LIAR)
    modules = {name: vars(module) for name, module in sys.modules.items() if name.startswith("fedabm")}
    assert "fedabm.simulation.model" in modules
    assert leaks(modules, [*COSTS, *CAPACITIES, SEED]) == []


# The search itself finds what is planted


def a_view() -> OwnerView:
    (spy, *_), _ = spied(ContributionSubsidy(0.01), LIAR)
    return spy.views[0]


class Slotted:
    __slots__ = ("hidden",)

    def __init__(self, hidden: object) -> None:
        self.hidden = hidden

    def method(self) -> None:
        """A bound method carries its object."""


def closure(secret: object):
    return lambda x: (x, secret)


def generator_with(secret: object):
    yield secret


PLANTS = {
    "attribute": lambda secret: secret,
    "array": lambda secret: np.array([1.0, secret]),
    "slice of an array": lambda secret: np.array([1.0, secret])[:1],
    "objects in an array": lambda secret: np.array([{"a": secret}], dtype=object),
    "nested": lambda secret: {"a": [(1, {"b": secret})]},
    "key": lambda secret: {secret: 1},
    "slot": Slotted,
    "bound method": lambda secret: Slotted(secret).method,
    "closure": closure,
    "default": lambda secret: lambda x=secret: x,
    "partial": lambda secret: functools.partial(print, secret),
    "cost": lambda secret: PowerCost(np.array([secret])),
    "generator": generator_with,
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_a_planted_leak_is_found(plant):
    view, secret = a_view(), COSTS[2]
    assert leaks(view, foreign(0)) == []
    object.__setattr__(view, "extra", plant(secret))
    assert leaks(view, foreign(0)) == [secret]


def test_a_view_with_the_population_attached_is_found_out():
    model = Federation(
        Scenario([OwnerProfile(Linear(c), b) for c, b in zip(COSTS, CAPACITIES, strict=True)], PowerLaw())
    )
    view = a_view()
    object.__setattr__(view, "friends", model.population)
    assert leaks(view, foreign(0)) == foreign(0)
    object.__setattr__(view, "friends", weakref.ref(next(iter(model.owners))))
    assert leaks(view, foreign(0)) == foreign(0)


def test_offers_that_carry_foreign_costs_are_found_out():
    view = a_view()
    offers = replace(view.payoff.offers, refund=PowerCost(np.array(COSTS)))
    leaky = replace(view, payoff=replace(view.payoff, offers=offers))
    assert leaks(leaky, foreign(0)) == COSTS[1:]


def test_a_generator_that_reveals_the_seed_is_found_out():
    view = a_view()
    revealing = replace(view, rng=(np.random.default_rng(SEED),))
    assert leaks(revealing, [SEED]) == [SEED]


def test_a_server_that_is_told_the_truth_is_found_out():
    _, bugged = spied(NoPayments(), LIAR)
    view = next(seen for seen in bugged.seen if isinstance(seen, ServerView))
    told = replace(view, reports=replace(view.reports, cost=PowerCost(np.array(COSTS))))
    assert leaks(told, COSTS) == COSTS
