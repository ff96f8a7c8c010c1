"""How often fitted behaviour holds the truth, over mixed populations whose truth is known.

    python -m tests.behaviour.recovery --cases 100

Truths are drawn at random between the bounds.  Each case is a run of a mixed population, from which the contributions
alone are seen; a case counts only if the intervals hold *all* parameters.  Ends with code 1 where fewer than 90% do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedabm import Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.behaviour import BehaviourFit, SimulatedBehaviour, fit_behaviour, simulate_behaviour
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation import Never, Simultaneous
from fedabm.strategies import BestResponse, FreeRider, LogitResponse, QLearning, Strategy

OWNERS, STEPS = 30, 24


def _scenario(strategies: list[Strategy]) -> Scenario:
    """Owners with known costs and a subsidy that makes it worth while for some of them to give."""
    people = population(np.linspace(0.02, 0.12, OWNERS), 10.0, strategies)
    rule, order = ContributionSubsidy(0.06), Simultaneous()
    return Scenario(people, PowerLaw(), rule, order, steps=STEPS, stopping=Never())


def riders(parameters: Mapping[str, float], seed: int) -> Scenario:
    """A share of owners gives nothing; the others choose better levels more often, the colder the more."""
    rides = np.random.default_rng([seed, 1]).random(OWNERS) < parameters["riders"]
    other = LogitResponse(parameters["temperature"])
    return _scenario([FreeRider() if one else other for one in rides])


def learners(parameters: Mapping[str, float], seed: int) -> Scenario:
    """A share of owners learns by its own experience; the others go a part of the way to what is best."""
    learns = np.random.default_rng([seed, 1]).random(OWNERS) < parameters["learners"]
    learner = QLearning(rate=parameters["rate"])
    other = BestResponse(parameters["rationality"])
    return _scenario([learner if one else other for one in learns])


@dataclass(frozen=True)
class Mixture:
    """A model of a mixed population, and between which bounds its parameters lie."""

    build: Callable[[Mapping[str, float], int], Scenario]
    bounds: dict[str, tuple[float, float]]


MIXTURES = {
    "free-riders among noisy responders": Mixture(riders, {"riders": (0.0, 0.8), "temperature": (0.02, 0.5)}),
    "learners among responders": Mixture(
        learners, {"learners": (0.1, 0.9), "rate": (0.02, 0.9), "rationality": (0.05, 1.0)}
    ),
}


def cases(mixture: Mixture, count: int) -> SimulatedBehaviour:
    """Runs whose parameters are to be found: other draws and seeds than those that the fit simulates."""
    return simulate_behaviour(mixture.build, mixture.bounds, max(count, 100), seed=12345)


def held(fit: BehaviourFit, truth: np.ndarray) -> np.ndarray:
    """Which of the true parameters lie in their intervals."""
    return np.asarray((fit.table["low"] <= truth) & (truth <= fit.table["high"]))


def recovered(mixture: Mixture, known: SimulatedBehaviour, count: int) -> pd.DataFrame:
    """One row per case: whether each parameter is held, all of them, and the width of intervals."""
    truths, rows = cases(mixture, count), []
    for truth, given in zip(truths.drawn[:count], truths.given[:count], strict=True):
        fit = fit_behaviour(given, known)
        found = held(fit, truth)
        width = dict(zip((f"width of {name}" for name in known.names), fit.table["share of bounds"], strict=True))
        told = {"all": found.all(), "held-out rounds": fit.held, "strange": fit.strange < 0.01}
        rows.append(dict(zip(known.names, found, strict=True)) | told | width)
    return pd.DataFrame(rows)


def main() -> int:
    """A line per mixture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--runs", type=int, default=2000)
    options, bad = parser.parse_args(), 0
    for name, mixture in MIXTURES.items():
        known = simulate_behaviour(mixture.build, mixture.bounds, options.runs)
        found = recovered(mixture, known, options.cases)
        mean = found.mean()
        single = ", ".join(
            f"{one} {mean[one]:.0%} (mean width {mean[f'width of {one}']:.0%} of its bounds)" for one in known.names
        )
        print(f"{name}: all parameters held in {found['all'].sum()} of {options.cases} cases; {single}", flush=True)
        print(
            f"  held-out rounds as predicted: {mean['held-out rounds']:.0%}; taken for strange: {mean['strange']:.0%}"
        )
        bad += mean["all"] < 0.9
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
