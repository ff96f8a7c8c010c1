"""What does a step of a large federation cost?  `python -m tests.benchmarks.population`

10,000 owners, 200 steps, closed form, last-step recording: the whole step of the model beside the same dynamics as a
bare NumPy loop and beside 10,000 empty Mesa agents stepped with `AgentSet.do`, in processor time and all three in turn
within each step, so that whatever else the machine does hits them alike.  Owners climb, respond, remember all that the
others ever did (fictitious play) or draw random numbers from 10,000 streams of their own (a bandit).  Exits with 1
if a target is missed.

`--owners 1000000`: a million owners under several rules (`tests.benchmarks.million`).

`--agents`: 1,000 owners whose class is a subclass of `Owner` with a `decide` of its own, beside a plain Mesa model of
agents that do the same (climb, receive a model, bear costs, and are collected).

`--rationed 100000`: seconds of processor time that so many best responders under `ProportionalData` cost, whose
utilities are not concave; half as many beside them show whether anything grows faster than their number.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

# Processor time is that of one thread: others would only wait, and their waiting would count.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import mesa
import numpy as np

from fedabm import Federation, Scenario, population
from fedabm.common.random import generator
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ProportionalData
from fedabm.simulation import Owner
from fedabm.strategies import BestResponse, EpsilonGreedy, FictitiousPlay, GradientResponse, Strategy
from fedabm.views import Action, OwnerView
from tests.benchmarks.million import MANY, compare

Update = Callable[[np.ndarray], np.ndarray]

MOST_RATIO, MOST_MEMORY, MOST_AGENTS = 5.0, 500.0, 15.0
#: how far owners climb in a step
CLIMB = 0.01
#: shares of the data that learners choose among
LEVELS = 11


class Empty(mesa.Agent):
    """An agent that does nothing: what Mesa itself costs."""

    def step(self) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Contest:
    """One strategy and the same dynamics written by hand for a(s) = 1 - 1 / (1 + sum s) and linear costs.

    `same`: the two can be expected to contribute the same, as nobody draws random numbers.
    """

    strategy: Strategy
    update: Update
    same: bool = True


def contests(costs: np.ndarray, capacities: np.ndarray, step: float, rationality: float) -> list[Contest]:
    """Gradient steps s + step ((1 + S)^-2 - c), and part of the way to the best response c^(-1/2) - 1 - S_-i."""

    def climb(s: np.ndarray) -> np.ndarray:
        return np.clip(s + step * ((1.0 + s.sum()) ** -2 - costs), 0.0, capacities)

    def respond(s: np.ndarray) -> np.ndarray:
        best = np.clip(costs**-0.5 - 1.0 - (s.sum() - s), 0.0, capacities)
        return s + rationality * (best - s)

    return [
        Contest(GradientResponse(step), climb),
        Contest(BestResponse(rationality), respond),
        Contest(FictitiousPlay(LEVELS), remembering(costs, capacities)),
        Contest(EpsilonGreedy(0.1, LEVELS), exploring(costs, capacities), same=False),
    ]


def remembering(costs: np.ndarray, capacities: np.ndarray) -> Update:
    """Fictitious play: the level that would have earned most so far."""
    table = capacities[:, None] * np.linspace(0.0, 1.0, LEVELS)
    earned, rows = np.zeros(table.shape), np.arange(len(table))

    def reply(s: np.ndarray) -> np.ndarray:
        nonlocal earned
        earned = earned + (1.0 - 1.0 / (1.0 + (s.sum() - s)[:, None] + table) - costs[:, None] * table)
        return table[rows, np.argmax(earned, axis=1)]

    return reply


def exploring(costs: np.ndarray, capacities: np.ndarray) -> Update:
    """A bandit: mostly the level with the best mean utility, sometimes any; one generator for all owners."""
    rows, rng = np.arange(len(costs)), generator(0, "owner")
    count, worth = np.zeros((len(costs), LEVELS)), np.zeros((len(costs), LEVELS))

    def explore(s: np.ndarray) -> np.ndarray:
        arm = np.rint(s / capacities * (LEVELS - 1)).astype(int)
        count[rows, arm] += 1
        earned = 1.0 - 1.0 / (1.0 + s.sum()) - costs * s
        worth[rows, arm] += (earned - worth[rows, arm]) / count[rows, arm]
        best = np.argmax(np.where(count > 0, worth, -np.inf), axis=1)
        anything = rng.integers(LEVELS, size=len(rows))
        return capacities * np.where(rng.random(len(rows)) < 0.1, anything, best) / (LEVELS - 1)

    return explore


def measure(contest: Contest, costs: np.ndarray, capacities: np.ndarray, steps: int) -> tuple[np.ndarray, float]:
    """Processor seconds per step (steps, 3) of model, NumPy and empty Mesa, and how far the two contribute apart."""
    owners = population(costs, capacities, contest.strategy)
    model = Federation(Scenario(owners, PowerLaw(), steps=steps, tolerance=0.0, record=None))
    idle = mesa.Model(seed=0)
    Empty.create_agents(idle, len(costs))
    bare = np.zeros(len(costs))
    times = np.empty((steps, 3))
    for turn in times:
        began = time.process_time()
        model.step()
        turn[0] = time.process_time() - began
        began = time.process_time()
        bare = contest.update(bare)
        turn[1] = time.process_time() - began
        began = time.process_time()
        idle.agents.do("step")
        turn[2] = time.process_time() - began
    apart = np.max(np.abs(model.population.contribution - bare))
    return times, float(apart / np.max(bare))


class Climber(Owner):
    """Climbs by a `decide` of its own."""

    def decide(self, view: OwnerView) -> Action:
        """A gradient step from where it stands."""
        slope = (1.0 + view.total) ** -2 - view.cost.rate[0]
        aim = view.last.contribution[0] + CLIMB * slope
        return view.truthful(np.array([min(max(aim, 0.0), view.capacity[0])]))


class Plain(mesa.Agent):
    """The same as a modeller writes it with nothing but Mesa."""

    def __init__(self, model: mesa.Model, rate: float, capacity: float) -> None:
        super().__init__(model)
        self.rate, self.capacity = rate, capacity
        self.contribution = self.accuracy = self.payment = self.cost = self.utility = 0.0

    def decide(self) -> None:
        """A gradient step from where it stands."""
        slope = (1.0 + self.model.total) ** -2 - self.rate
        self.contribution = min(max(self.contribution + CLIMB * slope, 0.0), self.capacity)

    def receive(self) -> None:
        """The model, and what it cost."""
        self.accuracy = 1.0 - 1.0 / (1.0 + self.model.total)
        self.cost = self.rate * self.contribution
        self.utility = self.accuracy + self.payment - self.cost


class PlainModel(mesa.Model):
    """A federation of plain agents."""

    def __init__(self, rates: list[float], capacities: list[float]) -> None:
        super().__init__(seed=0)
        self.total = 0.0
        Plain.create_agents(self, len(rates), rates, capacities)
        kept = ("contribution", "accuracy", "payment", "cost", "utility")
        self.datacollector = mesa.DataCollector({"total": "total"}, {name: name for name in kept})

    def step(self) -> None:
        """Everybody decides, then everybody receives."""
        self.agents.do("decide")
        self.total = sum(agent.contribution for agent in self.agents)
        self.agents.do("receive")
        self.datacollector.collect(self)


def compare_agents(owners: int, steps: int) -> int:
    """What a step costs of owners that decide by a method of their own, beside plain Mesa; 1 if that is too much."""
    rng = generator(0, "population")
    rates, capacities = rng.uniform(1e-4, 1e-3, owners), rng.uniform(5.0, 10.0, owners)
    people = population(rates, capacities, agent=Climber)
    model = Federation(Scenario(people, PowerLaw(), steps=steps, tolerance=0.0))
    plain = PlainModel(rates.tolist(), capacities.tolist())
    times = np.empty((steps, 2))
    for turn in times:
        for place, one in enumerate((model, plain)):
            began = time.process_time()
            one.step()
            turn[place] = time.process_time() - began
    apart = float(np.max(np.abs(model.population.contribution - plain.agents.get("contribution"))))
    ours, theirs = 1e3 * np.median(times, axis=0)
    met = ours <= MOST_AGENTS * theirs and apart < 1e-9
    print(
        f"{owners} subclasses of Owner: {ours:.1f} ms per step, plain Mesa {theirs:.1f} ms, {ours / theirs:.1f} times"
    )
    print(
        f"{'met' if met else 'MISSED'}: at most {MOST_AGENTS:g} times, and the same contributions (apart {apart:.1e})"
    )
    return 0 if met else 1


def rationed(owners: int) -> dict[str, float]:
    """Seconds of processor time of a federation's parts if models are rationed by data."""
    rng = generator(0, "population")
    costs, capacities = rng.uniform(1e-4, 1e-3, owners), rng.uniform(5.0, 10.0, owners)
    marks = {"begin": time.process_time()}
    people = population(costs, capacities, BestResponse(5.0 / owners))
    marks["owners"] = time.process_time()
    model = Federation(Scenario(people, PowerLaw(), ProportionalData(0.5), steps=2, record=None))
    marks["model"] = time.process_time()
    model.step()
    marks["step"] = time.process_time()
    assert model.gap > 0
    marks["gap"] = time.process_time()
    model.frames()
    marks["frames"] = time.process_time()
    return {name: marks[name] - marks[before] for before, name in pairwise(marks)}


