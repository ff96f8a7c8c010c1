"""What becomes of a federation that holds one of everything a checkpoint can hold?"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from fedabm import Scenario, population
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import PowerLaw
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Learning, MeasuredCurve
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import CostSharing, NoPayments
from fedabm.results.columns import Column
from fedabm.results.round import Round
from fedabm.simulation.activation import RandomSubset, Sequential
from fedabm.simulation.agents import Owner
from fedabm.strategies import EXP3, Attacker, BestResponse, Random
from fedabm.study.study import Study
from fedabm.views import Action, OwnerView, ServerView

#: the file that is made if a function of the scenario is called by anybody but the run
CANARY = "FEDABM_TEST_CANARY"
STEPS = 4


def largest(round: Any) -> Any:
    """A column of the user's own; whoever calls it with anything but a round has been forged."""
    if type(round) is not Round:
        Path(os.environ[CANARY]).touch()
    return round.contribution.max(axis=-1)


@dataclass(frozen=True)
class Counting(NoPayments):
    """A mechanism that remembers how often it has settled."""

    def remembered(self, view: ServerView) -> Any:
        return {"settled": np.array([view.step])}


class Stubborn(Owner):
    """An owner with a mind of its own, which notes what it has done."""

    def decide(self, view: OwnerView) -> Action:
        self.times = getattr(self, "times", 0) + 1
        return view.truthful(0.1 * self.times * view.capacity)


def closed() -> Scenario:
    """Every kind of memory: of strategies, of agents, of the mechanism, of neighbours, and of open debts."""
    people = [*population([0.02, 0.03], 10.0, [BestResponse(), EXP3()]), *population([0.02], 10.0, agent=Stubborn)]
    people = [replace(one, budget=5.0) for one in (*people, *population([0.04], 10.0, Random()))]
    return Scenario(
        people,
        PowerLaw(),
        Counting(),
        Sequential(),
        STEPS,
        tolerance=0.0,
        pay_every=2,
        network=nx.path_graph(4),
        columns=[Column("steps", "largest", largest)],
    )


def trained(seed: int) -> Scenario:
    """Digits and federated averaging, with an attacker."""
    engine = Engine("logistic", from_partition(load_dataset("digits"), IID(3), seed=seed, test_share=0.5), device="cpu")
    accuracy = Learning(
        engine, Recipe(steps=1, optimiser=SGD(0.1)), announced=MeasuredCurve([0, 100, 900], [0.1, 0.6, 0.9])
    )
    strategies = [Attacker(Random(), "noise", 0.01), Random(), BestResponse()]
    people = population([0.0005, 0.001, 0.0002], engine.data.capacities, strategies)
    return Scenario(people, accuracy, CostSharing(0.3), RandomSubset(2), STEPS, tolerance=0.0)


def run(study: Study, train: bool = False) -> None:
    """One run and a table."""
    study.simulate(trained(study.seed) if train else closed())
    study.table(pd.DataFrame({"runs": [1]}), "How many")
