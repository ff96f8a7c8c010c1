"""Empirical games against known answers: hawks and doves, rock, paper, scissors, and the games that nashpy solves."""

from fractions import Fraction
from math import comb

import nashpy
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from fedabm import InputError
from fedabm.tournament import EmpiricalGame, alpha_rank, ends, fixation, replicator, symmetric_equilibria, velocity
from fedabm.tournament.empirical import mixtures
from fedabm.tournament.replicator import trajectory

numbers = st.integers(0, 10**6).map(np.random.default_rng)


def of_two(matrix) -> EmpiricalGame:
    """A symmetric game of two owners, entry (i, j) being what i earns beside j."""
    kinds = len(matrix)
    counts = mixtures(2, kinds)
    table = np.full(counts.shape, np.nan)
    for place, row in enumerate(counts):
        for i in np.flatnonzero(row):
            partner = row - np.eye(kinds, dtype=int)[i]
            table[place, i] = matrix[i][int(np.argmax(partner))]
    return EmpiricalGame([f"s{k}" for k in range(kinds)], 2, table)


HAWKS = of_two([[-1.0, 2.0], [0.0, 1.0]])
ROCK_PAPER_SCISSORS = of_two([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
PRISONERS = of_two([[3.0, 0.0], [5.0, 1.0]])


@given(rng=numbers, x=st.floats(0, 1))
def test_among_two_owners_fitness_is_the_matrix_times_the_mixture(rng, x):
    matrix = rng.normal(size=(3, 3))
    mixture = np.array([x, (1 - x) * 0.3, (1 - x) * 0.7])
    np.testing.assert_allclose(of_two(matrix).fitness(mixture), matrix @ mixture)
    np.testing.assert_allclose(of_two(matrix).fitness([mixture, mixture])[1], matrix @ mixture)


@given(x=st.floats(0, 1), owners=st.integers(2, 6))
def test_a_public_good_of_many_owners_by_the_binomial_formula(x, owners):
    """Contributors earn b k / n - 1 among k of them, the others b k / n: a free-rider always earns 1 - b / n more."""
    counts = mixtures(owners, 2)
    share = 3.0 * counts[:, 0] / owners
    table = np.where(counts > 0, np.column_stack([share - 1.0, share]), np.nan)
    gives, takes = EmpiricalGame(["gives", "takes"], owners, table).fitness([x, 1 - x])
    chance = [comb(owners - 1, k) * x**k * (1 - x) ** (owners - 1 - k) for k in range(owners)]
    assert gives == pytest.approx(sum(p * (3.0 * (k + 1) / owners - 1) for k, p in enumerate(chance)))
    assert takes - gives == pytest.approx(1 - 3.0 / owners)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:nashpy")
@given(rng=numbers)
def test_equilibria_of_two_owners_are_those_of_nashpy(rng):
    matrix = rng.normal(size=(3, 3))
    pairs = nashpy.Game(matrix, matrix.T).support_enumeration()
    known = [row for row, column in pairs if np.allclose(row, column)]
    found = symmetric_equilibria(of_two(matrix))
    assert len(found) % 2 == 1
    np.testing.assert_allclose(of_two(matrix).regret(found), 0.0, atol=1e-6)
    for mixture in known:
        assert any(np.allclose(mixture, one, atol=1e-6) for one in found)


@given(rng=numbers)
def test_the_flow_is_that_of_nashpy_and_stays_on_the_simplex(rng):
    matrix, start = rng.uniform(size=(3, 3)), np.array([0.2, 0.3, 0.5])
    game = of_two(matrix)
    assert velocity(game, start).sum() == pytest.approx(0.0, abs=1e-12)
    times = np.linspace(0.0, 3.0, 4)
    theirs = nashpy.Game(matrix).replicator_dynamics(y0=start, timepoints=times)
    np.testing.assert_allclose(trajectory(game, start, 3.0 * game.scale)[-1], theirs[-1], atol=1e-4)


def test_hawks_and_doves_end_half_and_half():
    (end,) = ends(HAWKS)
    assert end.mixture == pytest.approx([0.5, 0.5], abs=1e-6)
    assert end.basin == 1.0
    assert end.regret == pytest.approx(0.0, abs=1e-6)
    assert [one.tolist() for one in symmetric_equilibria(HAWKS)] == [[0.5, 0.5]]


@pytest.mark.parametrize("added", [-1000.0, -3.0, 7.0])
def test_a_constant_added_to_all_payoffs_changes_no_end(added):
    """Negative payoffs once drove shares off the simplex: they summed to 396."""
    matrix = np.array([[-1.0, 2.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, -2.0]])
    plain, moved = ends(of_two(matrix), parts=4), ends(of_two(matrix + added), parts=4)
    assert [one.basin for one in moved] == [one.basin for one in plain]
    for one, other in zip(moved, plain, strict=True):
        assert one.mixture.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(one.mixture, other.mixture, atol=1e-5)


@pytest.mark.parametrize("added", [1e6, 1e8, -1e8])
def test_nor_does_a_constant_that_takes_most_digits(added):
    (end,) = ends(of_two(np.array([[-1.0, 2.0], [0.0, 1.0]]) + added))
    assert end.at_rest
    np.testing.assert_allclose(end.mixture, 0.5, atol=1e-5)
    assert end.regret == pytest.approx(0.0, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(rng=numbers, strategies=st.integers(2, 4))
def test_what_is_at_rest_is_an_equilibrium(rng, strategies):
    """Near a state that only rare strategies leave, mixtures once "rested" with a regret of 1.5."""
    game = of_two(rng.normal(size=(strategies, strategies)) - 2.0)
    for end in ends(game, parts=2):
        assert end.mixture.sum() == pytest.approx(1.0, abs=1e-12)
        assert end.regret < 1e-5 * game.scale or not end.at_rest


def test_a_cycle_is_not_at_rest():
    last = ends(ROCK_PAPER_SCISSORS, parts=2)
    assert not any(end.at_rest for end in last if end.regret > 1e-3)
    assert any(not end.at_rest for end in last)


def test_prisoners_end_as_defectors():
    (end,) = ends(PRISONERS)
    assert end.mixture == pytest.approx([0.0, 1.0], abs=1e-6)
    assert alpha_rank(PRISONERS, 20, 10.0) == pytest.approx([0.0, 1.0], abs=1e-4)


def test_rock_paper_scissors_leave_nobody_ahead():
    assert alpha_rank(ROCK_PAPER_SCISSORS) == pytest.approx([1 / 3] * 3)
    (mixed,) = symmetric_equilibria(ROCK_PAPER_SCISSORS)
    assert mixed == pytest.approx([1 / 3] * 3)


@settings(max_examples=10)
@given(gain=st.floats(-1.0, 1.0), population=st.integers(2, 60), intensity=st.sampled_from([0.0, 0.5, 3.0]))
def test_fixation_of_a_constant_advantage(gain, population, intensity):
    """rho = (1 - e^-d) / (1 - e^-dM) for an advantage d in every state; 1/M without one."""
    assume(gain == 0 or abs(gain) > 1e-6)  # else the payoffs themselves are rounded
    game = of_two([[1.0, 1.0], [1.0 + gain, 1.0 + gain]])
    d = intensity * gain / game.scale
    known = 1 / population if abs(d) < 1e-9 else np.expm1(-d) / np.expm1(-d * population)
    assert fixation(game, population, intensity)[0, 1] == pytest.approx(known, rel=1e-6)


def test_a_game_with_holes_is_refused():
    with pytest.raises(InputError, match="give one row per mixture"):
        EmpiricalGame(["a", "b"], 2, [[1.0, 2.0]])
    with pytest.raises(InputError, match="play every mixture"):
        EmpiricalGame(["a", "b"], 2, [[1.0, np.nan], [np.nan, 1.0], [np.nan, 1.0]])


@pytest.mark.filterwarnings("error")
def test_trial_steps_far_outside_the_simplex_do_not_overflow(monkeypatch):
    """A solver tries what it likes, and powers of shares beyond 1 have no end."""

    def wild(change, span, start, *given, **named):
        assert np.all(np.isfinite(change(0.0, np.array([1e200, -1e200]))))
        return solve_ivp(change, span, start, *given, **named)

    monkeypatch.setattr(replicator, "solve_ivp", wild)
    path = trajectory(of_two([[0.0, 3.0], [1.0, 2.0]]), [0.1, 0.9])
    np.testing.assert_allclose(path[-1], [0.5, 0.5], atol=1e-6)


def coordination(payoffs):
    """A game of two owners: row plays, column is the partner."""
    pairs = mixtures(2, len(payoffs))
    table = np.full(pairs.shape, np.nan)
    for place, counts in enumerate(pairs):
        for one in np.flatnonzero(counts):
            other = counts.copy()
            other[one] -= 1
            table[place, one] = payoffs[one][int(np.argmax(other))]
    return EmpiricalGame(tuple("abc"[: len(payoffs)]), 2, table)


def stationary(chances):
    """The same by exact fractions."""
    rates = [[Fraction(0) if np.isnan(one) else Fraction(float(one)) for one in row] for row in chances]
    for last in range(len(rates) - 1, 0, -1):
        leaving = sum(rates[last][:last])
        for row in range(last):
            rates[row][last] /= leaving
            for column in range(last):
                rates[row][column] += rates[row][last] * rates[last][column] if row != column else 0
    time = [Fraction(1)]
    for one in range(1, len(rates)):
        time.append(sum(before * rates[place][one] for place, before in enumerate(time)))
    return [float(one / sum(time)) for one in time]


@pytest.mark.parametrize("intensity", [0.0, 1.0, 10.0, 40.0])
@pytest.mark.parametrize("second", [0.6, 0.9, 1.0])
def test_alpha_rank_is_exact_where_mutants_hardly_ever_take_over(intensity, second):
    """Chances of 1e-20 and 1e-120: least squares took both for nothing and shared the time alike."""
    game = coordination([[1.0, 0.0, 0.0], [0.0, second, 0.0], [-0.2, -0.2, -0.3]])
    found = alpha_rank(game, 50, intensity)
    np.testing.assert_allclose(found, stationary(fixation(game, 50, intensity)), rtol=1e-9, atol=1e-30)
    if intensity >= 10 and second < 1:
        assert found[0] == pytest.approx(1.0, abs=1e-6)


def test_alpha_rank_with_selection_so_strong_that_no_chance_is_a_number():
    game = coordination([[1.0, 0.0, 0.0], [0.0, 0.9, 0.0], [-0.2, -0.2, -0.3]])
    assert np.nanmin(fixation(game, 50, 1000.0)) == 0.0
    assert alpha_rank(game, 50, 1000.0) == pytest.approx([1.0, 0.0, 0.0])
