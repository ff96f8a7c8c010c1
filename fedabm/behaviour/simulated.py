"""Many runs of a model with parameters drawn at random, and the moments of what owners gave in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from fedabm.behaviour.moments import moments
from fedabm.common.errors import InputError, check_kind, check_range, check_whole
from fedabm.games.curves import Array
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stack import StackedRuns
from fedabm.simulation.stacking import kind_of, why_alone

__all__ = ["SimulatedBehaviour", "simulate_behaviour"]

#: makes the scenario with some parameters and a seed
Build = Callable[[Mapping[str, float], int], Scenario]


@dataclass(frozen=True, repr=False)
class SimulatedBehaviour:
    """Runs of a model: their parameters and what owners gave.

    Parameters
    ----------
    names : tuple[str, ...]
        What the parameters are called.
    low, high : Array
        Between which bounds each was drawn.
    drawn : Array
        Parameters (runs, parameters).
    given : Array
        Contributions (runs, rounds, owners).
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    drawn: Array
    given: Array

    def __repr__(self) -> str:
        return f"SimulatedBehaviour({', '.join(self.names)}; {len(self.drawn):,} runs)"

    def moments(self, rounds: int) -> Array:
        """The moments of the first rounds of every run."""
        return np.array([moments(one[:rounds]) for one in self.given])


def simulate_behaviour(
    build: Build, parameters: Mapping[str, tuple[float, float]], runs: int = 1000, seed: int = 0
) -> SimulatedBehaviour:
    """Run a model with parameters from a Latin hypercube between bounds, each run with a seed of its own.

    Parameters
    ----------
    build : Build
        Makes the scenario of some parameters, by name, and a seed.
    parameters : Mapping[str, tuple[float, float]]
        Lowest and highest value of each parameter.
    runs : int, optional
        How many runs.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.

    Returns
    -------
    SimulatedBehaviour
        Parameters and contributions of every run.
    """
    check_whole("runs", runs, low=100)
    if not parameters:
        raise InputError("no parameters to fit; give for instance {'share': (0.0, 1.0)}")
    for name, (low, high) in parameters.items():
        check_range(name, low, -1e100, 1e100)
        if not low < high:
            raise InputError(f"bounds of {name} must be the lower and the higher one, got {low} and {high}; swap them")
    bounds = np.array(list(parameters.values()), dtype=float)
    drawn = qmc.scale(qmc.LatinHypercube(len(bounds), rng=seed).random(runs), bounds[:, 0], bounds[:, 1])
    seeds = [int(one) for one in np.random.default_rng(seed).integers(2**53, size=runs)]
    names = tuple(parameters)
    scenarios = [build(dict(zip(names, row.tolist(), strict=True)), one) for row, one in zip(drawn, seeds, strict=True)]
    for one in scenarios:
        check_kind("what build gives", one, Scenario)
    if len({(len(one.owners), one.steps) for one in scenarios}) > 1:
        raise InputError(
            "scenarios differ in owners or steps from run to run; build as many of both for all parameters"
        )
    return SimulatedBehaviour(names, bounds[:, 0], bounds[:, 1], drawn, _given(scenarios, seeds))


def _given(scenarios: Sequence[Scenario], seeds: Sequence[int]) -> Array:
    """What owners gave, in stacks of runs of one kind, or run by run; a run at rest goes on as it ended."""
    first = scenarios[0]
    found = np.full((len(scenarios), first.steps, len(first.owners)), np.nan)
    kinds: dict[Hashable, list[int]] = {}
    for place, scenario in enumerate(scenarios):
        kinds.setdefault(("alone", place) if why_alone(scenario) else kind_of(scenario), []).append(place)
    for places in kinds.values():
        chosen = [scenarios[place] for place in places]
        if why_alone(chosen[0]):
            rows = Federation(chosen[0], seeds[places[0]]).run().frames().owners
            found[places[0], rows["step"] - 1, rows["owner"]] = rows["contribution"]
            continue
        columns = StackedRuns(chosen, [seeds[place] for place in places]).run().tables["owners"].columns
        found[np.array(places)[columns["run"]], columns["step"] - 1, columns["owner"]] = columns["contribution"]
    for step in range(1, first.steps):
        found[:, step] = np.where(np.isnan(found[:, step]), found[:, step - 1], found[:, step])
    return found
