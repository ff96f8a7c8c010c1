"""Coupled games whose constants are known exactly, and the theorems on stochastic best responses."""

from __future__ import annotations

import numpy as np
import pytest

from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.papers.murhekar2023 import theory as murhekar2023
from fedabm.papers.murhekar2025 import coupled
from fedabm.solving.equilibrium import solve
from fedabm.solving.several import solve_all
from tests.papers.rows import run


def test_shapley_shares_of_quadratic_payoffs_by_hand():
    """Pairs are shared equally: d^2 phi_i / d s_i d s_j = -Q_ij / 2 for i != j and -Q_ii else, Q the sum of all Q_i."""
    drawn = coupled.draw(np.random.default_rng(3))
    total = drawn.bend.sum(axis=0)
    expected = -0.5 * (total + np.diag(np.diagonal(total))) - np.diag(2 * drawn.rates)
    np.testing.assert_allclose(coupled.slopes_of_slopes(drawn.game(ShapleyShare())), expected, atol=1e-8)


def test_the_constants_of_lemma_4_5_bound_the_game():
    for seed in range(5):
        drawn = coupled.draw(np.random.default_rng(seed))
        strength, bound = drawn.shapley_shares()
        matrix = coupled.slopes_of_slopes(drawn.game(ShapleyShare()))
        assert np.linalg.eigvalsh(matrix)[-1] <= -strength + 1e-8
        assert np.max(np.abs(matrix)) <= bound


def test_games_are_coupled_and_no_payoff_falls():
    drawn = coupled.draw(np.random.default_rng(1))
    off = drawn.bend[:, ~np.eye(len(drawn.rates), dtype=bool)]
    assert np.min(np.abs(off)) > 0
    game = drawn.game(NoPayments())
    assert np.min(game.accuracy.marginals(game.capacities)) > 0
    strength, bound = drawn.without_payments()
    matrix = coupled.slopes_of_slopes(game)
    assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[-1] == pytest.approx(-strength, abs=1e-8)
    assert np.max(np.abs(matrix)) == pytest.approx(bound, abs=1e-8)


def test_the_dynamics_end_in_the_equilibrium_that_is_solved():
    drawn = coupled.draw(np.random.default_rng(2))
    game = drawn.game(NoPayments())
    rng = np.random.default_rng(0)
    assert coupled.late(rng, game, *drawn.without_payments(), active=2) <= 0
    assert solve(game).converged
    assert solve_all(game, starts=0).unique is None


def test_rows_r08_and_r09_hold_on_coupled_games():
    found = run("R08", "R09")
    assert {one.verdict for one in found.values()} == {"reproduced after correction"}
    assert "2 of 2" in found["R09"].ours


def test_m02_holds_on_coupled_games_and_steps_beyond_the_bound_turn_it_red(monkeypatch):
    """Theorem 3.2 on games whose Jacobian is not diagonal."""
    game = coupled.draw(np.random.default_rng([8, 0])).game(NoPayments())
    matrix = coupled.slopes_of_slopes(game)
    assert np.abs(matrix[~np.eye(len(matrix), dtype=bool)]).min() > 1e-3
    found = run("M02")["M02"]
    assert (found.verdict, "2 of 2 instances" in found.ours) == ("reproduced after correction", True)
    right = murhekar2023.step_size
    monkeypatch.setattr(murhekar2023, "step_size", lambda *words: 100 * right(*words))
    assert run("M02")["M02"].verdict == "FAILED"
