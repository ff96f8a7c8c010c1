"""Empirical games are the same games to Nashpy and Gambit."""

import re

import nashpy
import numpy as np
import pytest

from fedabm import InputError, Scenario, population
from fedabm.bridges.games import payoff_table, to_nashpy, to_nfg, write_nfg
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import NoPayments, ShapleyShare
from fedabm.strategies import FreeRider, Honest
from fedabm.tournament import EmpiricalGame, play
from fedabm.tournament.empirical import mixtures

HAWKS = EmpiricalGame(("hawk", "dove"), 2, [[-1.0, np.nan], [2.0, 0.0], [np.nan, 1.0]])


def test_nashpy_finds_the_equilibria_of_hawks_and_doves():
    """Two of pure strategies, and hawks with probability (2 - 1) / (2 - 1 + 0 + 1) = 1/2."""
    found = to_nashpy(HAWKS)
    assert isinstance(found, nashpy.Game)
    pairs = {tuple(np.round(np.concatenate(pair), 9)) for pair in found.support_enumeration()}
    assert pairs == {(1, 0, 0, 1), (0, 1, 1, 0), (0.5, 0.5, 0.5, 0.5)}


def test_the_file_lists_profiles_with_the_first_owner_changing_fastest():
    body = to_nfg(HAWKS, 'say "hawks"').partition('""\n\n')[2]
    assert body.splitlines() == ["-1.0 -1.0", "0.0 2.0", "2.0 0.0", "1.0 1.0"]
    assert to_nfg(HAWKS, 'say "hawks"').startswith('NFG 1 R "say \\"hawks\\"" { "owner 1" "owner 2" }')


@pytest.mark.parametrize(("rule", "survivor"), [(NoPayments(), "free_rider"), (ShapleyShare(), "honest")])
def test_gambit_finds_who_survives_among_three_owners(rule, survivor, tmp_path):
    """Data that cost more than they are worth to their owner alone: the README's dilemma."""
    gambit = pytest.importorskip("pygambit")
    dilemma = Scenario(population([0.75] * 3, capacities=1), PowerLaw(), rule)
    game = play(dilemma, [FreeRider(), Honest()], seeds=1).game
    read = gambit.read_nfg(str(write_nfg(game, tmp_path / "dilemma.nfg")))
    assert len(read.players) == 3
    (found,) = gambit.nash.enumpure_solve(read).equilibria
    assert [float(found[f"owner {k}"][survivor]) for k in (1, 2, 3)] == [1.0, 1.0, 1.0]


def test_payoffs_of_three_owners_are_those_of_the_mixtures():
    rng = np.random.default_rng(0)
    counts = mixtures(3, 2)
    game = EmpiricalGame(("a", "b"), 3, np.where(counts > 0, rng.normal(size=counts.shape), np.nan))
    table = payoff_table(game)
    assert table[0, 1, 0].tolist() == [game.payoff([2, 1], 0), game.payoff([2, 1], 1), game.payoff([2, 1], 0)]


def test_what_does_not_fit_is_told():
    counts = mixtures(3, 2)
    three = EmpiricalGame(("a", "b"), 3, np.where(counts > 0, 0.0, np.nan))
    with pytest.raises(InputError, match="Nashpy solves games of two, got 3 owners; write_nfg"):
        to_nashpy(three)
    many = EmpiricalGame(("a", "b"), 24, np.where(mixtures(24, 2) > 0, 0.0, np.nan))
    with pytest.raises(InputError, match=re.escape("16,777,216 profiles; take fewer owners")):
        to_nfg(many)
