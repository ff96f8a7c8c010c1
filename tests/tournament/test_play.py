"""Tournaments of federations: payoffs by hand, and what survives under which mechanism."""

import numpy as np
import pandas as pd
import pytest

from fedabm import InputError, Scenario, population
from fedabm.cli import main
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import CostSharing, NoPayments, ShapleyShare
from fedabm.strategies import Attacker, BestResponse, FixedShare, FreeRider, Honest, Liar
from fedabm.tournament import EmpiricalGame, alpha_rank, ends, fixation, play, symmetric_equilibria
from fedabm.tournament.empirical import mixtures
from scenarios.tournament import MECHANISMS, training
from scenarios.tournament import STRATEGIES as STRATEGIES_THAT_MEET

STRATEGIES = (FreeRider(), FixedShare(0.5), Honest())


def tournament(mechanism, seeds=1, **options):
    return play(Scenario(population([0.75] * 4, 1.0), PowerLaw(), mechanism), STRATEGIES, seeds, **options)


def test_payoffs_by_hand():
    """One unit of data from one of four owners is worth 1/2 to each and costs .75; its Shapley share is all, 2."""
    plain, shares = tournament(NoPayments()).game, tournament(ShapleyShare()).game
    assert plain.payoff([3, 0, 1], 0) == pytest.approx(0.5)
    assert plain.payoff([3, 0, 1], 2) == pytest.approx(0.5 - 0.75)
    assert plain.payoff([0, 4, 0], 1) == pytest.approx(2 / 3 - 0.375)
    assert shares.payoff([3, 0, 1], 0) == pytest.approx(0.0)
    assert shares.payoff([3, 0, 1], 2) == pytest.approx(4 * 0.5 - 0.75)


def test_without_payments_free_riders_take_over_with_shapley_shares_contributors_do():
    plain, shares = tournament(NoPayments()).game, tournament(ShapleyShare()).game
    assert [end.mixture.round(6).tolist() for end in ends(plain)] == [[1.0, 0.0, 0.0]]
    assert sum(end.basin * end.mixture[0] for end in ends(shares)) < 1e-6
    assert alpha_rank(plain)[0] > 0.99
    assert alpha_rank(shares)[0] < 1e-3


def test_all_mixtures_meet_the_same_owners():
    """With unequal costs what a pure population earns does not depend on who plays what; each seed has its own."""

    def draw(rng):
        return population(list(rng.uniform(0.5, 1.0, 4)), 1.0)

    found = tournament(NoPayments(), seeds=3, draw=draw)
    again = tournament(NoPayments(), seeds=3, draw=draw)
    np.testing.assert_array_equal(found.earned, again.earned)
    pure = [row for row, counts in enumerate(mixtures(4, 3)) if counts[2] == 4]
    assert len({*found.earned[:, pure[0], 2]}) == 3
    assert len(found.games) == 3


def test_a_tournament_needs_strategies_that_differ():
    scenario = Scenario(population([0.75] * 4, 1.0), PowerLaw())
    with pytest.raises(InputError, match="two or more strategies with different labels, got honest, honest"):
        play(scenario, [Honest(), Honest()])


#: the dilemma above in closed form, with three owners
CLOSED = ("accuracy=power_law", "capacity=1", "cost=0.75", "owners=3", "seeds=1")
THREE = ("free_rider", '{ kind = "fixed_share", share = 0.5 }', "honest")


def words(strategies=(), settings=()):
    flags = [("--strategy", one) for one in strategies] + [("--set", one) for one in settings]
    return ["tournament", *(word for pair in flags for word in pair)]


