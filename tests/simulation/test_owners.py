"""Owners from arrays are the owners that would be made one by one, and their agents are made when somebody asks."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, OwnerProfile, Scenario, population
from fedabm.common.coded import Coded
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear, Quadratic
from fedabm.mechanisms import CostSharing
from fedabm.simulation import checkpoint
from fedabm.simulation.agents import Owner
from fedabm.strategies import BestResponse, EpsilonGreedy, FreeRider, Random
from tests.conftest import assert_equal_frames

KINDS = [Random(), FreeRider(), EpsilonGreedy()]


def facts(n: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.uniform(0.01, 0.1, n), rng.uniform(5.0, 10.0, n), rng.integers(3, size=n)


def federation(**changes) -> Federation:
    costs, capacities, codes = facts()
    owners = population(costs, capacities, KINDS, codes=codes)
    return Federation(replace(Scenario(owners, PowerLaw(), CostSharing(0.5), steps=6), **changes), 4)


def test_owners_from_arrays_are_those_made_one_by_one():
    costs, capacities, codes = facts()
    one_by_one = [OwnerProfile(Linear(c), b, KINDS[k]) for c, b, k in zip(costs, capacities, codes, strict=True)]
    model = federation()
    assert model.scenario.owners == tuple(one_by_one)
    assert_equal_frames(model.run().frames(), federation(owners=one_by_one).run().frames())


def test_they_are_a_sequence_of_profiles():
    costs, capacities, codes = facts()
    owners = population(costs, capacities, KINDS, codes=codes)
    assert owners[-1] == OwnerProfile(Linear(costs[-1]), capacities[-1], KINDS[codes[-1]])
    assert owners[2:4] == (owners[2], owners[3])
    assert owners[:1] + owners[5:6] == (owners[0], owners[5])
    assert pickle.loads(pickle.dumps(owners)) == owners
    assert population(Quadratic(costs), 3.0)[4] == OwnerProfile(Quadratic(costs[4]), 3.0, BestResponse())
    assert owners != population(costs, 3.0)
    costs[0] = 7.0
    assert owners[0].cost.rate < 1.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"codes": [0, 1]}, "9 whole numbers beside a list"),
        ({"codes": np.full(9, 3)}, "must lie between 0 and 2"),
        ({"codes": np.full(9, 0.5)}, "9 whole numbers"),
        ({"strategies": [Random(), "free_rider", Random()]}, "must be a strategy, got 'free_rider'"),
        ({"capacities": np.append(np.ones(8), -1.0)}, "capacity must be a positive number, got -1"),
        ({"costs": np.append(np.ones(8), np.nan)}, "cost rate must be zero or a positive number, got nan"),
        ({"starts": -1.0}, "starting contribution must lie between 0 and"),
    ],
)
def test_what_is_wrong_with_arrays_is_said_in_one_line(wrong, said):
    costs, capacities, codes = facts()
    given = {"costs": costs, "capacities": capacities, "strategies": KINDS, "codes": codes} | wrong
    with pytest.raises(InputError, match=said):
        population(**given)


def test_agents_are_made_when_somebody_asks():
    model = federation().run()
    model.frames()
    assert not model._agents
    seventh = model.owner(7)
    assert [owner.row for owner in model._agents] == [7]
    late = Owner(model, OwnerProfile(Linear(0.1), 2.0))
    assert [owner.row for owner in model.agents] == [*range(9), 9]
    assert model.agents_by_type[Owner][7] is model.agents[7] is seventh
    assert model.agents[9] is late
    model.owner(3).remove()
    assert 3 not in model.agents.get("row")
    with pytest.raises(InputError, match="there is no owner 3; give the number"):
        model.owner(3)


def test_a_checkpoint_keeps_what_agents_noted_and_who_is_gone(tmp_path):
    model = federation()
    model.step()
    model.owner(2).note = 5
    model.owner(4).remove()
    checkpoint.save(model, tmp_path / "saved")
    again = checkpoint.restore(tmp_path / "saved", federation().scenario)
    assert [owner.row for owner in again._agents] == [2]
    assert again.agents.get("row") == [0, 1, 2, 3, 5, 6, 7, 8]
    assert again.owner(2).note == 5
    assert_equal_frames(again.run().frames(), model.run().frames())


def test_a_coded_column_is_what_it_holds():
    column = Coded.of("abca")
    assert column == Coded(("c", "a", "b"), np.array([1, 2, 0, 1]))
    assert column != Coded.of("abcb")
    assert "".join(column.with_value(4, "z").take([4, 0])[k] for k in range(2)) == "za"


def test_a_name_is_no_strategy():
    with pytest.raises(InputError, match="got 'honest'"):
        population([0.1, 0.2], 1.0, "honest")
