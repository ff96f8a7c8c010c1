"""Figures 1 and 2 of Doshi et al. 2025 for many owners: ends by hand, and what a subsidy that is too small gives."""

from __future__ import annotations

import numpy as np
import pytest

from fedabm.games.accuracy import PowerLaw
from fedabm.papers.doshi2025 import many_rows
from tests.papers.rows import run


def test_ends_of_two_owners_by_hand() -> None:
    """a(S) = 1 - 1/(1 + S): the cheaper owner alone gives until 1/(1 + S)^2 = 0.01, S = 9; all data are S = 900."""
    total, less = many_rows._ends(PowerLaw(), np.array([0.01, 1.0]))
    full = 2 * (1 - 1 / 901)
    np.testing.assert_allclose(total, [full, full, 1.8], atol=1e-9)
    np.testing.assert_allclose(less, [full - 454.5, full - 454.5, 1.71], atol=1e-9)


def test_a_subsidy_below_the_largest_cost_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_rows, "_BETA", 0.5)
    monkeypatch.setattr(many_rows, "_OWNERS", (10,))
    found = run("D22")["D22"]
    assert found.verdict == "FAILED"
    assert "2P-UPBReD does not equal FedAvg and beats UPBReD in 10 of 10 runs" in found.ours


def test_welfare_less_costs_is_told_to_have_the_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_rows, "_OWNERS", (10,))
    assert run("D22")["D22"].reason.endswith("less costs the order is reversed")
