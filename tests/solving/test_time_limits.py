"""Time limits: every long loop asks whether time is up, and what was reached by then is told."""

import math
import time

import numpy as np
import pytest

from fedabm.common.deadline import TimeUp, check_time, deadline
from fedabm.games import intervals
from fedabm.games.accuracy import Custom, GroupWeighted, PacBound, PowerLaw
from fedabm.games.best import best_response
from fedabm.games.intervals import ProofLimits
from fedabm.mechanisms import BanzhafShare, NoPayments, ProportionalShapley, ShapleyShare
from fedabm.shapley import shapley, shapley_jacobian
from fedabm.shapley.curves import ExposureCurve
from fedabm.solving import clock, equilibrium, several
from fedabm.solving.equilibrium import METHODS, solve
from fedabm.solving.game import Game
from fedabm.solving.several import solve_all


def s_shaped(profiles):
    total = np.broadcast_to(profiles.sum(axis=-1, keepdims=True), profiles.shape)
    return total**2 / (20.0 + total**2)


def game_of(accuracy, owners, rule):
    return Game(accuracy, np.linspace(2e-4, 2e-3, owners), 300.0, rule)


GAMES = {
    "subset sums": game_of(PacBound(), 17, ShapleyShare()),
    "few totals": game_of(PacBound(), 5, ShapleyShare()),
    "orders": game_of(PacBound(), 30, ShapleyShare()),
    "quadrature": game_of(PowerLaw(), 20, ShapleyShare()),
    "coalitions": game_of(GroupWeighted(((1.0, 0.4), (0.2, 1.0)), (0, 1) * 4, scale=9.0), 8, ShapleyShare()),
    "own coalitions": game_of(Custom(s_shaped, monotone=True), 8, ShapleyShare()),
    "Banzhaf": game_of(PacBound(), 17, BanzhafShare()),
    "merits by table": game_of(PacBound(), 14, ProportionalShapley(0.5)),
    "merits by asking": game_of(Custom(s_shaped, monotone=True), 12, ProportionalShapley(0.5)),
    "nothing but a search": game_of(Custom(s_shaped, monotone=True), 3, NoPayments()),
}


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_a_long_evaluation_ends_when_time_is_up(game):
    profile = np.linspace(1.0, 40.0, game.owners)
    with pytest.raises(TimeUp), deadline(0.0):
        best_response(game.offers(profile), game.costs, game.capacities)


@pytest.mark.parametrize("work", [shapley, shapley_jacobian])
def test_shares_themselves_end_when_time_is_up(work):
    with pytest.raises(TimeUp), deadline(0.0):
        work(PowerLaw(), np.linspace(1.0, 2.0, 30))


def test_a_limit_ends_with_its_block_and_the_earlier_of_two_counts():
    with deadline(math.inf):
        check_time()
        with pytest.raises(TimeUp), deadline(0.0), deadline(math.inf):
            check_time()
        check_time()


def test_a_proof_that_is_cut_short_tells_the_bound_that_it_has_reached(monkeypatch):
    """Not infinity: what the intervals so far have proven still holds."""
    game, asked = GAMES["few totals"], []
    offers = game.offers(np.linspace(1.0, 40.0, 5))
    value = type(offers.payment).value

    def late(self, x):
        asked.append(x.size)
        if len(asked) > 30:
            raise TimeUp
        return value(self, x)

    monkeypatch.setattr(type(offers.payment), "value", late)
    found = best_response(offers, game.costs, game.capacities, certify=ProofLimits(1e-12, 2**24))
    monkeypatch.undo()
    assert len(asked) > 30
    tight = best_response(offers, game.costs, game.capacities, certify=ProofLimits(1e-5, 2**20))
    assert np.all(np.isfinite(found.bound))
    assert np.all(found.bound >= tight.utility - 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_whatever_the_method_no_time_leaves_a_profile_that_nothing_is_claimed_of(method, monkeypatch):
    monkeypatch.setattr(clock, "_LEAST_GRACE", 0.0)
    found = solve(GAMES["quadrature"], method=method, time_limit=1e-9)
    assert found.time_up
    assert found.verdict == "open"
    assert found.gap == found.gain == math.inf
    assert found.as_dict()["gain"] is None
    assert np.all(np.isfinite(found.utilities))


def test_what_was_looked_at_before_time_was_up_is_not_lost(monkeypatch):
    """A second candidate that comes too late does not cost the first one its verdict."""
    certify, seen = equilibrium.certify, []

    def once(*given, **named):
        if seen:
            raise TimeUp
        seen.append(certify(*given, **named))
        return seen[-1]

    monkeypatch.setattr(equilibrium, "certify", once)
    found = solve(GAMES["few totals"], time_limit=1e6)
    np.testing.assert_array_equal(found.profile, seen[0].profile)
    assert found.gain == seen[0].gain


def test_uniqueness_is_left_open_when_time_is_up(monkeypatch):
    def late(*_):
        raise TimeUp

    monkeypatch.setattr(several, "uniqueness", late)
    found = solve_all(Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()), time_limit=1e6, starts=0)
    assert found.unique is None
    assert found.reason == "time was up"


def test_grace_is_a_twentieth_of_the_limit():
    before = time.perf_counter()
    game = clock.timed(GAMES["few totals"], 100.0)
    assert before + 104.999 < game.at_last < time.perf_counter() + 105.001
    inner = clock.timed(game, 1000.0)
    assert inner.at_last == game.at_last


def test_a_proof_copies_curves_of_coalitions_for_some_cuts_at_a_time(monkeypatch):
    """For all at once it took longer than the limit, and gigabytes; what is proven does not depend on it."""
    groups = GroupWeighted(((1.0, 0.4), (0.2, 1.0)), (0, 1, 0, 1), scale=30.0)
    game = Game(groups, [2e-4, 5e-4, 1e-3, 2e-3], 300.0, ShapleyShare())
    profile, asked, taken = np.array([200.0, 100.0, 50.0, 0.0]), [], ExposureCurve.take
    at_once = game.gains(profile)

    def take(curve, rows):
        asked.append(np.size(rows))
        return taken(curve, rows)

    monkeypatch.setattr(ExposureCurve, "take", take)
    game.gains(profile)
    most, asked[:] = max(asked), []
    monkeypatch.setattr(intervals, "_BLOCK", 7)
    np.testing.assert_array_equal(game.gains(profile), at_once)
    assert most > 7 >= max(asked)
