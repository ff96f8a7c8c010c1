"""A flag that does not hold is told by the checks, and the library's own classes pass them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm.games.accuracy import (
    Accuracy,
    Custom,
    GroupWeighted,
    JointQuadratic,
    PacBound,
    PowerLaw,
    RandomCoverage,
    RandomDiscovery,
    Separable,
)
from fedabm.games.accuracy.base import Exposure
from fedabm.games.costs import Affine, Cost, Linear, Piecewise, Power, Tabulated
from fedabm.mechanisms import ContributionSubsidy, LeaveOneOut, Mechanism, NoPayments, ShapleyShare, TullockContest
from fedabm.strategies import Honest, Quitter
from fedabm.testing import ContractBroken, check_accuracy, check_cost, check_mechanism, check_strategy
from fedabm.testing.strategies import all_owners_draw_or_none_does_where_promised

GROUPS = GroupWeighted(((1.0, 0.5), (0.2, 1.0)), (0, 1, 1))
Q = ((0.2, 0.1, 0.3), (0.4, 0.2, 0.1), (0.1, 1.0, 0.2))


def root(profiles):
    return np.sqrt(profiles)


def idle(profiles):
    return 0.0 * profiles


ACCURACIES = {
    "power law": PowerLaw(),
    "viability": PowerLaw(scale=1.4, exponent=0.5),
    "groups": GROUPS,
    "pac bound": PacBound(),
    "coverage": RandomCoverage(Q),
    "discovery": RandomDiscovery(0.02 * np.array(Q)),
    "custom": Custom(root, concave=True, monotone=True),
    "separable": Separable(root, idle, concave=True, monotone=True),
    "quadratic": JointQuadratic(target=(1.0, 0.5)),
    "fewer": Custom(root, 3, concave=True).restrict([0, 2]),
}
COSTS = {
    "linear": Linear(0.1),
    "affine": Affine(0.1, 2.0),
    "power": Power(0.2, 1.5),
    "scaled": Piecewise([0, 10], [0.1, 0.5], [2, 0]).scaled(3.0),
    "tabulated": Tabulated([0, 5, 20], [0, 1, 9]),
}


@pytest.mark.parametrize("name", ACCURACIES)
def test_accuracies_are_what_they_declare(name):
    check_accuracy(ACCURACIES[name], seeds=2)


@pytest.mark.parametrize("name", COSTS)
def test_costs_are_what_they_declare(name):
    check_cost(COSTS[name], seeds=2)


# False declarations.  One class each, as flags belong to classes.


@dataclass(frozen=True)
class Line(Accuracy):
    """a_i = (1 + i) s_i + sum of s / 10, which is neither a curve of the total nor bent."""

    def values(self, profiles):
        return profiles * (1.0 + np.arange(profiles.shape[-1])) + 0.1 * profiles.sum(axis=-1, keepdims=True)


class Bent(Line):
    concave = True

    def values(self, profiles):
        return super().values(profiles) ** 2


class Falling(Line):
    monotone = True

    def values(self, profiles):
        return -super().values(profiles)


class Common(Line):
    of_total = True


class Weighted(Line):
    of_exposure = True


class Straight(Line):
    linear_in_all = True

    def values(self, profiles):
        return super().values(profiles) ** 2


class Stacked(Line):
    stacks = True


class Mixed(PowerLaw):
    of_exponentials = True

    def curve(self, exposure):
        return super().curve(exposure) ** 2

    def curve_slope(self, exposure):
        return 2.0 * super().curve(exposure) * super().curve_slope(exposure)


class Lopsided(PowerLaw):
    of_exposure = of_total = concave = monotone = True

    def own_weights(self, owners):
        return np.full(owners, 2.0)


@dataclass(frozen=True)
class Once(Line):
    """Whoever is in it twice has its data once."""

    def restrict(self, rows):
        return Line() if len(rows) > 4 else super().restrict(rows)


@pytest.mark.parametrize(
    ("accuracy", "flag"),
    [
        (Bent(), "concave"),
        (Falling(), "monotone"),
        (Common(), "of_total"),
        (Weighted(), "of_exposure"),
        (Straight(), "linear_in_all"),
        (Stacked(), "stacks"),
        (Mixed(), "of_exponentials"),
        (Lopsided(), "own_weights"),
        (Once(), "padded"),
    ],
)
def test_a_false_declaration_of_an_accuracy_is_told(accuracy, flag):
    with pytest.raises(ContractBroken, match=flag):
        check_accuracy(accuracy, seeds=2)


@dataclass(frozen=True)
class Root(Cost):
    rate: float = 1.0

    def value(self, x):
        return self.rate * np.sqrt(x)


class Crooked(Root):
    convex = False
    straight = True


class Linear_(Root):
    convex = False
    linear = True


class Power_(Root):
    convex = False
    power = True


class Late(Root):
    convex = False

    def slope(self, x):
        return self.rate + 0.0 * x


@pytest.mark.parametrize(
    ("cost", "flag"),
    [(Root(), "convex"), (Crooked(), "straight"), (Linear_(), "linear"), (Power_(), "power"), (Late(), "slope")],
)
def test_a_false_declaration_of_a_cost_is_told(cost, flag):
    with pytest.raises(ContractBroken, match=flag):
        check_cost(cost, seeds=2)


class Flat(ContributionSubsidy):
    """Sums over all runs."""

    stacks = True

    def offers(self, accuracy, reports):
        offers = super().offers(accuracy, reports)
        return replace(offers, payment=float(reports.contribution.mean()) * offers.payment)

    def jacobian(self, accuracy, reports):
        return None


class Convex(TullockContest):
    separable = True


class Exact(LeaveOneOut):
    potential = True


class Sized(ContributionSubsidy):
    ignores_size = True

    def offers(self, accuracy, reports):
        offers = super().offers(accuracy, reports)
        return replace(offers, payment=float(reports.size.max()) * offers.payment)


class Eager(NoPayments):
    budget_balanced = False

    def offers(self, accuracy, reports):
        offers = super().offers(accuracy, reports)
        much = 0.0 if reports.eagerness is None else float(reports.eagerness.max())
        return replace(offers, payment=much * offers.accuracy)


@pytest.mark.parametrize(
    ("mechanism", "flag"),
    [
        (Flat(0.1), "stacks"),
        (Convex(0.2), "separable"),
        (Exact(), "potential"),
        (Sized(0.1), "ignores_size"),
        (Eager(), "asks_eagerness"),
    ],
)
def test_a_false_declaration_of_a_mechanism_is_told(mechanism: Mechanism, flag: str):
    assert mechanism.traits != ShapleyShare().traits
    with pytest.raises(ContractBroken, match=flag):
        check_mechanism(mechanism, seeds=2)


class Together(Quitter):
    """Says that all its owners draw."""

    stacks = True


def test_a_false_declaration_of_a_strategy_is_told():
    check_strategy(Honest(), seeds=1)
    with pytest.raises(ContractBroken, match="stacks = False"):
        all_owners_draw_or_none_does_where_promised(Together(Honest(), chance=0.5), seed=0)


def test_weights_that_do_not_belong_to_the_exposures_are_told():
    @dataclass(frozen=True)
    class Torn(Exposure):
        of_total = True

        def curve(self, exposure):
            return exposure / (1.0 + exposure)

        def curve_slope(self, exposure):
            return (1.0 + exposure) ** -2.0

        def curve_curvature(self, exposure):
            return -2.0 * (1.0 + exposure) ** -3.0

        def exposures(self, profiles):
            return 2.0 * profiles

    with pytest.raises(ContractBroken, match="exposures are not weight_matrix times profiles"):
        check_accuracy(Torn(), seeds=1)
