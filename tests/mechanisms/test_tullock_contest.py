"""A Tullock contest: the textbook's efforts, and nobody begins with nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Game, solve
from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.mechanisms import NoPayments, TullockContest

WORTHLESS = Custom(np.zeros_like, concave=True, monotone=True, gradient=lambda s: np.zeros((*s.shape, s.shape[-1])))


@given(
    n=st.integers(2, 6), prize=st.floats(0.1, 5.0), cost=st.floats(0.01, 1.0), exponent=st.sampled_from([0.5, 0.8, 1.0])
)
def test_equal_owners_give_what_tullock_says(n, prize, cost, exponent):
    effort = prize * exponent * (n - 1) / (n**2 * cost)
    game = Game(WORTHLESS, [cost] * n, 1e3 * effort, TullockContest(prize, exponent))
    assert game.gap(np.full(n, effort)) <= 1e-9 * prize
    assert game.gap(np.full(n, 0.9 * effort)) > 1e-5 * prize
    np.testing.assert_allclose(game.payments(np.full(n, effort)), 0.0, atol=1e-12)


def test_two_owners_by_hand():
    """Costs 1 and 2, prize 9: s_i = prize c_j / (c_i + c_j)^2 gives 2 and 1; the first wins with probability 2/3."""
    found = solve(Game(WORTHLESS, [1.0, 2.0], 100, TullockContest(9.0)), start=[1.0, 1.0])
    assert found.converged
    assert found.profile == pytest.approx([2.0, 1.0])
    assert found.payments == pytest.approx([9 * (2 / 3 - 1 / 2), 9 * (1 / 3 - 1 / 2)])


def test_where_nobody_contributes_the_first_gets_all_and_the_proof_knows():
    game = Game(WORTHLESS, [1.0, 2.0], 100, TullockContest(9.0))
    assert game.gap([0.0, 0.0]) == pytest.approx(4.5, abs=1e-3)


def test_a_prize_makes_everyone_contribute_where_only_the_cheapest_would():
    plain, contest = (solve(Game(PowerLaw(), [0.1, 0.25], 100, rule)) for rule in (NoPayments(), TullockContest(0.4)))
    assert contest.converged
    assert plain.profile[1] == 0.0 < contest.profile[1]
    assert contest.profile.sum() > plain.profile.sum()
