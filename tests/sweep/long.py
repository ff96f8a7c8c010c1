"""Long runs for the tests of checkpoints: closed form and really trained, each step noted in a file."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace

from fedabm import Scenario, population
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import PowerLaw
from fedabm.games.accuracy.training import Stepwise
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Learning, MeasuredCurve
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import CostSharing
from fedabm.simulation.activation import RandomSubset
from fedabm.strategies import Attacker, BestResponse, Liar, Random
from tests.sweep.targets import build

#: the file that gets one letter per step
STEPS = "FEDABM_TEST_STEPS"


def note() -> None:
    """Take some time, and say so."""
    time.sleep(0.02)
    with open(os.environ[STEPS], "a") as file:
        file.write("x")


class Noted(PowerLaw, Stepwise):
    """A closed form that notes its steps."""

    def advance(self, profile):
        note()
        return self


@dataclass(frozen=True, eq=False, repr=False)
class NotedLearning(Learning):
    """Training that notes its steps."""

    def round(self, state, messages):
        note()
        return super().round(state, messages)


def closed(seed: int, steps: int = 40) -> Scenario:
    """Many steps on a closed form."""
    return replace(build(seed), steps=steps, tolerance=0.0, accuracy=Noted())


def trained(seed: int, steps: int = 40) -> Scenario:
    """Digits, federated averaging with momentum, draws of every kind: who acts, how much, batches and noise."""
    engine = Engine("logistic", from_partition(load_dataset("digits"), IID(4), seed=seed, test_share=0.2), device="cpu")
    curve = MeasuredCurve([0, 100, 400, 1500], [0.1, 0.6, 0.8, 0.9])
    accuracy = NotedLearning(engine, Recipe(steps=2, optimiser=SGD(0.1, momentum=0.5)), announced=curve)
    strategies = [
        Attacker(Random(), "noise", 0.01),
        Random(),
        Liar(BestResponse(), contribution_factor=2.0),
        BestResponse(),
    ]
    people = population([0.0005, 0.001, 0.0002, 0.0001], engine.data.capacities, strategies)
    return Scenario(people, accuracy, CostSharing(0.3), RandomSubset(2), steps, tolerance=0.0)
