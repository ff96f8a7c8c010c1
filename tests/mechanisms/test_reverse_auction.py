"""Critical prices by trying bids, the budget, truth of those who only sell, and what a critical price reveals."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Game, solve
from fedabm.accuracy import LinearPayoff, PowerLaw, Valued
from fedabm.mechanisms import ReverseAuction
from fedabm.mechanisms.reverse_auction import critical_prices, wins
from fedabm.testing import ContractBroken, check_mechanism
from fedabm.testing.mechanisms import an_offer_tells_no_foreign_secret

bids = st.lists(st.floats(0.01, 5.0), min_size=1, max_size=6)


def test_an_auction_by_hand():
    """Bids 1, 2, 4 for one unit each and a budget of 6: two win (2 * 2 <= 6 < 3 * 4), at 6 / 2 each."""
    bid, size = np.array([1.0, 2.0, 4.0]), np.ones(3)
    assert wins(bid, size, 6.0).tolist() == [True, True, False]
    assert critical_prices(bid, size, 6.0).tolist() == [3.0, 3.0, 2.0]
    assert critical_prices(bid, size, 100.0).tolist() == [100 / 3] * 3


@given(bid=bids, budget=st.floats(0.1, 20.0), seed=st.integers(0, 99))
def test_who_bids_below_its_price_wins_and_who_bids_above_loses(bid, budget, seed):
    bid, size = np.array(bid), np.random.default_rng(seed).uniform(0.5, 3.0, len(bid))
    price = critical_prices(bid, size, budget)
    for owner in range(len(bid)):
        for factor, won in ((1 - 1e-6, True), (1 + 1e-6, False)):
            other = bid.copy()
            other[owner] = factor * price[owner]
            assert wins(other, size, budget)[owner] == won
    chosen = wins(bid, size, budget)
    assert np.sum(price[chosen] * size[chosen]) <= budget * (1 + 1e-12)


@given(bid=bids, lie=st.floats(0.001, 10.0), budget=st.floats(0.1, 20.0), seed=st.integers(0, 99))
def test_truth_is_dominant_for_those_who_only_sell(bid, lie, budget, seed):
    """What the first owner earns by selling all: no other bid earns more, whatever the others bid."""
    bid, size = np.array(bid), np.random.default_rng(seed).uniform(0.5, 3.0, len(bid))

    def earned(said):
        told = np.append(said, bid[1:])
        return size[0] * (critical_prices(told, size, budget)[0] - bid[0]) if wins(told, size, budget)[0] else 0.0

    assert earned(bid[0]) >= earned(lie) - 1e-9


def test_who_also_gains_by_the_model_lies_to_be_paid_for_data_that_it_would_give_anyway():
    """Worth 100 a(S) everyone gives all; the third owner, who asks too much, says 0.031 and is paid 0.6 / 19 each."""
    costs, size = [0.02, 0.03, 0.05, 0.09], np.array([5.0, 8.0, 6.0, 7.0])
    worth = Valued(PowerLaw(), LinearPayoff(100.0))
    truth = Game(worth, costs, size, ReverseAuction(0.6))
    assert solve(truth).profile == pytest.approx(size)
    lie = Game(worth, costs, size, ReverseAuction(0.6), reported=[0.02, 0.03, 0.031, 0.09])
    assert lie.utilities(size)[2] - truth.utilities(size)[2] == pytest.approx(6.0 * 0.6 / 19.0)


def test_a_critical_price_is_another_owners_bid_and_the_rule_says_so():
    @dataclass(frozen=True)
    class Secretive(ReverseAuction):
        reveals_bids = False

    check_mechanism(ReverseAuction(0.3), seeds=1)
    with pytest.raises(ContractBroken, match="declares reveals_bids"):
        an_offer_tells_no_foreign_secret(Secretive(0.6), seed=0)
