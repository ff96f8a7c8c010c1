"""Algorithm 2 at once for all owners is Algorithm 2, its corrected form is locally optimal, the printed one is not."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from fedabm.common.errors import InputError
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import (
    LogarithmicGain,
    best_graph,
    limits,
    market_reports,
    objectives,
    prices,
    select,
    social_welfare,
    unit_costs_of,
    unstable,
)
from tests.mechanisms.market.markets import GAIN, SEEDS, algorithm_2, one_buyer, random_market


@given(SEEDS)
def test_the_scan_over_ranks_is_the_loop_of_the_paper(seed):
    reports, distances = random_market(seed, owners=40 if seed % 5 == 0 else None)
    price = prices(reports, distances, 1.0)
    for stop in (False, True):
        found = select(limits(GAIN, reports, price), reports.size, printed=stop)
        assert np.array_equal(found, algorithm_2(reports, price, stop=stop))


def test_blocks_of_rows_and_early_ends_change_nothing(monkeypatch):
    reports, distances = random_market(3, owners=150)
    whole, _ = ModelMarket(0.01).clear(reports, distances)
    monkeypatch.setattr("fedabm.mechanisms.market.model_market._BLOCK", 1000)
    monkeypatch.setattr("fedabm.mechanisms.market.selection._STRIDE", 7)
    parts, _ = ModelMarket(0.01).clear(reports, distances)
    assert np.array_equal(whole, parts)
    assert np.array_equal(whole, algorithm_2(reports, prices(reports, distances, 0.01), stop=False))
    assert whole.sum(axis=1).max() > 7


def test_the_counterexample_to_the_printed_algorithm():
    reports = market_reports([100.0, 1000.0, 20.0], [np.inf, 1.4, 0.01], [400.0, 0.0, 0.0])
    distances = np.zeros((3, 3))
    assert ModelMarket(0.0, printed=True).clear(reports, distances)[0][0].sum() == 0
    assert ModelMarket(0.0).clear(reports, distances)[0][0].tolist() == [False, False, True]


def test_nobody_gains_by_one_import_more_or_less_in_thousands_of_markets():
    unhappy, printed_unhappy, owners = 0, 0, 0
    for seed in range(2000):
        reports, distances = random_market(seed)
        price = prices(reports, distances, 1.0)
        corrected, printed = (ModelMarket(1.0, printed=flag).clear(reports, distances)[0] for flag in (False, True))
        unhappy += unstable(GAIN, reports, corrected, price).sum()
        printed_unhappy += unstable(GAIN, reports, printed, price).sum()
        owners += len(distances)
    assert unhappy == 0
    assert 0.05 < printed_unhappy / owners < 0.5


def test_owners_of_equal_size_fare_alike_under_both_forms():
    for seed in range(200):
        reports, distances = random_market(seed, spread=0.0)
        reports = market_reports(reports.size, unit_costs_of(reports) + 0.01, 4e4)
        one, other = (ModelMarket(1.0, printed=flag).clear(reports, distances)[0] for flag in (False, True))
        assert np.array_equal(one, other)


def test_free_models_are_imported_but_not_as_printed():
    reports, distances = one_buyer([50.0, 70.0], [0.0, 0.0])
    assert ModelMarket(0.0).clear(reports, distances)[0][0].sum() == 2
    assert ModelMarket(0.0, printed=True).clear(reports, distances)[0][0].sum() == 0


def test_another_gain_is_locally_optimal_as_well():
    market = ModelMarket(1.0, gain=LogarithmicGain())
    for seed in range(50):
        reports, distances = random_market(seed)
        reports = market_reports(reports.size, unit_costs_of(reports), 2.0)
        adjacency, _ = market.clear(reports, distances)
        assert not np.any(unstable(market.gain, reports, adjacency, prices(reports, distances, 1.0)))
        assert adjacency.any() or seed > 0


@given(SEEDS)
def test_the_exact_search_is_never_beaten(seed):
    reports, distances = random_market(seed)
    price = prices(reports, distances, 1.0)
    best = objectives(GAIN, reports, best_graph(GAIN, reports, price), price)
    greedy = objectives(GAIN, reports, ModelMarket(1.0).clear(reports, distances)[0], price)
    assert np.all(best <= greedy + 1e-9)
    assert np.all(greedy <= 0.0)


def test_the_exact_search_tries_every_subset():
    reports, distances = random_market(5, owners=6)
    price = prices(reports, distances, 1.0)
    best = objectives(GAIN, reports, best_graph(GAIN, reports, price), price)
    for i in range(6):
        others = [j for j in range(6) if j != i]
        for k in range(6):
            for chosen in combinations(others, k):
                adjacency = np.zeros((6, 6), dtype=bool)
                adjacency[i, list(chosen)] = True
                assert objectives(GAIN, reports, adjacency, price)[i] >= best[i] - 1e-12


def test_the_greedy_graph_can_miss_the_best_one():
    gaps = []
    for seed in range(200):
        reports, distances = random_market(seed, owners=9)
        price = prices(reports, distances, 1.0)
        best, greedy = best_graph(GAIN, reports, price), ModelMarket(1.0).clear(reports, distances)[0]
        gaps.append(np.sum(objectives(GAIN, reports, greedy, price) - objectives(GAIN, reports, best, price)))
    assert max(gaps) > 0.01
    assert np.mean(np.array(gaps) < 1e-9) > 0.1


def test_without_distances_the_best_graph_has_the_highest_welfare():
    reports, distances = random_market(11, owners=8)
    price = prices(reports, distances, 0.0)
    best = best_graph(GAIN, reports, price)
    welfare = social_welfare(GAIN, reports, best)
    assert welfare == pytest.approx(-objectives(GAIN, reports, best, price).sum())
    rng = np.random.default_rng(0)
    sellers = np.isfinite(unit_costs_of(reports))
    for _ in range(300):
        other = (rng.random((8, 8)) < 0.4) & sellers & ~np.eye(8, dtype=bool)
        assert social_welfare(GAIN, reports, other) <= welfare + 1e-12


def test_the_exact_search_says_when_a_market_is_too_large():
    reports, distances = random_market(0, owners=30)
    with pytest.raises(InputError, match="at most"):
        best_graph(GAIN, reports, prices(reports, distances, 1.0))
