"""Shares of more owners than can be enumerated one by one: exact where only the total matters, else with errors."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.accuracy.base import Exposure
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.mechanisms import BanzhafShare, ShapleyShare
from fedabm.shapley import choose_method, counting, shapley, shapley_curves, shapley_jacobian, shapley_marginals
from fedabm.shapley.totals import TotalCells, Totals, cells_of, ruler_of
from fedabm.solving.equilibrium import certify
from fedabm.solving.game import Game
from fedabm.solving.search import Path

VIABLE = (PacBound(), PacBound(0.9, 3.0), PowerLaw(scale=30.0), PowerLaw(scale=5.0, exponent=0.4, offset=2.0))


class Waves(Exposure):
    """A user's curve of the total with a kink that it does not name."""

    monotone = True

    def curve(self, exposure):
        return np.where(exposure < 7.3, 0.01 * exposure, 0.073 + 0.002 * (exposure - 7.3))

    def curve_slope(self, exposure):
        return np.where(exposure < 7.3, 0.01, 0.002) * np.ones_like(exposure)


def contributions(owners, scale=30.0, seed=0):
    return scale * np.random.default_rng(seed).lognormal(0.0, 1.0, owners)


def by_size(curve, profile, owner, x, chance):
    """The definition for one owner: a mean over coalitions of the others by size, written out."""
    others, found = np.delete(profile, owner), 0.0
    for size in range(len(others) + 1):
        totals = np.array([sum(some) for some in combinations(others, size)])
        found += chance(size) * np.sum(curve(totals + x) - curve(totals))
    return len(profile) * found


@pytest.mark.parametrize("accuracy", VIABLE, ids=repr)
def test_shares_of_nineteen_owners_are_exact_where_only_the_total_matters(accuracy):
    profile = contributions(19)
    shares, curves = shapley(accuracy, profile), shapley_curves(accuracy, profile, reach=np.full(19, 500.0))
    assert shares.method == "counting"
    assert shares.standard_errors is None
    defined = by_size(accuracy.curve, profile, 4, profile[4], lambda size: 1.0 / (19 * comb(18, size)))
    assert shares[4] == pytest.approx(defined, rel=1e-12)
    assert shares.sum() == pytest.approx(19 * float(accuracy.curve(profile.sum())), rel=1e-13)
    np.testing.assert_allclose(curves.value(profile), shares, rtol=1e-11, atol=1e-14)
    assert np.all(curves.value(np.zeros(19)) == 0.0)


def test_shares_of_a_curve_with_a_hidden_kink_are_exact_too():
    profile = contributions(17, scale=1.0)
    curves = shapley_curves(Waves(), profile)
    assert not isinstance(curves.samples.of(0), TotalCells)
    np.testing.assert_allclose(curves.value(profile), shapley(Waves(), profile), rtol=1e-11)


@pytest.mark.parametrize("accuracy", VIABLE, ids=repr)
def test_cells_ask_few_totals_and_lose_nothing_but_rounding(accuracy):
    """Means in cells are those over all totals, at the kink and beyond what cells were made for, too."""
    profile = contributions(17)
    cells = shapley_curves(accuracy, profile, reach=profile).samples.of(5)
    assert isinstance(cells, TotalCells)
    assert len(cells.nodes) < len(cells.totals.total) / 20
    kinks = accuracy.viable - cells.totals.total[:50]
    x = np.concatenate([np.linspace(0.0, 2000.0, 41), kinks[kinks > 0]])
    # At a kink itself the slope of one coalition in thousands depends on the last digit of a total.
    for term, trial in ((accuracy.curve, x), (accuracy.curve_slope, 1.000001 * x)):
        np.testing.assert_allclose(cells.mean(term, trial), cells.totals.mean(term, trial), rtol=1e-11, atol=1e-15)


def test_slopes_of_exact_shares_are_their_derivatives():
    profile = contributions(18)
    curves = shapley_curves(PacBound(), profile)
    step = 1e-5 * profile
    rises = (curves.value(profile + step) - curves.value(profile - step)) / (2 * step)
    np.testing.assert_allclose(shapley_marginals(PacBound(), profile), rises, rtol=1e-4)


def test_the_jacobian_from_subset_sums_is_that_of_the_quadrature():
    from fedabm.shapley import counting

    profile = contributions(9, scale=1.0)
    exact = shapley_jacobian(PowerLaw(), profile)
    np.testing.assert_allclose(counting.curvatures(PowerLaw(), profile), exact, rtol=1e-9)


