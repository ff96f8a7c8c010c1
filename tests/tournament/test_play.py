"""Tournaments of federations: payoffs by hand, and what survives under which mechanism."""

import numpy as np
import pandas as pd
import pytest

from fedabm import InputError, Scenario, population
from fedabm.cli import main
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.strategies import FixedShare, FreeRider, Honest
from fedabm.tournament import alpha_rank, ends, play
from fedabm.tournament.empirical import mixtures

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


def test_the_command_says_who_survives_and_draws_it(tmp_path, capsys):
    words = ["tournament", "--quick", "--set", "owners=3", "--set", "seeds=1", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "Under NoPayments what is left is free_rider (100%)" in told
    assert "free_rider" not in told.partition("Under ShapleyShare")[2].partition(";")[0]
    assert (tmp_path / "out" / "simplex.png").stat().st_size > 10_000
    payoffs = pd.read_csv(tmp_path / "out" / "payoffs.csv")
    assert len(payoffs) == 2 * len(mixtures(3, 3))


def test_words_choose_strategies_and_mechanisms(tmp_path, capsys):
    words = ["tournament", "--strategy", "honest", "--strategy", "free_rider", "--mechanism", "no_payments"]
    assert main([*words, "--set", "owners=2", "--set", "seeds=1", "--out", str(tmp_path / "out")]) == 0
    assert "Under NoPayments what is left is free_rider (100%)" in capsys.readouterr().out
    assert main(["tournament", "--strategy", "honset"]) == 2
    assert "honest" in capsys.readouterr().err
