"""The coupled games of Doshi et al. 2025: their constants are what differences of their accuracies give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.common.table import FrozenArray
from fedabm.games.costs import Quadratic
from fedabm.papers.doshi2025 import theory
from fedabm.papers.doshi2025.coupled import CoupledQuadratic, draw
from fedabm.papers.doshi2025.theory import _sides
from fedabm.solving.rates import joint_steps
from fedabm.strategies import GradientResponse
from tests.papers.rows import run


@pytest.fixture(params=range(4))
def model(request) -> CoupledQuadratic:
    rng = np.random.default_rng(request.param)
    found = draw(rng, 0.15, 0.1)
    return replace(found, weights=FrozenArray(rng.normal(size=len(found.target))))


def mean_accuracy(model: CoupledQuadratic, weights: np.ndarray, profile: np.ndarray) -> float:
    return float(replace(model, weights=FrozenArray(weights)).values(profile[None]).mean())


def test_slopes_and_gradients_are_those_of_the_values(model: CoupledQuadratic) -> None:
    profile = np.linspace(0.5, 1.5, model.owners)
    np.testing.assert_allclose(np.diagonal(model.marginals(profile)), model.slopes(profile), atol=1e-6)
    np.testing.assert_allclose(model.curves(profile).value(profile), model.values(profile[None])[0])
    moves = 1e-5 * np.eye(len(model.target))
    now = model.weights.array
    ends = [mean_accuracy(model, now + one, profile) - mean_accuracy(model, now - one, profile) for one in moves]
    np.testing.assert_allclose(np.array(ends) / 2e-5, model.gradient(profile), atol=1e-6)
    best = replace(model, weights=FrozenArray(model.best_weights(profile)))
    np.testing.assert_allclose(best.gradient(profile), 0.0, atol=1e-12)


def test_everything_is_coupled() -> None:
    """Neither matrix is diagonal, and both sides disturb each other."""
    several = [draw(np.random.default_rng(seed), 0.15, 0.1) for seed in range(20)]
    for one in several:
        away = one.mutual.array[~np.eye(one.owners, dtype=bool)]
        assert np.all(away != 0)
        assert np.all(one.mixed.array != 0)
        assert not np.allclose(one.mutual.array, one.mutual.array.T)
    assert any(np.abs(one.mean_bend - np.diag(np.diagonal(one.mean_bend))).max() > 0.01 for one in several)


def test_steps_beyond_the_bound_may_diverge_and_the_row_would_notice(model: CoupledQuadratic) -> None:
    """The norm of g falls below the precision within T_0 steps at an allowed rate, and not at forty times the rate."""
    rates = np.full(model.owners, 0.5)
    sides = _sides(model, rates)
    gamma, eta = (0.9 * side.largest_step for side in sides)
    left = []
    for rate in (eta, 40 * eta):
        people = population([Quadratic(0.5)] * model.owners, 2.0, GradientResponse(gamma), 1.0)
        made = Federation(Scenario(people, replace(model, rate=rate), steps=10**6, tolerance=0.0))
        for _ in range(min(joint_steps(*sides, gamma, eta, 10.0, 1e-2), 400)):
            made.step()
        left.append(np.abs(made.accuracy.gradient(made.population.contribution)).max())  # type: ignore[attr-defined]
    assert left[0] < 0.01
    assert not left[1] < 0.01


def test_d01_d04_and_d05_hold_on_coupled_games() -> None:
    found = run("D01", "D04", "D05")
    assert {one.verdict for one in found.values()} == {"reproduced"}
    assert "2 of 2 instances" in found["D01"].ours
    assert all("2 of 2 instances" in found[id].ours for id in ("D04", "D05"))
    assert "not diagonal" in found["D01"].reason
    assert "own data may hurt" in found["D04"].reason


@pytest.mark.parametrize(("id", "bound"), [("D01", "joint_steps"), ("D04", "accuracy_steps"), ("D05", "weight_steps")])
def test_bounds_of_one_step_turn_the_theorems_red(monkeypatch, id: str, bound: str) -> None:
    """Both phases: what phase 1 does not need of its bound is left for phase 2."""
    monkeypatch.setattr(theory, bound, lambda *words: 1)
    monkeypatch.setattr(theory, "full_contribution_steps", lambda *words: 1)
    assert run(id)[id].verdict == "FAILED"
