"""Columns of fairness in the frames of any run, one by one or stacked."""

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.games import collaborative_fairness
from fedabm.learning import Trained
from fedabm.mechanisms import ProportionalData
from fedabm.results import accuracy_alone, fairness_columns
from fedabm.strategies import Honest
from tests.knowledge.worlds import RECIPE, data, engine

SIZES = np.array([1.0, 3.0, 9.0])


def scenario(alone, **more):
    people = population([0.001, 0.002, 0.003], SIZES, Honest())
    return Scenario(people, PowerLaw(), ProportionalData(1.0), steps=2, columns=fairness_columns(alone), **more)


def test_frames_hold_what_owners_reach_alone_and_how_fair_that_makes_the_rule():
    """a(S) = 1 - 1/(1 + S) alone: 1/2, 3/4 and 9/10."""
    alone = accuracy_alone(PowerLaw(), SIZES)
    assert alone == pytest.approx([0.5, 0.75, 0.9])
    frames = Federation(scenario(alone)).run().frames()
    last = frames.owners[frames.owners["step"] == 2]
    assert last["alone"].to_numpy() == pytest.approx(alone)
    end = frames.steps.iloc[-1]
    assert end["fairness"] == pytest.approx(collaborative_fairness(alone, last["accuracy"].to_numpy()))
    assert end["as_well_as_alone"] == np.mean(last["accuracy"] >= last["alone"])
    assert 0.0 < end["as_well_as_alone"] < 1.0


def test_who_trains_alone_reaches_what_its_own_model_is_worth():
    trained = Trained(engine(), 1, RECIPE)
    alone = accuracy_alone(trained, data().capacities)
    only_first = np.array([data().capacities[0], 0, 0, 0], dtype=float)
    assert alone[0] == trained.values(only_first[None])[0, 0]
    assert alone.shape == (4,)


def test_another_number_of_owners_is_an_error_with_a_remedy():
    with pytest.raises(InputError, match="2 accuracies alone but 3 owners; give one per owner"):
        Federation(scenario([0.5, 0.6])).run()