def test_the_command_says_who_survives_and_draws_it(tmp_path, capsys):
    assert main([*words(THREE, CLOSED), "--quick", "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "Under NoPayments what is left is free_rider (100%)" in told
    assert "free_rider" not in told.partition("Under ShapleyShare")[2].partition(";")[0]
    for name in ("simplex", "tournament"):
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 10_000
    payoffs = pd.read_csv(tmp_path / "out" / "payoffs.csv")
    assert len(payoffs) == 2 * len(mixtures(3, 3))


def test_words_choose_strategies_and_mechanisms(tmp_path, capsys):
    chosen = [*words(("honest", "free_rider"), CLOSED), "--mechanism", "no_payments"]
    assert main([*chosen, "--out", str(tmp_path / "out")]) == 0
    assert "Under NoPayments what is left is free_rider (100%)" in capsys.readouterr().out
    assert main(["tournament", "--strategy", "honset"]) == 2
    assert "honest" in capsys.readouterr().err


def test_every_family_of_strategies_meets_and_at_least_eight_rules():
    wanted = (FreeRider, FixedShare, Honest, BestResponse, Liar, Attacker)
    assert [kind for kind in wanted if not any(type(one) is kind for one in STRATEGIES_THAT_MEET)] == []
    assert any("learners" in type(one).__module__ for one in STRATEGIES_THAT_MEET)
    liar = next(one for one in STRATEGIES_THAT_MEET if type(one) is Liar)
    assert liar.contribution_factor != 1.0
    assert liar.cost_factor != 1.0
    assert len({type(one) for one in MECHANISMS}) >= 8


def test_attacks_do_harm_where_models_train_and_none_in_closed_form():
    """Beside an attacker an honest owner has less than beside another honest one; both give all data."""
    worlds = ((training(0, 2, 20, 3), 20.0), (PowerLaw(), 1.0))
    lost = []
    for worth, capacity in worlds:
        scenario = Scenario(population([0.1 / capacity] * 2, capacity), worth, steps=3, record=None)
        game = play(scenario, (Honest(), Attacker(Honest(), "sign_flip")), 2).game
        lost.append(game.payoff([2, 0], 0) - game.payoff([1, 1], 0))
    assert lost[0] > 0.1
    assert lost[1] == 0.0


def test_two_tournaments_of_models_that_train_are_the_same_bit_for_bit():
    found = []
    for _ in range(2):
        scenario = Scenario(population([0.01] * 2, 20.0), training(3, 2, 20, 2), CostSharing(), steps=2, record=None)
        found.append(play(scenario, STRATEGIES_THAT_MEET, 1, first=3).earned)
    np.testing.assert_array_equal(*found)


def test_it_is_described_without_being_played(monkeypatch, capsys):
    def refuse(*given, **more):
        raise AssertionError("a described tournament must not be played")

    monkeypatch.setattr("fedabm.tournament.matches.Federation", refuse)
    assert main(["describe", "tournament", "--odd"]) == 0
    assert "ODD protocol" in capsys.readouterr().out


def test_what_follows_from_a_planted_game_is_what_it_was():
    """Numbers found before: three owners, three strategies, what one earns falls with how many play it."""
    counts = mixtures(3, 3)
    earned = np.array([0.0, 0.2, -0.1]) + 0.3 * counts @ np.array([0.0, 0.5, 1.0])[:, None]
    earned = earned - 0.05 * counts * np.array([1, 2, 3])
    game = EmpiricalGame(("a", "b", "c"), 3, np.where(counts > 0, earned, np.nan))
    assert alpha_rank(game, 20) == pytest.approx([2.86251858e-20, 1.0, 1.92874985e-22], rel=1e-6)
    chances = fixation(game, 20)
    assert chances[0, 1:] == pytest.approx([9.77301894e-01, 5.88775488e-03], rel=1e-6)
    assert chances[2, :2] == pytest.approx([8.73820302e-01, 9.93248199e-01], rel=1e-6)
    (end,) = ends(game)
    assert end.basin == 1.0
    assert end.mixture == pytest.approx([0.0, 1.0, 0.0], abs=2e-3)
    assert [one.tolist() for one in symmetric_equilibria(game)] == [[0.0, 1.0, 0.0]]


def test_equilibria_of_few_strategies_are_those_of_all_with_so_few():
    hawks = EmpiricalGame(("hawk", "dove"), 2, [[-1.0, np.nan], [2.0, 0.0], [np.nan, 1.0]])
    assert len(symmetric_equilibria(hawks)) == 1
    assert symmetric_equilibria(hawks, most=1) == []
    assert len(symmetric_equilibria(hawks, most=2)) == 1
