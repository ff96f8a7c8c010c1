"""The short version of the fuzzer, and proof that it would notice a false certificate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fedabm import Game
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.views import ServerView
from tests.fuzz.certificates import Case, Tally, case, run, wrong_cost
from tests.fuzz.games import LATER, MECHANISMS, SHARING, draw_game
from tests.fuzz.reference import accuracies, settled


def test_no_certificate_is_beaten_in_some_random_games_and_federations():
    tally = run(games=60, seed=2024, limit=20.0)
    assert tally.beaten == []
    assert tally.kinds["cases"] >= 10


def test_a_bound_that_is_too_small_is_noticed():
    game, profile = Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()), np.array([1.0, 1.0])
    honest = Case("gains", game.mechanism, game.accuracy, game.reports(profile), game.costs, game.capacities, profile,
                  game.gains(profile))  # fmt: skip
    assert honest.beaten(np.random.default_rng(0)) is None
    assert "gains" in replace(honest, bounds=0.99 * honest.bounds).beaten(np.random.default_rng(0))


@pytest.mark.parametrize("name", sorted(set(MECHANISMS | LATER) - {"Clarke", "LeaveOneOut"}))
def test_the_evaluator_and_the_mechanisms_agree_on_what_owners_get(name):
    """Rules whose payments have a part that an owner cannot change are evaluated without it, and left out."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 99])
        game = draw_game(rng, name, "power law")
        reports = game.reports(game.capacities * rng.random(game.owners))
        outcome = game.mechanism.settle(ServerView(1, reports, game.accuracy))
        full = accuracies(game.accuracy, reports.contribution[None])[0]
        for owner in range(min(game.owners, 2)):
            got = settled(game.mechanism, game.accuracy, reports, owner, reports.contribution[[owner]])
            assert got.received[0] == pytest.approx(outcome.access[owner] * full[owner], rel=1e-8, abs=1e-10)
            assert got.payment[0] == pytest.approx(outcome.payments[owner], rel=1e-8, abs=1e-9 * got.size[0])


@pytest.mark.parametrize("name", SHARING)
def test_the_evaluator_counts_the_coalitions_of_many_owners(name):
    """Which is what listing them gives for few."""
    rng = np.random.default_rng(3)
    game = draw_game(rng, name, many=True)
    game = replace(game, mechanism=replace(game.mechanism, **({} if name == "BanzhafShare" else {"method": "auto"})))
    assert 13 <= game.owners <= 40
    reports = game.reports(game.capacities * rng.integers(0, 5, game.owners) / 4)
    outcome = game.mechanism.settle(ServerView(1, reports, game.accuracy))
    for owner in range(2):
        got = settled(game.mechanism, game.accuracy, reports, owner, reports.contribution[[owner]])
        assert got.payment[0] == pytest.approx(outcome.payments[owner], rel=1e-8, abs=1e-9 * got.size[0])


def test_wrong_slopes_are_among_the_cases_and_refused_for_what_they_are():
    tally = Tally()
    assert [case(0, number, tally) for number in (17, 37)] == [[], []]
    assert tally.kinds["wrong slope refused"] == 2
    game = wrong_cost(
        draw_game(np.random.default_rng(0)), SimpleNamespace(choice=lambda factors: 1.0, integers=lambda many: 0)
    )
    assert np.all(np.isfinite(game.capacities))  # the same cost with the true slope is taken


def test_the_same_number_draws_the_same_game():
    one, other = (draw_game(np.random.default_rng(5), "ShapleyShare", "groups") for _ in range(2))
    assert one.mechanism == other.mechanism == ShapleyShare(method=one.mechanism.method, printed=one.mechanism.printed,
                                                           permutations=one.mechanism.permutations)  # fmt: skip
    assert one.accuracy == other.accuracy
    np.testing.assert_array_equal(one.capacities, other.capacities)
