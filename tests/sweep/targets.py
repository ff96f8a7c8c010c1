"""What the tests sweep over."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import mesa
import numpy as np

from fedabm import Scenario, population
from fedabm.common.random import generator
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.simulation.activation import Sequential
from fedabm.strategies import BestResponse, FixedShare, Random, Strategy

NOTHING, ANYTHING = NoPayments(), Random()


@dataclass(frozen=True)
class Bribe(NoPayments):
    """A mechanism that no package has."""

    size: float = 1.0


def build(
    seed: int, rate: float = 0.1, owners: int = 2, mechanism: Mechanism = NOTHING, strategy: Strategy = ANYTHING
) -> Scenario:
    """A small market whose costs depend on the seed, and that takes a few milliseconds."""
    costs = rate * generator(seed, "population").uniform(0.5, 1.5, owners)
    people = population(costs, 10.0, [BestResponse(), *[strategy] * (owners - 1)])
    return Scenario(people, PowerLaw(), mechanism, activation=Sequential(), steps=3)


def perhaps(seed: int, mechanism: Mechanism | None = None) -> Scenario:
    """With a mechanism or without."""
    return build(seed, mechanism=mechanism or NOTHING)


def lasting(seed: int, resting: bool = True) -> Scenario:
    """Ends at its second step, or does not end; both are of one kind."""
    people = population([0.1] * 5, 10.0, FixedShare(0.5) if resting else Random())
    return Scenario(people, PowerLaw(), NOTHING, steps=1_000_000)


#: seconds that `slow` takes; no parameter, so that frames can be compared with those of a quick run
PAUSE = "FEDABM_TEST_PAUSE"


def slow(seed: int, rate: float = 0.1) -> Scenario:
    """The same with a pause, so that there is time to kill it."""
    time.sleep(float(os.environ.get(PAUSE, "0")))
    return build(seed, rate)


def trouble(seed: int, kind: str = "none") -> Scenario:
    """Goes wrong in all ways a run can."""
    if kind == "raise":
        raise ValueError("no such market")
    if kind == "hang":
        time.sleep(600)
    if kind == "hang for good":  # in a way that no exception ends
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(600)
    if kind == "stop":  # as by a debugger, or by a machine that is put to sleep
        os.kill(os.getpid(), signal.SIGSTOP)
    if kind == "memory":
        np.ones(10**13)
    if kind == "more and more memory":
        held = []
        while True:
            held.append(bytearray(2**22))
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        raise SystemExit(3)
    return build(seed)


class Walk(mesa.Model):
    """Walkers on a line; stops by itself when one is far away."""

    def __init__(self, walkers: int = 3, far: float = 5.0, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.far = far
        Walker.create_agents(self, walkers)
        self.datacollector = mesa.DataCollector(
            model_reporters={"spread": lambda model: max(abs(walker.place) for walker in model.agents)},
            agent_reporters={"place": "place"},
            tables={"moves": ["step", "move"]},
        )
        self.datacollector.collect(self)

    def step(self) -> None:
        self.agents.do("walk")
        self.datacollector.collect(self)
        self.running = max(abs(walker.place) for walker in self.agents) < self.far


class Walker(mesa.Agent):
    """Walks at random."""

    def __init__(self, model: mesa.Model) -> None:
        super().__init__(model)
        self.place = 0.0

    def walk(self) -> None:
        move = float(self.model.rng.normal())
        self.place += move
        self.model.datacollector.add_table_row("moves", {"step": self.model.steps, "move": move})
