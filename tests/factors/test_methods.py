"""Indices of functions whose indices are known."""

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.factors.methods import METHODS, MorrisEffects, PawnDistances, SobolIndices, method_of
from tests.factors.closed_forms import game, ishigami
from tests.factors.coverage import Held, coverage, estimated, morris_order, order


def test_quadrature_gives_the_indices_of_a_sum_and_of_a_product():
    from tests.factors.closed_forms import _indices

    nodes, weights = np.polynomial.legendre.leggauss(8)
    table = np.add.outer(nodes, 2 * nodes) + 3 * np.multiply.outer(nodes, nodes)
    first, total, pairs = _indices(table, [weights / 2, weights / 2])
    variances = np.array([1 / 3, 4 / 3, 1.0])
    shares = variances / variances.sum()
    np.testing.assert_allclose(first, shares[:2])
    np.testing.assert_allclose(total, shares[:2] + shares[2])
    np.testing.assert_allclose(pairs, shares[2:])


@pytest.mark.parametrize("make", [ishigami, game])
def test_intervals_hold_true_indices_about_as_often_as_they_say(make):
    """The short form of `python -m tests.factors.coverage`: 20 repetitions, so 95% is 19, give or take."""
    found = coverage(make(), repetitions=20, count=512)
    assert np.all(found.held >= 80)
    assert found.held.mean() < 99.9
    assert found.widest.max() < 0.4


def test_intervals_that_are_too_narrow_or_wide_would_be_noticed():
    assert not Held(np.array([80.0]), np.array([0.05])).good
    assert not Held(np.array([100.0]), np.array([0.05])).good
    assert not Held(np.array([95.0]), np.array([0.2])).good


def test_morris_and_pawn_rank_the_inputs_of_the_game_as_sobol_does():
    known = game()
    assert morris_order(known, trajectories=400) == order(known.first) == order(known.total)
    distances = [value for _, value, _ in estimated(PawnDistances(), known, 600, seed=1)]
    assert order(np.array(distances))[:2] == order(known.first)[:2]
    assert distances[-1] < 0.5 * distances[2], "an input without effect has the distance of chance"


def test_the_mean_effect_of_a_straight_line_is_its_slope():
    method = MorrisEffects()
    points = method.points(2, 6, seed=3)
    found = method.indices(points, 3 * points[..., 0] - points[..., 1], 0, method.sequences(6))
    effects = {(one.kind, one.inputs): one.value for one in found}
    assert effects["mean effect", (0,)] == pytest.approx(3)
    assert effects["signed effect", (1,)] == pytest.approx(-1)
    assert effects["spread", (0,)] == pytest.approx(0, abs=1e-12)


def test_a_larger_design_of_sobol_begins_each_sequence_with_the_smaller_one():
    small, large = (SobolIndices().points(3, count, seed=5) for count in (64, 128))
    parts = large.reshape(16, 8, *large.shape[1:])[:, :4]
    np.testing.assert_array_equal(parts.reshape(small.shape), small)


def test_more_runs_are_wanted_until_intervals_are_narrow_enough():
    method, known = SobolIndices(), ishigami()
    points = method.points(3, 128, seed=0)
    found = method.indices(points, known.values(points), 0, method.sequences(128))
    wide = max(one.half for one in found if one.kind in ("first", "total"))
    assert wide > 0.1
    assert method.needed(found, 128) >= 128 * (wide / 0.1) ** 2
    narrow = [one._replace(half=0.01) for one in found]
    assert method.needed(narrow, 128) is None


def test_seeds_are_as_many_as_there_are_coordinates():
    sobol = SobolIndices().points(2, 64, seed=0)
    assert len(np.unique(SobolIndices().seeds(sobol[..., -1], 0))) == 128
    trajectories = MorrisEffects().points(2, 10, seed=0)
    each = MorrisEffects().seeds(trajectories[..., -1], 0)
    assert all(len(np.unique(row)) == 2 for row in each)
    assert len(np.unique(each)) == 20


def test_unknown_methods_get_one_line():
    with pytest.raises(InputError, match="unknown method 'sobl'; did you mean 'sobol'"):
        method_of("sobl", pairs=True)
    assert {method_of(name, pairs=False).count(None) for name in METHODS} == {512, 100, 1024}
