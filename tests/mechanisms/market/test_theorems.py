"""The theorems of iPFL 2025 on random markets, where they hold and where they need a condition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import eagerness_of, market_reports, social_welfare, unit_costs_of, utilities
from fedabm.simulation.ledger import Ledger
from fedabm.simulation.lies import misreport
from fedabm.views import Reports, Transfers
from tests.mechanisms.market.markets import GAIN, SEEDS, one_buyer, random_market

MARKET = ModelMarket(1.0)


def settle_lie(reports: Reports, distances: np.ndarray, owner: int, **factors: float) -> tuple[np.ndarray, np.ndarray]:
    """The adjacency and the true utilities if one owner lies about itself."""
    adjacency, paid = MARKET.clear(misreport(reports, [owner], **factors), distances)
    return adjacency, utilities(GAIN, reports, adjacency, paid)


@given(SEEDS)
def test_theorem_1_honest_owners_never_lose(seed):
    reports, distances = random_market(seed)
    adjacency, paid = MARKET.clear(reports, distances)
    assert np.all(utilities(GAIN, reports, adjacency, paid) >= -1e-12)


@given(SEEDS)
def test_every_seller_gets_more_than_its_cost_and_every_buyer_pays_less_than_its_gain(seed):
    reports, distances = random_market(seed)
    adjacency, paid = MARKET.clear(reports, distances)
    costs = np.broadcast_to(unit_costs_of(reports), adjacency.shape)
    assert np.all(paid[adjacency] >= costs[adjacency] - 1e-12)
    gains = GAIN.added(reports.size, adjacency @ reports.size, eagerness_of(reports))
    assert np.all(paid.sum(axis=1) <= gains + 1e-12)


@given(SEEDS)
def test_money_is_conserved_and_the_server_keeps_nothing(seed):
    reports, distances = random_market(seed)
    adjacency, paid = MARKET.clear(reports, distances)
    ledger = Ledger(len(distances))
    ledger.record(0, Transfers.between(paid, "test"))
    payments = paid.sum(axis=0) - paid.sum(axis=1)
    assert abs(payments.sum()) <= 1e-12
    assert ledger.balance() == 0.0
    assert ledger.balances == pytest.approx(payments, abs=1e-12)
    welfare = social_welfare(GAIN, reports, adjacency)
    assert utilities(GAIN, reports, adjacency, paid).sum() == pytest.approx(welfare, abs=1e-9)


@given(SEEDS, st.floats(1.0001, 100.0))
def test_lemma_1_and_theorem_2_a_higher_cost_means_fewer_buyers_and_no_more_utility(seed, factor):
    reports, distances = random_market(seed)
    honest, paid = MARKET.clear(reports, distances)
    before = utilities(GAIN, reports, honest, paid)
    for owner in range(len(distances)):
        adjacency, after = settle_lie(reports, distances, owner, cost=factor)
        assert not np.any(adjacency[:, owner] & ~honest[:, owner])
        assert after[owner] <= before[owner] + 1e-12


def test_theorem_2_is_not_empty():
    losses = 0
    for seed in range(40):
        reports, distances = random_market(seed)
        before = utilities(GAIN, reports, *MARKET.clear(reports, distances))
        after = [settle_lie(reports, distances, i, cost=5.0)[1][i] for i in range(len(distances))]
        losses += np.sum(after < before - 1e-3)
    assert losses > 10


def test_understating_the_cost_pays_where_it_crowds_out_a_cheaper_seller():
    # One model of 100 samples is worth .5858 to the buyer, a second one only .2595: it buys from the cheaper seller.
    reports, distances = one_buyer([100.0, 100.0], [0.30, 0.35])
    honest, paid = MARKET.clear(reports, distances)
    assert honest[0].tolist() == [False, True, False]
    adjacency, utility = settle_lie(reports, distances, 2, cost=0.2 / 0.35)
    assert adjacency[0].tolist() == [False, False, True]
    assert utility[2] == pytest.approx(2.0 - np.sqrt(2.0) - 0.35)
    assert utilities(GAIN, reports, honest, paid)[2] == 0.0


def test_understating_the_cost_can_lose_money():
    reports, distances = one_buyer([100.0], [0.60])
    _, utility = settle_lie(reports, distances, 1, cost=0.1)
    assert utility[1] == pytest.approx(2.0 - np.sqrt(2.0) - 0.60)
    assert utility[1] < 0.0


def test_understating_eagerness_lowers_the_price():
    reports, distances = one_buyer([100.0], [0.30])
    honest = utilities(GAIN, reports, *MARKET.clear(reports, distances))
    _, utility = settle_lie(reports, distances, 0, eagerness=0.75)
    assert honest[0] == pytest.approx(0.0, abs=1e-12)
    assert utility[0] == pytest.approx((2.0 - np.sqrt(2.0)) * (1.0 - np.sqrt(0.75)))


def test_inflating_the_size_pays_where_models_are_alike():
    reports, distances = one_buyer([100.0], [0.30])
    _, utility = settle_lie(reports, distances, 1, size=2.0)
    assert utility[1] == pytest.approx(2.0 - 2.0 / np.sqrt(3.0) - 0.30)
    assert utility[1] > utilities(GAIN, reports, *MARKET.clear(reports, distances))[1]


@given(SEEDS, st.floats(0.01, 1.0))
def test_theorem_3_inflated_sizes_isolate_where_models_differ(seed, closest):
    reports, distances = random_market(seed, closest=closest)
    for owner in range(len(distances)):
        for factor in (1e6, 1e9, 1e100):
            adjacency, _ = settle_lie(reports, distances, owner, size=factor)
            assert not adjacency[:, owner].any()


def test_theorem_3_fails_without_distances():
    reports, distances = one_buyer([100.0], [0.30])
    for factor in (1e3, 1e6, 1e12):
        assert settle_lie(reports, distances, 1, size=factor)[0][0, 1]


@given(SEEDS)
def test_buyers_sell_nothing_and_sellers_buy_nothing(seed):
    reports, distances = random_market(seed)
    adjacency, _ = MARKET.clear(reports, distances)
    assert not np.any(adjacency.sum(axis=0)[np.isinf(unit_costs_of(reports))])
    assert not np.any(adjacency.sum(axis=1)[eagerness_of(reports) == 0.0])
    assert not np.any(np.diag(adjacency))


@given(SEEDS)
def test_an_unusable_model_is_imported_by_nobody(seed):
    reports, distances = random_market(seed)
    distances[0], distances[:, 0] = np.nan, np.nan
    adjacency, paid = ModelMarket(0.0).clear(reports, distances)
    assert adjacency.sum(axis=0)[0] == adjacency.sum(axis=1)[0] == 0
    assert np.all(np.isfinite(paid))


def test_of_two_equal_sellers_a_buyer_may_need_only_one():
    adjacency, paid = MARKET.clear(*one_buyer([100.0, 100.0], [0.30, 0.30]))
    assert adjacency[0].tolist() == [False, True, False]
    assert paid[0, 1] > 0.30
    assert not MARKET.equal_treatment


def test_settling_is_pure_and_a_lone_owner_trades_with_nobody():
    reports, distances = random_market(1)
    (_, one), (_, other) = MARKET.clear(reports, distances), MARKET.clear(reports, distances)
    assert np.array_equal(one, other)
    alone = MARKET.clear(market_reports([10.0], 0.0, 1.0), np.zeros((1, 1)))
    assert [table.tolist() for table in alone] == [[[False]], [[0.0]]]
