from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Quadratic
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.solving.dynamics import (
    best_response,
    curvature,
    direction,
    iteration_bound,
    projected_gradient,
    sequential_best_response,
    step_size,
    stochastic_gradient,
)
from fedabm.solving.game import Game

GAME = Game(PowerLaw(), [Quadratic(0.2), Quadratic(0.5), Quadratic(1.0)], [3.0, 0.1, 3.0], NoPayments())


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**9))
def test_theorem_3_2_holds(seed: int) -> None:
    """With the step of the theorem |g| falls below the precision within T steps."""
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(1, 4))
    rates = rng.uniform(1.0, 3.0, owners)
    game = Game(PowerLaw(), [Quadratic(rate) for rate in rates], 1.0, NoPayments())
    # |v''| <= 2 and c'' = 2 rate, so these hold at every profile.
    strength, bound = 2 * rates.min(), 2 * rates.max() + 2
    step, start = step_size(strength, bound, owners), rng.random(owners)
    norm = float(np.linalg.norm(direction(game, start, step)))
    enough = iteration_bound(strength, bound, owners, norm, 0.05)
    last = next(islice(projected_gradient(game, start, step), enough, None))
    assert np.linalg.norm(direction(game, last, step)) < 0.05


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**9), st.floats(1e-3, 1e3))
def test_dynamics_stay_within_the_box(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    start = GAME.capacities * rng.random(3)
    paths = (
        projected_gradient(GAME, start, step),
        stochastic_gradient(GAME, start, step, 2, rng),
        best_response(GAME, start, 0.7),
        sequential_best_response(GAME, start),
    )
    for path in paths:
        first, *rest = islice(path, 6)
        assert first == pytest.approx(start)
        assert all(np.all((profile >= 0) & (profile <= GAME.capacities)) for profile in rest)


def test_projected_gradient_by_hand() -> None:
    game = Game(PowerLaw(), [0.1, 0.25], 100, NoPayments())
    first, second = islice(projected_gradient(game, np.array([1.0, 0.0]), 2.0), 2)
    assert first == pytest.approx([1, 0])
    # v'(1) = 1/4: owner 0 moves by 2 (0.25 - 0.1), owner 1 would not move at all.
    assert second == pytest.approx([1.3, 0.0])


def test_step_may_depend_on_the_iteration() -> None:
    game = Game(PowerLaw(), [0.1, 0.25], 100, NoPayments())
    path = list(islice(projected_gradient(game, np.array([1.0, 0.0]), lambda turn: 2.0 if turn == 0 else 1e-9), 3))
    assert path[1] == pytest.approx([1.3, 0.0])
    assert path[2] == pytest.approx([1.3, 0.0])


def test_stochastic_gradient_moves_k_owners_and_repeats_with_its_generator() -> None:
    runs = [
        np.array(list(islice(stochastic_gradient(GAME, np.full(3, 0.05), 0.01, 2, np.random.default_rng(seed)), 12)))
        for seed in (3, 3, 4)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert np.all((np.diff(runs[0][:4], axis=0) != 0).sum(axis=1) == 2)


def test_sequential_best_response_moves_one_owner_at_a_time() -> None:
    path = list(islice(sequential_best_response(GAME, np.zeros(3)), 7))
    for turn, (before, after) in enumerate(pairwise(path)):
        others = np.arange(3) != turn % 3
        assert np.array_equal(before[others], after[others])
        assert GAME.gains(after)[turn % 3] < 1e-12


def test_exact_best_response_of_a_free_rider() -> None:
    game = Game(PowerLaw(), [0.1, 0.25], 100, NoPayments())
    _, together, again = islice(best_response(game, np.zeros(2)), 3)
    assert together == pytest.approx([10**0.5 - 1, 1.0])
    assert again == pytest.approx([10**0.5 - 2, 0.0])


def test_step_sizes_of_the_theorems() -> None:
    assert step_size(0.5, 2.0, 10) == pytest.approx(0.5 / 400)
    assert step_size(0.5, 2.0, 10, active=4) == pytest.approx(3 * 0.5 / 400)
    assert step_size(0.5, 2.0, 10, active=10) == step_size(0.5, 2.0, 10)
    assert iteration_bound(0.5, 2.0, 10, np.e, 1.0) == 3200
    assert iteration_bound(0.5, 2.0, 10, 1.0, 2.0) == 0


def test_theorem_4_4_is_undefined_for_one_active_owner() -> None:
    with pytest.raises(InputError, match="k - 1"):
        step_size(0.5, 2.0, 10, active=1)


def test_theorem_3_2_does_not_apply_to_the_total_with_linear_costs() -> None:
    strength, bound = curvature(Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()), np.array([1.0, 1.0]))
    assert strength == pytest.approx(0, abs=1e-12)
    assert bound == pytest.approx(2 / 27)
    with pytest.raises(InputError, match="strength"):
        step_size(0.0, bound, 2)


def test_wrong_arguments_are_refused() -> None:
    game = Game(PowerLaw(), [0.1, 0.25], 100, ContributionSubsidy(0.1))
    with pytest.raises(InputError, match="between 1 and 2"):
        next(stochastic_gradient(game, np.ones(2), 0.1, 3, np.random.default_rng(0)))
    with pytest.raises(InputError, match="damping"):
        next(best_response(game, np.ones(2), 0.0))
    with pytest.raises(InputError, match="step"):
        list(islice(projected_gradient(game, np.ones(2), -1.0), 2))
    with pytest.raises(InputError, match="3 contributions but 2 owners"):
        next(projected_gradient(game, np.ones(3), 1.0))
