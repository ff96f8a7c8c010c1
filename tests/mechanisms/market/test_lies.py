"""Liars, Sybils, colluders and roles: what the server hears and what they are left with."""

import numpy as np
import pytest
from hypothesis import given

from fedabm.common.errors import InputError
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import cluster_distances, eagerness_of, market_reports, pooled, unit_costs_of, utilities
from fedabm.simulation.lies import Sybil, misreport
from fedabm.simulation.roles import INCLUSIVE_MARKET, market_owners, role_reports
from tests.mechanisms.market.markets import GAIN, SEEDS, one_buyer, random_market

MARKET = ModelMarket(1.0)


def test_a_lie_changes_only_the_liars_report():
    truth = market_reports(np.array([100.0, 50.0, 10.0]), np.array([1.0, np.inf, 2.0]), 10.0)
    told = misreport(truth, [1, 2], size=0.5, cost=0.0, eagerness=3.0)
    assert told.size.tolist() == [100.0, 25.0, 5.0]
    assert unit_costs_of(told).tolist() == [1.0, 0.0, 0.0]
    assert eagerness_of(told).tolist() == [10.0, 30.0, 30.0]
    assert unit_costs_of(misreport(truth, [0])).tolist() == [1.0, np.inf, 2.0]


def test_an_infinite_cost_times_nothing_is_nothing():
    truth = market_reports(np.array([100.0, 50.0]), np.array([np.inf, 0.0]), 10.0)
    assert unit_costs_of(misreport(truth, [0, 1], cost=0.0)).tolist() == [0.0, 0.0]


def test_a_negative_factor_is_refused():
    with pytest.raises(InputError, match="factor"):
        misreport(market_reports(np.array([1.0, 1.0]), 1.0, 1.0), [0], cost=-1.0)


@given(SEEDS)
def test_one_account_is_the_owner_itself(seed):
    reports, distances = random_market(seed)
    sybil = Sybil(0, accounts=1, share=1.0)
    outcome = MARKET.clear(*sybil.enter(reports, distances))
    persons = sybil.persons(len(distances))
    honest = utilities(GAIN, reports, *MARKET.clear(reports, distances))
    assert utilities(GAIN, reports, *outcome, persons) == pytest.approx(honest)


def test_a_seller_that_splits_its_data_earns_less():
    # As a whole it is paid 20 (1/10 - 1/sqrt 200); two halves are each paid what the second one adds.
    (reports, distances), sybil = one_buyer([100.0], [0.05]), Sybil(1)
    adjacency, paid = MARKET.clear(*sybil.enter(reports, distances))
    assert adjacency[0].tolist() == [False, True, True]
    utility = utilities(GAIN, reports, adjacency, paid, sybil.persons(2))
    second = 20.0 / np.sqrt(150.0) - 20.0 / np.sqrt(200.0)
    assert utility[1] == pytest.approx(2 * second - 2 * 0.05)
    assert utility[1] < utilities(GAIN, reports, *MARKET.clear(reports, distances))[1]


def test_data_bought_twice_count_once():
    (reports, distances), sybil = one_buyer([100.0], [0.05]), Sybil(1, share=1.0)
    adjacency, paid = MARKET.clear(*sybil.enter(reports, distances))
    assert adjacency.sum(axis=1)[0] == 2
    price = 2 * (20.0 / np.sqrt(200.0) - 20.0 / np.sqrt(300.0))
    utility = utilities(GAIN, reports, adjacency, paid, sybil.persons(2))
    assert utility == pytest.approx([2.0 - np.sqrt(2.0) - price, price - 0.1])


def test_accounts_of_one_owner_gain_nothing_from_each_other():
    truth = market_reports(np.array([100.0]), 0.01, 400.0)
    sybil = Sybil(0, accounts=3)
    adjacency, paid = MARKET.clear(*sybil.enter(truth, np.zeros((1, 1))))
    assert adjacency.any()
    assert utilities(GAIN, truth, adjacency, paid, sybil.persons(1)) == pytest.approx([0.0], abs=1e-12)


def test_more_accounts_than_samples_are_refused():
    people = market_owners(["trader"] * 2, market_reports(np.array([2.0, 50.0]), 1.0, 10.0))
    with pytest.raises(InputError, match="2 samples for 3 accounts"):
        Sybil(0, accounts=3).accounts_of(people)


def test_two_sellers_gain_if_one_of_them_steps_back():
    reports, distances = one_buyer([100.0, 100.0], [0.1, 0.1])
    honest = pooled(utilities(GAIN, reports, *MARKET.clear(reports, distances)), [1, 2])
    told = misreport(reports, [2], cost=100.0)
    colluding = pooled(utilities(GAIN, reports, *MARKET.clear(told, distances)), [1, 2])
    assert honest == pytest.approx(2 * (np.sqrt(2.0) - 2.0 / np.sqrt(3.0) - 0.1))
    assert colluding == pytest.approx(2.0 - np.sqrt(2.0) - 0.1)
    assert colluding > honest


def test_roles_do_what_they_came_for_and_the_attacker_is_left_alone():
    rng = np.random.default_rng(0)
    truth = role_reports(INCLUSIVE_MARKET, rng.uniform(2000, 6000, 12), 5e5, 1.0, rng)
    distances = cluster_distances([0, 1, 2] * 4, 0.05, 0.8, outcasts=[11])
    adjacency, paid = ModelMarket(2.0).clear(truth, distances)
    roles, payments = np.array(INCLUSIVE_MARKET), paid.sum(axis=0) - paid.sum(axis=1)
    assert np.all(payments[roles == "seller"] > 0)
    assert np.all(payments[roles == "buyer"] < 0)
    assert np.all(adjacency.sum(axis=1)[roles == "trader"] > 0)
    assert adjacency.sum(axis=0)[11] == adjacency.sum(axis=1)[11] == 0


def test_changing_one_role_leaves_the_others_as_they_are():
    size = np.full(3, 100.0)
    one, other = (
        role_reports(roles, size, 5e5, 1.0, np.random.default_rng(3))
        for roles in (["trader", "buyer", "trader"], ["trader", "seller", "trader"])
    )
    costs, eager = ([find(told) for told in (one, other)] for find in (unit_costs_of, eagerness_of))
    assert eager[0][[0, 2]].tolist() == eager[1][[0, 2]].tolist()
    assert costs[0][[0, 2]].tolist() == costs[1][[0, 2]].tolist()
    assert (costs[0][1], costs[1][1], eager[1][1]) == (np.inf, 0.0, 0.0)


def test_an_unknown_role_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="trader"):
        role_reports(["tradr"], np.ones(1), 1.0, 1.0, np.random.default_rng(0))
