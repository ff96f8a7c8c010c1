"""Rows about communication: what is counted, and that more of it is noticed."""

from __future__ import annotations

from itertools import combinations

import pytest

from fedabm.mechanisms import FedFomo
from fedabm.papers.ipfl2025 import text_rows as market
from fedabm.papers.murhekar2025 import text_rows as shares
from tests.papers.rows import run


@pytest.mark.parametrize("owners", [1, 2, 3, 5])
def test_models_of_all_coalitions_are_those_that_one_counts(owners: int) -> None:
    """One of every coalition that is not empty, and one for each of its members that trained longer."""
    coalitions = [c for size in range(1, owners + 1) for c in combinations(range(owners), size)]
    assert shares._of_all_coalitions(owners) == sum(1 + len(coalition) for coalition in coalitions)


def test_sampled_orders_need_two_models_for_each_owner_and_order() -> None:
    """Two owners, order (0, 1): {0}, {0, 1}, {0} and {0, 1} with the last owner's longer training."""
    assert shares._of_orders(2, 1) == 4
    assert shares._of_orders(30, 5) == 300


def test_frames_of_round_shapley_have_two_models_up_and_one_down() -> None:
    sent = shares._sent(3)
    assert (sent["models_up"], sent["models_down"]) == (6, 3)


def test_a_protocol_that_cannot_be_sent_however_few_models_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "_of_orders", lambda owners, orders: 2**owners)
    assert run("R28")["R28"].verdict == "FAILED"


def test_a_market_that_sends_the_models_of_collaborators_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = market.market_rules
    monkeypatch.setattr(market, "market_rules", lambda setting: {**rules(setting), "iPFL": FedFomo(2)})
    found = run("P30")["P30"]
    assert found.verdict == "reproduced in part"
    assert "no more models than in FedAvg: not reproducible" in found.reason


def test_reports_in_every_round_of_thousands_of_numbers_would_not_be_negligible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """62 numbers of 8 bytes are a thousandth of the two models of 62,006 numbers of 4 bytes each."""
    monkeypatch.setattr(market, "_EACH_ROUND", 62)
    assert "what is reported is negligible: not reproducible" in run("P30")["P30"].reason
