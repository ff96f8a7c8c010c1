"""The theorems of iPFL 2025 on random markets, where they hold and where they need a condition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm.mechanisms.market import MarketView, ModelMarket, Profiles, social_welfare, utilities
from fedabm.simulation.ledger import Ledger
from fedabm.simulation.lies import misreport
from tests.market.markets import GAIN, SEEDS, one_buyer, random_market

MARKET = ModelMarket(1.0)


def settle_lie(view: MarketView, owner: int, **factors: float) -> tuple[np.ndarray, np.ndarray]:
    """The adjacency and the true utilities if one owner lies about itself."""
    outcome = MARKET.clear(MarketView(misreport(view.reports, [owner], **factors), view.distances))
    return outcome.adjacency, utilities(GAIN, view.reports, outcome)


@given(SEEDS)
def test_theorem_1_honest_owners_never_lose(seed):
    view = random_market(seed)
    outcome = MARKET.clear(view)
    assert np.all(utilities(GAIN, view.reports, outcome) >= -1e-12)


@given(SEEDS)
def test_every_seller_gets_more_than_its_cost_and_every_buyer_pays_less_than_its_gain(seed):
    view = random_market(seed)
    outcome = MARKET.clear(view)
    costs = np.broadcast_to(view.reports.unit_cost, outcome.adjacency.shape)
    assert np.all(outcome.remittances[outcome.adjacency] >= costs[outcome.adjacency] - 1e-12)
    gains = GAIN.added(view.reports.size, outcome.adjacency @ view.reports.size, view.reports.eagerness)
    assert np.all(outcome.remittances.sum(axis=1) <= gains + 1e-12)


@given(SEEDS)
def test_money_is_conserved_and_the_server_keeps_nothing(seed):
    view = random_market(seed)
    outcome = MARKET.clear(view)
    ledger = Ledger(len(view.reports))
    ledger.record(0, outcome.transfers)
    assert abs(outcome.payments.sum()) <= 1e-12
    assert ledger.balance() == 0.0
    assert ledger.balances == pytest.approx(outcome.payments, abs=1e-12)
    welfare = social_welfare(GAIN, view.reports, outcome.adjacency)
    assert utilities(GAIN, view.reports, outcome).sum() == pytest.approx(welfare, abs=1e-9)


@given(SEEDS, st.floats(1.0001, 100.0))
def test_lemma_1_and_theorem_2_a_higher_cost_means_fewer_buyers_and_no_more_utility(seed, factor):
    view = random_market(seed)
    honest = MARKET.clear(view)
    before = utilities(GAIN, view.reports, honest)
    for owner in range(len(view.reports)):
        adjacency, after = settle_lie(view, owner, cost=factor)
        assert not np.any(adjacency[:, owner] & ~honest.adjacency[:, owner])
        assert after[owner] <= before[owner] + 1e-12


def test_theorem_2_is_not_empty():
    losses = 0
    for seed in range(40):
        view = random_market(seed)
        before = utilities(GAIN, view.reports, MARKET.clear(view))
        losses += sum(settle_lie(view, i, cost=5.0)[1][i] < before[i] - 1e-3 for i in range(len(view.reports)))
    assert losses > 10


def test_understating_the_cost_pays_where_it_crowds_out_a_cheaper_seller():
    # One model of 100 samples is worth .5858 to the buyer, a second one only .2595: it buys from the cheaper seller.
    view = one_buyer([100.0, 100.0], [0.30, 0.35])
    honest = MARKET.clear(view)
    assert honest.adjacency[0].tolist() == [False, True, False]
    adjacency, utility = settle_lie(view, 2, cost=0.2 / 0.35)
    assert adjacency[0].tolist() == [False, False, True]
    assert utility[2] == pytest.approx(2.0 - np.sqrt(2.0) - 0.35)
    assert utilities(GAIN, view.reports, honest)[2] == 0.0


def test_understating_the_cost_can_lose_money():
    view = one_buyer([100.0], [0.60])
    _, utility = settle_lie(view, 1, cost=0.1)
    assert utility[1] == pytest.approx(2.0 - np.sqrt(2.0) - 0.60)
    assert utility[1] < 0.0


def test_understating_eagerness_lowers_the_price():
    view = one_buyer([100.0], [0.30])
    honest = utilities(GAIN, view.reports, MARKET.clear(view))
    _, utility = settle_lie(view, 0, eagerness=0.75)
    assert honest[0] == pytest.approx(0.0, abs=1e-12)
    assert utility[0] == pytest.approx((2.0 - np.sqrt(2.0)) * (1.0 - np.sqrt(0.75)))


def test_inflating_the_size_pays_where_models_are_alike():
    view = one_buyer([100.0], [0.30])
    _, utility = settle_lie(view, 1, size=2.0)
    assert utility[1] == pytest.approx(2.0 - 2.0 / np.sqrt(3.0) - 0.30)
    assert utility[1] > utilities(GAIN, view.reports, MARKET.clear(view))[1]


@given(SEEDS, st.floats(0.01, 1.0))
def test_theorem_3_inflated_sizes_isolate_where_models_differ(seed, closest):
    view = random_market(seed, closest=closest)
    for owner in range(len(view.reports)):
        exports = [settle_lie(view, owner, size=factor)[0][:, owner].sum() for factor in (1e6, 1e9, 1e100)]
        assert exports == [0, 0, 0]


def test_theorem_3_fails_without_distances():
    view = one_buyer([100.0], [0.30])
    for factor in (1e3, 1e6, 1e12):
        assert settle_lie(view, 1, size=factor)[0][0, 1]


@given(SEEDS)
def test_buyers_sell_nothing_and_sellers_buy_nothing(seed):
    view = random_market(seed)
    outcome = MARKET.clear(view)
    assert not np.any(outcome.exports[np.isinf(view.reports.unit_cost)])
    assert not np.any(outcome.imports[view.reports.eagerness == 0.0])
    assert not np.any(np.diag(outcome.adjacency))


@given(SEEDS)
def test_an_unusable_model_is_imported_by_nobody(seed):
    view = random_market(seed)
    distances = view.distances.copy()
    distances[0], distances[:, 0] = np.nan, np.nan
    outcome = ModelMarket(0.0).clear(MarketView(view.reports, distances))
    assert outcome.exports[0] == outcome.imports[0] == 0
    assert np.all(np.isfinite(outcome.remittances))


def test_settling_is_pure_and_a_lone_owner_trades_with_nobody():
    view = random_market(1)
    one, other = MARKET.clear(view), MARKET.clear(view)
    assert np.array_equal(one.remittances, other.remittances)
    alone = MARKET.clear(MarketView(Profiles(np.array([10.0]), 0.0, 1.0), np.zeros((1, 1))))
    assert len(alone.transfers) == 0
    assert alone.payments.tolist() == [0.0]
