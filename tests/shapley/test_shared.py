"""Shares of very many owners from one table: the same numbers as the sums over all terms, in little room."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.best import best_response
from fedabm.games.certificate import certified_gains
from fedabm.games.costs import Linear
from fedabm.games.promises import check_promises
from fedabm.mechanisms import PartialReciprocity, ShapleyShare
from fedabm.shapley import counting, shapley, shapley_curves, shapley_marginals, shared
from fedabm.shapley.curves import MixtureCurve, mixture_curve
from fedabm.shapley.shared import MANY, SharedCurve
from fedabm.shapley.tabulated import OctaveGrid, blocks, look_up, trimmed
from fedabm.views import Reports

PROFILES = {
    "some give nothing": lambda rng, n: rng.uniform(0.0, 10.0, n) * (rng.random(n) < 0.7),
    "from thousandths to thousands": lambda rng, n: 10 ** rng.uniform(-3, 3, n),
    "huge": lambda rng, n: 1e6 * rng.uniform(1.0, 2.0, n),
    "tiny": lambda rng, n: 1e-6 * rng.random(n),
    "equal": lambda rng, n: np.full(n, 3.0),
    "two levels": lambda rng, n: np.where(np.arange(n) % 2, 0.5, 4.0),
    "nobody gives": lambda rng, n: np.zeros(n),
}


def accuracy_of(exponent, offset=1.0):
    return PowerLaw(scale=offset**exponent * (1 - 1e-12), exponent=exponent, offset=offset)


def trials_of(rng, profile, capacity):
    """Contributions beside the own, far and near, tiny and beyond what was announced."""
    columns = [profile, profile * (1 + 1e-7), np.zeros(len(profile)), np.full(len(profile), 1e-9)]
    columns += [capacity * rng.random(len(profile)), 10 ** rng.uniform(-6, 1, len(profile)), capacity, 4 * capacity]
    return np.column_stack(columns)


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize("kind", PROFILES)
@pytest.mark.parametrize(("exponent", "offset"), [(1.0, 1.0), (0.05, 1.0), (0.5, 0.1), (3.0, 10.0)])
def test_a_table_gives_what_the_sum_of_all_terms_gives(kind, exponent, offset):
    rng = np.random.default_rng(MANY)
    owners = MANY + 404
    accuracy, profile = accuracy_of(exponent, offset), PROFILES[kind](rng, owners)
    capacity = np.full(owners, max(20.0, 2 * profile.max()))
    curve = shapley_curves(accuracy, profile, "quadrature", reach=capacity)
    assert isinstance(curve, SharedCurve)
    rows = rng.choice(owners, 60, replace=False)
    exact = mixture_curve(accuracy.exponentials(profile, reach=capacity), profile).take(rows)
    few, trials = curve.take(rows), trials_of(rng, profile[rows], capacity[rows])
    close(few.value(trials), exact.value(trials), 1.5e-13)
    close(few.slope(trials), exact.slope(trials), 1.5e-13)
    everything = accuracy.values(profile[None]).sum() - accuracy.at_zero(owners).sum()
    assert curve.value(profile).sum() == pytest.approx(everything, rel=1e-12, abs=1e-300)


def test_identical_owners_by_hand():
    """n owners with m each have v(n m) each; what the first of them loses by leaving is a sum over n coalitions."""
    owners, each, accuracy = 5000, 0.7, PowerLaw()
    profile = np.full(owners, each)
    shares = shapley(accuracy, profile)
    assert shares.method == "quadrature"
    close(shares, 1 - 1 / (1 + owners * each), 1e-13)
    before = each * np.arange(owners)
    close(shapley_marginals(accuracy, profile), np.sum((1 + before + each) ** -2.0), 1e-12)
    trial = np.array([[0.0, 0.01, 3.0, 1e3]])
    gains = (accuracy.curve(before[:, None] + trial) - accuracy.curve(before)[:, None]).sum(axis=0)
    close(shapley_curves(accuracy, profile, "quadrature").take([7]).value(trial)[0], gains, 1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_an_owner_is_computed_the_same_alone_and_among_all(seed):
    rng = np.random.default_rng(seed)
    profile = PROFILES["some give nothing"](rng, MANY)
    capacity = np.full(MANY, 12.0)
    curve = pickle.loads(pickle.dumps(shapley_curves(PowerLaw(), profile, reach=capacity)))
    rows, trials = rng.choice(MANY, 9), trials_of(rng, profile, capacity)
    trials[rows[0], 4] = np.inf
    for whole, part in ((curve.value, curve.take(rows).value), (curve.slope, curve.take(rows).slope)):
        everybody = whole(trials)
        np.testing.assert_array_equal(part(trials[rows]), everybody[rows])
        for column in range(trials.shape[1]):
            np.testing.assert_array_equal(whole(trials[:, column]), everybody[:, column])
            np.testing.assert_array_equal(part(trials[rows, column]), everybody[rows, column])
    assert np.all(curve.value(trials)[:, 2] == 0)
    assert np.all(np.isnan(curve.slope(np.full(MANY, np.nan))))


@pytest.mark.parametrize("mechanism", [ShapleyShare(), PartialReciprocity(0.5)])
@pytest.mark.parametrize("kind", PROFILES)
def test_offers_from_tables_keep_what_they_promise_and_prove_the_same_gap(mechanism, kind, monkeypatch):
    rng = np.random.default_rng(5)
    profile = PROFILES[kind](rng, MANY)
    capacity = np.maximum(profile, rng.uniform(5.0, 10.0, MANY))
    reports, cost = Reports(profile, capacity), Linear(rng.uniform(0.01, 0.3, MANY))
    gains, best = [], []
    for least in (MANY, MANY + 1):
        monkeypatch.setattr(shared, "MANY", least)
        offers = mechanism.offers(PowerLaw(), reports)
        assert offers.shape == "concave"
        check_promises(offers, capacity)
        gains.append(certified_gains(offers, cost, capacity, profile))
        best.append(best_response(offers, cost, capacity).contribution)
    assert np.max(gains[0]) == pytest.approx(np.max(gains[1]), rel=1e-12)
    np.testing.assert_allclose(best[0], best[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("accuracy", "profile"),
    [
        (PowerLaw(), np.append(np.ones(MANY), MANY)),
        (PowerLaw(), np.append(np.zeros(MANY), 1.0)),
        (PowerLaw(), np.append(1e99 * np.ones(MANY), 0.0)),
        (accuracy_of(20.0), np.linspace(0.0, 1e-3, MANY)),
        (GroupWeighted([[1.0]], [0] * MANY), np.linspace(0.0, 1.0, MANY)),
        (PowerLaw(), np.linspace(0.0, 1.0, MANY - 1)),
    ],
)
def test_what_no_table_fits_is_left_to_the_sum_of_all_terms(accuracy, profile):
    assert isinstance(shapley_curves(accuracy, profile, "quadrature"), MixtureCurve)


def test_shares_need_no_table_of_owners_by_terms():
    owners = 2**16
    profile = np.random.default_rng(0).uniform(0.0, 10.0, owners)
    shapley(PowerLaw(), profile)  # what is made once
    tracemalloc.start()
    curve = shapley_curves(PowerLaw(), profile, reach=profile)
    curve.value(profile)
    curve.slope(0.5 * profile)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * owners


@settings(deadline=None)
@given(st.lists(st.sampled_from(np.linspace(0.0, 1.0, 40)), min_size=1, max_size=400))
def test_few_owners_tell_whether_counting_is_short(levels):
    profile = np.array(levels)
    assert counting.is_short(profile) == (counting.terms(profile) <= counting.MOST_TERMS)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_tables_and_sums_over_owners_are_exact(scale):
    rng = np.random.default_rng(1)
    grid = OctaveGrid.up_to(scale, 100.0, 48)
    assert grid.top > 100 >= (grid.top - 1) / 4
    x = np.concatenate([[0.0, 1.0, 3.0, 7.0, 1e-12, 100.0], 100 * rng.random(30_000)])
    weights = rng.random(len(x))

    def function(x):
        return 1.0 / (1.0 + x) ** 2

    table = grid.tables(function(grid.nodes)[None])[0]
    close(np.concatenate([look_up(table, grid.cells(x[part])) for part in blocks(len(x))]), function(x), 3e-15)
    assert grid.sums(x, weights) @ function(grid.nodes) == pytest.approx(np.sum(weights * function(x)), rel=1e-14)
    assert np.max(grid.errors(function(grid.nodes))) < 1e-13
    assert np.max(grid.errors(np.exp(-30 * grid.nodes))) > 1e-6
    rough = trimmed(table, table, 1e-6)
    assert len(rough) < len(table)
    close(look_up(rough, grid.cells(x)), function(x), 1e-5)
