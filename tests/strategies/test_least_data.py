"""The least data for a goal: by hand, and in the end just as much as all need together."""

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.mechanisms import NoPayments, ProportionalData
from fedabm.simulation import Sequential
from fedabm.strategies import LeastData


def ended(goals, sizes, rule):
    people = population([0.01] * len(goals), sizes, [LeastData(goal) for goal in goals])
    model = Federation(Scenario(people, PowerLaw(), rule, Sequential(), steps=60)).run()
    last = model.frames().owners.query("step == step.max()").sort_values("owner")
    return last["contribution"].to_numpy(), last["accuracy"].to_numpy()


def test_the_first_gives_what_its_goal_takes_and_who_wants_more_the_rest():
    """a(S) = 1 - 1/(1 + S): 0.5 takes one unit and 0.8 four in all, of which the first has given one."""
    given, accuracy = ended([0.5, 0.8, 0.3], [10.0] * 3, NoPayments())
    assert given.sum() == pytest.approx(4.0)
    assert given[2] == 0
    assert np.all(accuracy >= np.array([0.5, 0.8, 0.3]) - 1e-9)


def test_who_cannot_reach_its_goal_gives_all_it_has():
    given, _ = ended([0.9], [3.0], NoPayments())
    assert given.tolist() == [3.0]


def test_where_models_are_rationed_equal_goals_take_equal_data():
    given, accuracy = ended([0.6, 0.6], [10.0, 10.0], ProportionalData(1.0))
    assert np.all(accuracy >= 0.6 - 1e-6)
    assert given.sum() >= 1.5 - 1e-6
