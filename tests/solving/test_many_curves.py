"""Games with a curve, values and parameters of their own, solved as rows of one table: as `solve` certifies each."""

import numpy as np
import pytest

from fedabm import Game, solve
from fedabm.accuracy import LinearPayoff, PacBound, PowerLaw, Valued
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    NoPayments,
    PartialReciprocity,
    ShapleyShare,
    TullockContest,
    ValueShaping,
)
from fedabm.shapley import shapley
from fedabm.solving.many import solve_many

RULES = {
    "none": lambda rng: NoPayments(),
    "shared": lambda rng: CostSharing(rng.uniform(0.2, 0.9)),
    "subsidy": lambda rng: ContributionSubsidy(rng.uniform(0.0, 1.0)),
    "Shapley": lambda rng: ShapleyShare(),
    "part": lambda rng: PartialReciprocity(rng.uniform(0.1, 0.9)),
    "shaping": lambda rng: ValueShaping(),
    "contest": lambda rng: TullockContest(0.5),
}


def _games(name: str, scale: tuple[float, float] = (0.8, 1.0)) -> list[Game]:
    rng = np.random.default_rng(3)
    games = []
    for _ in range(4):
        curve = PowerLaw(rng.uniform(*scale), rng.uniform(0.5, 1.2), rng.uniform(1.0, 3.0))
        worth = Valued(curve, LinearPayoff(100 * rng.uniform(0.5, 2.0, 4)))
        games.append(Game(worth, rng.uniform(0.3, 2.0, 4), rng.uniform(20, 100, 4), RULES[name](rng)))
    return games


@pytest.mark.parametrize("name", list(RULES))
def test_rows_with_their_own_curves_are_what_solve_finds(name):
    games = _games(name)
    together = solve_many(games)
    assert all(one.converged for one in together)
    if name != "contest":  # which solve searches by best responses
        apart = solve(games[1])
        np.testing.assert_allclose(together[1].profile, apart.profile, atol=1e-6)
        np.testing.assert_allclose(together[1].payments, apart.payments, atol=1e-6)
    for game, found in zip(games, together, strict=True):
        assert game.gap(found.profile) <= 1e-8
        np.testing.assert_allclose(game.payments(found.profile), found.payments, atol=1e-9)


def test_curves_of_several_families_stand_in_one_table():
    rules = [CostSharing(rate) for rate in (0.2, 0.5)]
    games = [Game(curve, [0.02, 0.02], 50.0, rule) for curve in (PowerLaw(), PacBound()) for rule in rules]
    for game, found in zip(games, solve_many(games), strict=True):
        assert found.converged
        np.testing.assert_allclose(found.profile.sum(), solve(game).profile.sum(), rtol=1e-6)


def test_a_model_that_little_data_does_not_make_is_solved_in_rows_too():
    games = _games("shared", scale=(1.6, 2.0))
    assert all(game.accuracy.accuracy.viable >= 0 for game in games)
    for game, found in zip(games, solve_many(games), strict=True):
        assert found.converged
        assert game.gap(found.profile) <= 1e-8


def test_shares_of_owners_that_value_a_model_differently_are_those_of_all_coalitions():
    worth, profile = Valued(PowerLaw(), LinearPayoff([3.0, 1.0, 0.5])), np.array([2.0, 1.0, 0.5])
    by_all = shapley(worth, profile, "enumeration")
    total = worth.values(profile[None]).sum() - worth.at_zero(3).sum()
    assert float(np.sum(by_all)) == pytest.approx(total)
    np.testing.assert_allclose(shapley(worth, profile), by_all, rtol=1e-9)
    game = Game(worth, [0.3, 0.2, 0.1], 20.0, ShapleyShare())
    assert solve(game).converged
