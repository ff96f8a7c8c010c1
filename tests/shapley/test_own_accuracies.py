"""What an accuracy of a user's own declares is relied on as with the library's."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.games.accuracy import Custom
from fedabm.games.accuracy.base import Exposure
from fedabm.games.accuracy.mixture import Mixture
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.shapley import choose_method, shapley, shapley_curves
from fedabm.solving.game import Game
from fedabm.solving.uniqueness import uniqueness
from fedabm.testing import check_accuracy


@dataclass(frozen=True)
class Exponential(Exposure):
    """a_i(s) = 1 - exp(-rate S) of the total S: one exponential per owner is missing from the sum of all."""

    rate: float = 0.2
    concave = monotone = of_exponentials = True

    def curve(self, exposure):
        return -np.expm1(-self.rate * exposure)

    def curve_slope(self, exposure):
        return self.rate * np.exp(-self.rate * exposure)

    def curve_curvature(self, exposure):
        return -(self.rate**2) * np.exp(-self.rate * exposure)

    def exponentials(self, profile, precision=1e-15, reach=None, order=1):
        owners = len(profile)
        return Mixture(np.array([float(owners)]), np.array([self.rate]), np.zeros(1, dtype=int), np.ones((1, owners)))


class Silent(Exponential):
    """Says less of itself."""

    of_exponentials = False


def test_it_keeps_the_contract():
    check_accuracy(Exponential())


def test_its_shares_are_exact_for_many_owners_where_it_says_what_it_is():
    profile = np.random.default_rng(0).uniform(0.0, 1.0, 300)
    assert choose_method(Exponential(), profile) == "quadrature"
    assert choose_method(Silent(), profile) == "monte_carlo"
    shares = shapley(Exponential(0.02), profile)
    assert shares.sum() == pytest.approx(300 * -np.expm1(-0.02 * profile.sum()), rel=1e-12)


def test_its_shares_are_those_of_all_coalitions():
    profile = np.array([3.0, 0.0, 1.0, 2.0, 0.5])
    by_terms, by_coalitions = shapley(Exponential(), profile), shapley(Silent(), profile, "enumeration")
    assert np.allclose(by_terms, by_coalitions, rtol=1e-12)
    one, two = (
        shapley_curves(kind, profile, way) for kind, way in ((Exponential(), "auto"), (Silent(), "enumeration"))
    )
    x = np.linspace(0.0, 4.0, 5) * np.ones((5, 1))
    assert np.allclose(one.value(x), two.value(x), rtol=1e-11)


def test_proofs_rely_on_it():
    for rule in (NoPayments(), ShapleyShare()):
        game = Game(Exponential(), [0.02, 0.05, 0.1], 10.0, rule)
        assert uniqueness(game, np.array([1.0, 0.5, 0.0])).unique
        assert uniqueness(Game(Silent(), [0.02, 0.05, 0.1], 10.0, rule), np.array([1.0, 0.5, 0.0])).unique is None


def weighed(profiles):
    """1 - 1 / (1 + what owners' data weigh), for everybody."""
    total = (profiles * np.linspace(1.0, 3.0, profiles.shape[-1])).sum(axis=-1, keepdims=True)
    return 1.0 - 1.0 / (1.0 + total) + 0.0 * profiles


@pytest.mark.parametrize("owners", [13, 16])
def test_all_coalitions_of_up_to_16_owners_are_looked_at_where_that_is_cheap(owners):
    accuracy, profile = Custom(weighed, monotone=True), np.linspace(0.1, 2.0, owners)
    found = shapley(accuracy, profile, error=0.001)
    assert found.method == "enumeration"
    drawn = shapley(accuracy, profile, "monte_carlo", permutations=4000)
    assert np.max(np.abs(found - drawn) / drawn.standard_errors) < 5.0
    dear = type("Dear", (Custom,), {"costly": True})(weighed, monotone=True)
    assert shapley(dear, profile).method == "monte_carlo"


@pytest.mark.parametrize("error", [0.1, 0.03])
def test_orders_are_added_until_the_stated_error_is_met(error):
    accuracy, profile = Custom(weighed, monotone=True), np.linspace(0.1, 2.0, 20)
    found = shapley(accuracy, profile, error=error)
    assert found.method == "monte_carlo"
    assert np.max(found.standard_errors) <= error * np.max(found)
    curve = shapley_curves(accuracy, profile, error=error)
    assert np.max(curve.errors(profile)) <= error * np.max(found)


def test_an_error_that_no_number_of_orders_meets_is_refused_and_so_are_two_statements():
    accuracy, profile = Custom(weighed, monotone=True), np.linspace(0.1, 2.0, 20)
    with pytest.raises(InputError, match="takes more orders than the 838,860 that can be drawn for 20 owners; allow"):
        shapley(accuracy, profile, error=1e-5)
    with pytest.raises(InputError, match="permutations and an error of sampled shares were both given; give one"):
        shapley(accuracy, profile, error=0.1, permutations=64)