def test_banzhaf_indices_of_nineteen_owners_are_exact_where_only_the_total_matters():
    profile = contributions(19)
    curves = BanzhafShare().indices(PacBound(), profile, np.full(19, 500.0))
    assert not curves.sampled
    for x in (profile[2], 3.0, 400.0):
        trial = np.where(np.arange(19) == 2, x, profile)
        defined = by_size(PacBound().curve, profile, 2, x, lambda size: 0.5**18)
        assert curves.value(trial)[2] == pytest.approx(defined, rel=1e-11)


def test_equal_contributions_stay_exact_whatever_their_number():
    profile = np.repeat([4.0, 7.0, 11.0], 40)
    assert choose_method(PacBound(), profile) == "counting"
    shares = shapley(PacBound(), profile)
    assert shares.sum() == pytest.approx(120 * float(PacBound().curve(profile.sum())), rel=1e-11)


def test_where_orders_are_sampled_nothing_is_certified_and_errors_are_said():
    accuracy, costs = PacBound(), np.linspace(2e-4, 2e-3, 30)
    profile = contributions(30)
    curve = shapley_curves(accuracy, profile)
    assert curve.sampled
    assert np.all(curve.errors(profile) > 0)
    game = Game(accuracy, costs, 300.0, ShapleyShare())
    assert game.gap(profile) == np.inf
    found = certify(game, Path(profile, 0, "given"), 1e9)
    assert found.verdict == "found"
    assert not found.converged
    assert found.gap == np.inf
    assert "standard_errors" in found.as_dict()
    assert found.rows()[0]["standard error of payment"] > 0


def test_standard_errors_of_curves_are_how_far_sampled_shares_are_off():
    rng = np.random.default_rng(3)
    accuracy, profile = GroupWeighted(((1.0, 0.3), (0.5, 1.0)), rng.integers(0, 2, 25)), contributions(25, 1.0)
    exact = shapley(accuracy, profile)
    away = []
    for seed in range(20):
        drawn = shapley_curves(accuracy, profile, "monte_carlo", permutations=200, rng=np.random.default_rng(seed))
        away.append((drawn.value(profile) - exact) / drawn.errors(profile))
    assert 0.8 < np.sqrt(np.mean(np.square(away))) < 1.25


def test_the_number_of_orders_follows_from_the_stated_error():
    """As it would be for equal owners whose data bring half of what data ever bring."""
    accuracy, totals = PacBound(), np.geomspace(1.0, 1e6, 10_000)
    equal = np.full(40, totals[np.argmax(accuracy.curve(totals) > 0.95 / 2)] / 40)
    for error in (0.1, 0.02):
        shares = shapley(accuracy, equal, "monte_carlo", error=error, rng=np.random.default_rng(5))
        assert np.mean(shares.standard_errors / shares) < 1.2 * error
    few, many = (shapley(accuracy, equal, "monte_carlo", error=error).permutations for error in (0.1, 0.02))
    assert many > 10 * few


@pytest.mark.parametrize(
    ("levels", "counts"), [((3.0,), (5,)), ((3.0, 7.0), (400, 31)), ((0.0, 1.0, 2.0), (4, 90, 900))]
)
def test_counts_that_hardly_ever_occur_are_left_out_without_a_trace(levels, counts, monkeypatch):
    """Banzhaf's coalitions of thousands lie close to one half of them."""
    asked = np.array(levels), np.array(counts)
    short = counting._totals(*asked, evenly=True)
    monkeypatch.setattr(counting, "_likely", lambda count: np.arange(count + 1))
    whole = counting._totals(*asked, evenly=True)
    for some, every in zip(short, whole, strict=True):
        np.testing.assert_array_equal(some, every)


def test_hundreds_of_thousands_of_totals_of_a_curve_that_soon_leaves_zero_come_in_cells():
    """The curve bends most below the 4096th part of all data, where cells begin otherwise."""
    accuracy, owners = PacBound(0.9), 277_273
    before = Totals(*counting._totals(np.array([50.0]), np.array([owners - 1])))
    ruler = ruler_of(accuracy, 50.0 * owners)
    assert ruler is not None
    cells = cells_of(before, ruler, accuracy.viable)
    assert len(cells.nodes) < len(before.total) / 20
    x = np.array([0.0, 1e-3, 7.0, 50.0])
    for term in (accuracy.curve, accuracy.curve_slope):
        assert cells.mean(term, x) == pytest.approx(before.mean(term, x), rel=1e-12, abs=0)
