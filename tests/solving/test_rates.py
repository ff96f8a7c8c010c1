"""Step sizes and iteration bounds of Doshi et al. 2025: Theorem 1, Theorem 2 and Corollary 1."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Scenario, population
from fedabm.common.errors import InputError
from fedabm.games.accuracy import Accuracy
from fedabm.games.accuracy.training import Stepwise
from fedabm.games.costs import Quadratic
from fedabm.simulation.model import Federation
from fedabm.solving.rates import (
    DerivativeBounds,
    accuracy_steps,
    full_contribution_steps,
    joint_steps,
    step_bounds,
    weight_steps,
)
from fedabm.strategies import GradientResponse

fractions = st.floats(0.01, 0.99)


@st.composite
def sides(draw):
    bound = draw(st.floats(0.1, 5.0))
    strength = bound * draw(fractions)
    return DerivativeBounds(draw(st.integers(1, 20)), strength, bound, strength * draw(st.floats(0.0, 0.99)))


@given(sides(), fractions)
@settings(deadline=None, max_examples=200)
def test_every_allowed_step_contracts(side, fraction):
    assert 0 < side.contraction(fraction * side.largest_step) < 1


@given(sides())
@settings(deadline=None, max_examples=100)
def test_contraction_ends_at_twice_the_last_bound(side):
    edge = 2 * step_bounds(side.size, side.strength, side.bound, side.cross)[3]
    if side.cross * edge < 1:
        assert side.contraction(edge) == pytest.approx(1.0, abs=1e-9)


def test_bounds_of_the_caption_by_hand():
    assert step_bounds(2, 0.5, 1.0, 0.25) == pytest.approx([1.0, 4.0, 0.25, 0.25 / (4 - 0.0625)])
    assert step_bounds(2, 0.5, 1.0, 0.0)[1] == np.inf
    assert DerivativeBounds(1, 1.0, 1.0, 0.0).largest_step == 1.0


def test_no_step_without_enough_concavity():
    with pytest.raises(InputError, match="must exceed the mixed derivatives"):
        DerivativeBounds(2, 0.3, 1.0, 0.3)
    with pytest.raises(InputError, match="exceeds the bound"):
        DerivativeBounds(2, 1.1, 1.0, 0.3)
    with pytest.raises(InputError, match="gamma must lie below"):
        joint_steps(DerivativeBounds(2, 0.5, 1.0, 0.2), DerivativeBounds(2, 1.0, 1.0, 0.2), 0.5, 0.1, 1.0, 1e-3)


@dataclass(frozen=True)
class Coupled(Accuracy, Stepwise):
    """a_i = s_i (1 + h sum_k w_k) - |w - target|^2 / 2: with costs c s_i^2 / 2 an instance of Assumption 1."""

    weights: tuple[float, ...] = (0.0, 0.0)
    target: tuple[float, ...] = (1.0, -1.0)
    coupling: float = 0.1
    rate: float = 0.1
    concave = True

    def values(self, profiles):
        off = np.sum(np.subtract(self.weights, self.target) ** 2) / 2
        return profiles * (1.0 + self.coupling * sum(self.weights)) - off

    def gradient(self, profile):
        return self.coupling * profile.mean() - np.subtract(self.weights, self.target)

    def advance(self, profile):
        return replace(self, weights=tuple(np.array(self.weights) + self.rate * self.gradient(profile)))


@pytest.mark.parametrize("capacity", [5.0, 0.7])
def test_learning_together_reaches_an_equilibrium_within_the_bound(capacity):
    # G = -I, G~ = -I, H_ik = h and H~_kj = h for all entries: norms h sqrt(n m).
    cross, start, precision = 0.1 * 2, np.array([0.2, 0.6]), 1e-4
    side = DerivativeBounds(size=2, strength=1.0, bound=1.0, cross=cross)
    step = 0.9 * side.largest_step
    people = population([Quadratic(0.5)] * 2, capacity, GradientResponse(step), start)
    model = Federation(Scenario(people, Coupled(rate=step), steps=10_000, tolerance=0.0))
    steepness = np.linalg.norm(1.0 - start) + np.linalg.norm(model.accuracy.gradient(start))
    for _ in range(joint_steps(side, side, step, step, steepness, precision)):
        model.step()
    now, wealth = model.population.contribution, 1.0 + 0.1 * sum(model.accuracy.weights)
    projected = np.clip(now + step * (wealth - now), 0.0, capacity) - now
    assert np.linalg.norm(projected) / step < precision
    assert np.linalg.norm(model.accuracy.gradient(now)) < precision
    assert model.gap < precision
    assert now == pytest.approx([min(capacity, wealth)] * 2, abs=precision)


def descend(step: float, steps: int) -> np.ndarray:
    """Gradient descent on (x^2 + 0.2 y^2) / 2 from (1, 2): smoothness 1, convexity 0.2."""
    point = np.array([1.0, 2.0])
    for _ in range(steps):
        point = point - step * np.array([1.0, 0.2]) * point
    return point


def test_phase_two_is_as_fast_as_promised():
    worth = lambda p: (p[0] ** 2 + 0.2 * p[1] ** 2) / 2  # noqa: E731
    steps = accuracy_steps(1.0, 0.2, worth(np.array([1.0, 2.0])), 1e-6)
    assert worth(descend(1.0, steps)) < 1e-6
    steps = weight_steps(1.0, 0.2, np.sqrt(5.0), 1e-6)
    assert np.linalg.norm(descend(2 / 1.2, steps)) < 1e-6
    assert np.linalg.norm(descend(2 / 1.2, steps - 3)) > 1e-6


def test_equal_smoothness_and_convexity_land_in_one_step():
    assert accuracy_steps(0.2, 0.2, 0.5, 1e-9) == weight_steps(0.2, 0.2, 2.0, 1e-9) == 1
    assert accuracy_steps(0.2, 0.1, 1e-12, 1e-9) == 0
    with pytest.raises(InputError, match="exceeds smoothness"):
        weight_steps(0.1, 0.2, 1.0, 1e-3)


def test_subsidy_must_outweigh_what_a_unit_costs():
    assert full_contribution_steps([4.0], [0.0], 0.5, 1.0, 0.25, 0.25) == 16
    assert full_contribution_steps([4.0], [4.0], 0.5, 1.0, 0.25) == 0
    with pytest.raises(InputError, match="must exceed"):
        full_contribution_steps([4.0], [0.0], 0.5, 0.5, 0.25, 0.25)
