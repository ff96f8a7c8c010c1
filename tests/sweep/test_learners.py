"""Learners and best responders together: the same frames twice, in one or two processes, interrupted and resumed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ShapleyShare
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import Sequential
from fedabm.strategies import (
    EXP3,
    UCB,
    Aspiration,
    BestResponse,
    EpsilonGreedy,
    FictitiousPlay,
    Imitation,
    Liar,
    LogitResponse,
    QLearning,
    Quitter,
    RegretMatching,
    TitForTat,
)
from fedabm.sweep import Grid, Sweep
from fedabm.sweep.executors import LocalExecutor
from tests.conftest import assert_equal_frames
from tests.sweep.helpers import assert_same_frames

LEARNERS = (
    *(UCB(), EXP3(), EpsilonGreedy(), RegretMatching(), FictitiousPlay(), QLearning(), LogitResponse()),
    *(Aspiration(), TitForTat(), Imitation(), Quitter(EpsilonGreedy()), Liar(EXP3(), contribution_factor=1.5)),
)


def market(seed: int, rate: float = 0.02, turns: bool = False) -> Scenario:
    """One of each among as many best responders, on a small world."""
    strategies = [one for learner in LEARNERS for one in (learner, BestResponse(0.5))]
    costs = rate * np.linspace(0.5, 1.5, len(strategies))
    network = nx.watts_strogatz_graph(len(strategies), 4, 0.2, seed=seed)
    owners = population(costs, 10.0, strategies, starts=2.0)
    order = {"activation": Sequential(shuffle=True)} if turns else {}
    return Scenario(owners, PowerLaw(), ShapleyShare(), steps=4, network=network, **order)


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("cut", [1, 3])
def test_twice_and_interrupted_the_frames_are_equal(turns, cut, tmp_path):
    whole = Federation(market(1, turns=turns), 1).run().frames()
    assert_equal_frames(Federation(market(1, turns=turns), 1).run().frames(), whole)
    model = Federation(market(1, turns=turns), 1)
    while model.steps < cut:
        model.step()
    checkpoint.save(model, tmp_path / "run")
    assert_equal_frames(checkpoint.restore(tmp_path / "run", market(1, turns=turns)).run().frames(), whole)


def test_in_one_process_or_two_and_resumed_the_frames_are_equal(tmp_path):
    """The resumed sweep has half of its seeds from a first start, and the rest from a second one."""
    design = Grid(rate=[0.02, 0.04])
    whole, part = Sweep(market, design, [1, 2]), Sweep(market, design, [1])
    whole.run(tmp_path / "one", executor="serial", quiet=True)
    part.run(tmp_path / "resumed", executor="serial", quiet=True)
    with LocalExecutor(2) as pool:
        whole.run(tmp_path / "two", executor=pool, quiet=True)
        whole.run(tmp_path / "resumed", executor=pool, quiet=True)
    assert_same_frames(tmp_path / "one", tmp_path / "two")
    assert_same_frames(tmp_path / "one", tmp_path / "resumed")
