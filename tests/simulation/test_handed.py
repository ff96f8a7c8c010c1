"""What large cohorts were handed is kept for the next step, and nobody can tell."""

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation import population as room
from fedabm.simulation.activation import RandomSubset, Simultaneous
from fedabm.simulation.checkpoint import restore, save
from fedabm.simulation.handed import Handed
from fedabm.strategies import EpsilonGreedy, FixedShare, GradientResponse, Quitter, Random

OWNERS = 120


def scenario(activation):
    """Owners who climb, throw dice now and then, draw anew in every step, and leave."""
    kinds = [GradientResponse(0.5), EpsilonGreedy(0.2, 5), Random(0.1, 0.9), Quitter(FixedShare(0.5), chance=0.5)]
    codes = np.arange(OWNERS) % len(kinds)
    people = population(np.linspace(0.01, 1.5, OWNERS), 5.0, kinds, codes=codes)
    return Scenario(people, PowerLaw(), ContributionSubsidy(0.02), activation, steps=6, tolerance=0.0)


@pytest.mark.parametrize("activation", [Simultaneous(), RandomSubset(50)], ids=str)
def test_frames_are_those_of_runs_in_which_nothing_is_kept(activation, monkeypatch, tmp_path):
    plain = Federation(scenario(activation), 3).run().frames().owners
    monkeypatch.setattr(room, "_MANY", 2)
    kept = Federation(scenario(activation), 3).run().frames().owners
    assert 0 < plain["stayed"].mean() < 1
    pd.testing.assert_frame_equal(kept, plain)
    model = Federation(scenario(activation), 3)
    for _ in range(3):
        model.step()
    again = restore(save(model, tmp_path / "run"), scenario(activation))
    pd.testing.assert_frame_equal(again.run().frames().owners, plain)


def test_rows_are_taken_once_from_a_column_that_stands_and_anew_from_one_that_may_change():
    handed, members = Handed(), np.array([0, 2])
    column = np.array([1.0, 2.0, 3.0])
    before = handed.rows(column, members)
    column[2] = 9.0
    assert (before.tolist(), handed.rows(column, members).tolist()) == ([1.0, 3.0], [1.0, 9.0])
    column.setflags(write=False)
    rows = handed.rows(column, members)
    handed.begin()
    assert handed.rows(column, members) is rows
    assert handed.rows(column, np.array([0, 1])).tolist() == [1.0, 2.0]
    for _ in range(2):
        handed.begin()
    assert handed.rows(column, members) is not rows
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 0.0


def test_streams_go_on_where_somebody_else_left_them(monkeypatch):
    """A whole cohort is lent its streams, then one member draws apart, then all do."""
    monkeypatch.setattr(room, "_MANY", 2)
    people, twin = (Federation(scenario(Simultaneous()), 3).population for _ in range(2))
    whole = people.turns(people.everyone)[0]
    row = whole.members[:1]
    assert not people.streams(whole).drawn
    (alone,) = people.turns(row)
    rng = people.streams(alone)
    first = rng.uniform()
    people._take_back(alone.members, rng)
    drawn = people.streams(whole).uniform()
    expected = twin.streams(twin.turns(twin.everyone)[0])
    assert expected.uniform()[0] == first[0]
    assert expected.uniform()[0] == drawn[0]
