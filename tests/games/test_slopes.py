"""Slopes that users state are those of their values, or the game is refused in one line."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.costs import Cost
from fedabm.games.slopes import contradicted
from fedabm.mechanisms import Clarke, NoPayments, ShapleyShare
from fedabm.mechanisms.proportional import ProportionalData
from fedabm.simulation.owners import OwnerProfile
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.testing import ContractBroken, check_accuracy


@dataclass(frozen=True)
class Squared(Cost):
    """rate * x^2, with a slope that is `off` times the true one."""

    rate: float = 0.01
    off: float = 1.0

    def value(self, x):
        return self.rate * x**2

    def slope(self, x):
        return 2.0 * self.rate * self.off * x


@dataclass(frozen=True)
class Sworn(Squared):
    """The same, said to be beyond doubt."""

    closed = True


@dataclass(frozen=True)
class Kinked(Cost):
    """Convex with a kink that it does not name, and slopes from the right."""

    def value(self, x):
        return np.maximum(0.01 * x, 0.05 * x - 0.1)

    def slope(self, x):
        return np.where(x >= 2.5, 0.05, 0.01)


@dataclass(frozen=True)
class Stretch(Cost):
    """A tenth per unit, with a slope that is another one on a stretch."""

    low: float
    high: float
    there: float

    def value(self, x):
        return 0.1 * x

    def slope(self, x):
        return np.where((x >= self.low) & (x < self.high), self.there, 0.1)


@dataclass(frozen=True)
class Saturating(Exposure):
    """1 - exp(-x / 3), with a slope that is `off` times the true one."""

    off: float = 1.0
    concave = True
    monotone = True

    def curve(self, exposure):
        return -np.expm1(-exposure / 3.0)

    def curve_slope(self, exposure):
        return self.off * np.exp(-exposure / 3.0) / 3.0


def root(profiles):
    return np.sqrt(1.0 + profiles.sum(axis=-1, keepdims=True)) + 0.0 * profiles


def root_gradient(profiles, off=1.0):
    slope = off * 0.5 / np.sqrt(1.0 + profiles.sum(axis=-1))
    return np.broadcast_to(slope[:, None, None], (*profiles.shape, profiles.shape[-1]))


@pytest.mark.parametrize("family", [Squared, Sworn])
@pytest.mark.parametrize("off", [0.0, 0.5, 0.9, 1.1, 4.0, -1.0])
def test_a_cost_whose_slope_contradicts_its_value_is_refused(family, off):
    for make in (
        lambda: Game(PowerLaw(), [0.1, family(off=off)], 10.0, NoPayments()),
        lambda: OwnerProfile(family(off=off), 10.0),
    ):
        with pytest.raises(InputError, match=r"has slope .+ but its values rise by .+ per unit there; mend `slope`"):
            make()


@pytest.mark.parametrize("there", [np.nan, np.inf, -np.inf, 5.0, 0.0])
@pytest.mark.parametrize(("low", "high"), [(0.0, 10.0), (0.0, 0.1), (0.0, 1e-4), (3.0, 3.5), (9.9, 11.0), (9.9999, 11)])
def test_a_cost_whose_slope_is_wrong_on_a_stretch_or_no_number_is_refused(low, high, there):
    with pytest.raises(InputError, match=r"has slope .+ but its values rise by 0\.1 per unit there; mend `slope`"):
        Game(PowerLaw(), [Stretch(low, high, there)], 10.0, NoPayments())


@dataclass(frozen=True)
class Rooted(Cost):
    """The root of x, infinitely steep at 0 and rightly so."""

    convex = False

    def value(self, x):
        return 0.01 * np.sqrt(x)

    def slope(self, x):
        with np.errstate(divide="ignore"):
            return 0.005 / np.sqrt(x)


@pytest.mark.parametrize("cost", [Squared(), Sworn(), Rooted(), Squared(3e4), Kinked()], ids=repr)
@pytest.mark.parametrize("capacity", [1e-6, 10.0, 1e9])
def test_true_slopes_are_accepted_at_every_scale(cost, capacity):
    Game(PowerLaw(), [cost, 0.2], capacity, NoPayments())


@pytest.mark.parametrize("off", [0.5, 0.9, 2.0, -1.0])
def test_an_accuracy_whose_slope_contradicts_its_value_is_refused(off):
    wrong = Saturating(off), Custom(root, concave=True, gradient=lambda profiles: root_gradient(profiles, off))
    for accuracy in wrong:
        with pytest.raises(InputError, match=r"has slope .+ but its values rise by .+; mend curve_slope, gradient"):
            Game(accuracy, [0.1, 0.2], 10.0, ShapleyShare())
    with pytest.raises(ContractBroken, match="the slope of a curve is not the derivative of its value"):
        check_accuracy(Saturating(off))


def test_true_slopes_of_accuracies_are_accepted_and_certified():
    check_accuracy(Saturating())
    for accuracy in (Saturating(), Custom(root, concave=True, monotone=True, gradient=root_gradient)):
        assert solve(Game(accuracy, [0.1, 0.2], 10.0, NoPayments())).converged


@given(st.floats(1e-3, 1e3), st.floats(0.2, 3.0))
def test_no_true_slope_is_contradicted_however_it_waves(width, power):
    x = width * np.linspace(0.05, 0.95, 19)
    for periods in (1, 30, 3000):
        bend = 2 * np.pi * periods / width
        slope = power * x ** (power - 1) + bend * np.cos(bend * x)
        assert not np.any(contradicted(lambda at, bend=bend: at**power + np.sin(bend * at), slope, x, width)[0])


class Weighted(Accuracy):
    """A user's accuracy that is made for three owners and does not say so."""

    monotone = True

    def values(self, profiles):
        total = (profiles * np.array([1.0, 0.5, 0.2])).sum(axis=-1, keepdims=True)
        return np.broadcast_to(total / (1.0 + total), profiles.shape)


def test_an_accuracy_that_does_not_say_for_how_many_owners_it_is_works_under_clarke():
    stated = type("Stated", (Weighted,), {"owners": 3})
    found = [solve(Game(accuracy, [0.1, 0.05, 0.01], 5.0, Clarke())) for accuracy in (Weighted(), stated())]
    assert found[0].verdict == found[1].verdict == "certified"
    np.testing.assert_array_equal(found[0].profile, found[1].profile)
    np.testing.assert_array_equal(found[0].payments, found[1].payments)


@pytest.mark.parametrize("method", ["projected gradient", "stochastic gradient"])
@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
def test_the_default_step_of_gradient_dynamics_is_positive_where_slopes_are_infinite(method, start):
    game = Game(PowerLaw(), [0.1, 0.2, 0.3], 10.0, ProportionalData(0.5))
    assert not np.all(np.isfinite(game.jacobian(start)))
    found = solve(game, start=start, method=method, limit=30)
    assert np.all((found.profile >= 0) & (found.profile <= 10.0))
    assert found.iterations > 0