def compare_rationed(owners: int) -> int:
    """Print the seconds of half as many and of this many owners."""
    half, whole = rationed(owners // 2), rationed(owners)
    print(f"{'':<8}{owners // 2:>10}{owners:>10}   times")
    for name, seconds in whole.items():
        print(f"{name:<8}{half[name]:>10.2f}{seconds:>10.2f}{seconds / max(half[name], 1e-9):>8.1f}")
    return 0


def main() -> int:
    """Measure, print a table, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rationed", type=int, metavar="OWNERS")
    parser.add_argument("--only", metavar="RULE", help="of many owners: one rule only")
    parser.add_argument("--agents", action="store_true", help="subclasses of Owner beside plain Mesa, alone")
    options = parser.parse_args()
    if options.agents:
        return compare_agents(1_000, 50)
    if options.rationed:
        return compare_rationed(options.rationed)
    if options.owners > MANY:
        return compare(options.owners, options.only)
    rng = generator(0, "population")
    costs, capacities = rng.uniform(1e-4, 1e-3, options.owners), rng.uniform(5.0, 10.0, options.owners)
    print(f"{options.owners} owners, {options.steps} steps, median milliseconds per step")
    print(f"{'strategy':<20}{'fedabm':>10}{'NumPy':>10}{'Mesa':>10}{'fedabm/Mesa':>14}{'apart':>11}  target")
    good = True
    for contest in contests(costs, capacities, step=10.0 / options.owners, rationality=5.0 / options.owners):
        times, apart = measure(contest, costs, capacities, options.steps)
        ours, numpy_, mesa_ = 1e3 * np.median(times, axis=0)
        met = ours <= MOST_RATIO * mesa_ and (apart < 1e-6 or not contest.same)
        times_shown = f"{contest.strategy.label:<20}{ours:>10.3f}{numpy_:>10.3f}{mesa_:>10.3f}{ours / mesa_:>14.2f}"
        row = f"{times_shown}{apart:>11.1e}" if contest.same else f"{times_shown}{'random':>11}"
        wanted = f"at most {MOST_RATIO:g}{', and the same contributions' if contest.same else ''}"
        print(f"{row}  {'met' if met else 'MISSED'}: {wanted}")
        good &= met
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"peak memory {memory:.0f} MB  {'met' if memory < MOST_MEMORY else 'MISSED'}: below {MOST_MEMORY:g} MB")
    good &= compare_agents(1_000, 50) == 0
    return 0 if good and memory < MOST_MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())
