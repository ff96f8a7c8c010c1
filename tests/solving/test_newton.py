"""One game is a table of one: Newton's methods find the same in a table as in its games by themselves."""

import numpy as np
import pytest

from fedabm import Game
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments
from fedabm.solving import newton as module
from fedabm.solving.interior_point import interior_point
from fedabm.solving.linear_model import Matrices, linearise
from fedabm.solving.newton import newton
from fedabm.solving.opening import is_smooth, opening
from fedabm.solving.table import OneGame, StackedGameTable


def drawn(rule, *, games=12, owners=6, exponent=1.5):
    """Games of one kind."""
    rng = np.random.default_rng(4)
    rates, rooms = rng.uniform(1e-3, 0.1, (games, owners)), rng.uniform(5.0, 80.0, (games, owners))
    costs = [PowerCost(rate, np.full(owners, exponent), np.zeros(owners)) for rate in rates]
    return [Game(PowerLaw(exponent=0.5), cost, room, rule) for cost, room in zip(costs, rooms, strict=True)]


@pytest.mark.parametrize("method", [newton, interior_point])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("rule", [NoPayments(), ContributionSubsidy(0.002), CostSharing(0.3)])
def test_a_table_is_its_games_one_by_one(method, exponent, rule):
    games = drawn(rule, exponent=exponent)
    table = StackedGameTable.of(games)
    start = opening(table)
    found = method(table, start)
    for row, game in enumerate(games):
        alone = OneGame(game)
        assert is_smooth(alone)[0] == is_smooth(table)[row]
        np.testing.assert_allclose(opening(alone)[0], start[row], rtol=1e-12)
        ended = method(alone, start[row : row + 1])
        assert abs(int(ended.iterations[0]) - int(found.iterations[row])) <= 1
        np.testing.assert_allclose(found.profiles[row], ended.profiles[0], rtol=1e-5, atol=1e-7)


def every_guess(now):
    """The active set guessed as often as is allowed, without looking for sets that come back."""
    sides = module._sides(now, now.slopes / now.model.diagonal)
    for _ in range(now.model.systems):
        moves, wish = module._pinned_steps(now, sides)
        sides = module._sides(now, wish)
    return moves


@pytest.mark.parametrize("systems", [1, 4, 5, 12])
def test_guesses_that_repeat_end_where_all_guesses_would(systems, monkeypatch):
    """With linear costs of the total, active sets run in circles of three."""
    table = StackedGameTable.of(drawn(NoPayments(), exponent=1.0))
    asked = []
    pinned = module._pinned_steps
    profiles = opening(table)
    slopes = table.slopes(profiles)
    model = linearise(table, profiles, slopes)
    now = module._Point(table, profiles, slopes, Matrices(model.diagonal, model.matrices, systems))
    wanted = every_guess(now)
    monkeypatch.setattr(module, "_pinned_steps", lambda *facts: asked.append(1) or pinned(*facts))
    np.testing.assert_array_equal(module._active_set_steps(now), wanted)
    assert len(asked) <= min(systems, 5)


def test_one_singular_system_does_not_spoil_the_others():
    matrices = np.array([[[-2.0, 0.0], [0.0, -4.0]], [[-1.0, -1.0], [-1.0, -1.0]]])
    model = Matrices(np.ones((2, 2)), matrices)
    everyone = np.ones((2, 2), dtype=bool)
    moves = model.solve(everyone, np.zeros((2, 2)), np.array([[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_allclose(moves[0], [0.5, 0.25])
    assert moves[1].sum() == pytest.approx(1.0, rel=1e-6)


def test_who_is_pinned_does_not_move_in_any_table():
    game, other = drawn(NoPayments(), games=2, owners=3)
    profiles = np.array([[0.5, 1.0, 2.0], [1.0, 0.2, 0.1]])
    free = np.array([[True, False, True], [False, False, True]])
    weight, pull = np.full((2, 3), 0.1), np.array([[1.0, -2.0, 0.5], [0.3, 0.2, 0.1]])
    table = StackedGameTable.of([game, other])
    together = linearise(table, profiles, table.slopes(profiles)).solve(free, weight, pull)
    assert not np.any(together[~free])
    for row, one in enumerate((game, other)):
        alone, here = OneGame(one), slice(row, row + 1)
        model = linearise(alone, profiles[here], alone.slopes(profiles[here]))
        np.testing.assert_allclose(together[here], model.solve(free[here], weight[here], pull[here]), rtol=1e-9)
