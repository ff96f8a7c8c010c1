"""Games in other units of data: searches take as many steps and find the same, and none goes on at rounding level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.games.accuracy import GroupWeighted, PowerLaw, RandomCoverage
from fedabm.mechanisms import (
    Mechanism,
    NoPayments,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    ShapleyShare,
    ValueShaping,
)
from fedabm.solving import dynamics, search
from fedabm.solving.candidates import path_of
from fedabm.solving.game import Game
from fedabm.solving.interior_point import interior_point
from fedabm.solving.newton import newton
from fedabm.solving.several import solve_all
from fedabm.solving.table import OneGame

#: about 1e-10 to 1e8; powers of four, so that products and roots are exact
UNITS = st.sampled_from([4.0**power for power in range(-17, 14)])
RULES = (NoPayments(), ProportionalData(0.5), ProportionalValue(1.0), ValueShaping(), ShapleyShare())


def in_units(unit: float, seed: int, rule: Mechanism) -> tuple[Game, np.ndarray]:
    """A random game and a start; the same for every unit of data, of which a number is worth 1 / unit."""
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(2, 5))
    accuracy = PowerLaw(scale=unit, offset=unit)
    capacities = unit * rng.uniform(0.5, 30, owners)
    game = Game(accuracy, rng.uniform(0.02, 0.5, owners) / unit, capacities, rule)
    return game, capacities * rng.random(owners)


@settings(max_examples=25, deadline=None)
@given(UNITS, st.integers(0, 2**31), st.sampled_from(RULES[:3]))
def test_best_responses_in_turn_are_the_same_to_the_last_bit_in_any_unit_of_data(unit, seed, rule):
    paths = [search.in_turn(*in_units(one, seed, rule)) for one in (1.0, unit)]
    assert paths[1].iterations == paths[0].iterations
    assert np.array_equal(paths[1].profile, unit * paths[0].profile)


@settings(max_examples=6, deadline=None)
@given(UNITS, st.integers(0, 2**31), st.sampled_from(RULES))
def test_all_methods_take_as_long_in_any_unit_of_data(unit, seed, rule):
    """Shares are integrals over nodes that depend on the unit, so up to rounding."""

    def alone(method):
        return lambda game, start: path_of(method(OneGame(game), start[None]), "one game")

    for follow in (search.damped, alone(newton), alone(interior_point)):
        (game, start), (other, there) = (in_units(one, seed, rule) for one in (1.0, unit))
        usual, found = follow(game, start), follow(other, there)
        assert abs(found.iterations - usual.iterations) <= 2 + 0.2 * usual.iterations
        np.testing.assert_allclose(found.profile / unit, usual.profile, rtol=1e-4, atol=1e-6 * np.max(usual.profile))


@settings(max_examples=10, deadline=None)
@given(st.floats(-10, 8), st.integers(0, 2**31), st.sampled_from([0.5, 1.0]))
def test_paths_along_ridges_end_in_few_rounds_at_any_scale(power, seed, p):
    """Merits in proportion to the best rival's: everybody follows the others, to the width of a grid."""
    rng = np.random.default_rng(seed)
    capacity = 10.0**power
    q = rng.uniform(0.02, 0.4, (2, 2)) * min(1.0, 1.0 / capacity)
    game = Game(
        RandomCoverage(q), rng.uniform(0.01, 0.3, 2) * min(1.0, 1.0 / capacity), capacity, ProportionalShapley(p)
    )
    path = search.in_turn(game, capacity * rng.random(2))
    assert path.iterations < 120
    assert path.cycle is None


def test_replies_that_only_stir_end_a_path():
    """Replies are known to the width of a grid, about 1e-11 of the range; the path used to go on for 200 moves."""
    game = Game(RandomCoverage([[0.1, 0.2], [0.3, 0.05]]), [0.05, 0.2], 1e-8, ProportionalShapley(1.0))
    path = search.in_turn(game, np.array([0.637e-8, 0.27e-8]))
    assert path.iterations <= 20
    assert path.cycle is None
    assert game.gap(path.profile) <= 1e-9


def test_moves_that_still_shrink_or_are_larger_than_noise_do_not_end_a_path():
    shrinking = (np.array([1.0, 1.0 + 0.5**turn]) for turn in range(200))
    assert search.until_repeat(shrinking, "shrinking", 1, 200).iterations >= 39
    wandering = (np.array([1.0 + 1e-3 * turn, 1.0]) for turn in range(200))
    assert search.until_repeat(wandering, "wandering", 1, 150).iterations == 150
    stirring = (np.array([1.0 + 1e-9 * turn, 1.0]) for turn in range(200))
    assert search.until_repeat(stirring, "stirring", 1, 150).iterations == 6


def test_looking_for_further_equilibria_of_tiny_capacities_takes_few_replies(monkeypatch):
    """`proportional_shapley` on `random_coverage` with a capacity of 1e-8 took 40 s: a dozen starts of 200 replies."""
    asked = []
    usual = dynamics.replies
    monkeypatch.setattr(dynamics, "replies", lambda *given: asked.append(1) or usual(*given))
    game = Game(RandomCoverage([[0.1, 0.2], [0.3, 0.05]]), [0.05, 0.2], 1e-8, ProportionalShapley(1.0))
    found = solve_all(game)
    assert found.answer.converged
    assert len(found.every) >= 8
    assert len(asked) < 1000


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e8])
def test_equilibria_are_told_apart_in_any_unit_of_data(unit):
    """Crossed weights: 3.472 by either owner alone, 1.736 by both; all three once looked alike below a millionth."""
    crossed = GroupWeighted(((1.0, 3.0), (3.0, 1.0)), (0, 1), scale=unit, offset=unit)
    found = solve_all(Game(crossed, [0.05 / unit, 0.05 / unit], 100 * unit, NoPayments()))
    totals = np.array([one.profile.sum() for one in found.every]) / unit
    np.testing.assert_allclose(totals, [20**0.5 - 1, 20**0.5 - 1, (20**0.5 - 1) / 2], rtol=1e-8)
