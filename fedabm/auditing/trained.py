"""The league with really trained models, at a quick size: one owner of handwritten digits deviates in every round.

Rules that settle on contributions share one model, learned by federated averaging, and promise by a public curve; rules
that exchange models train one per owner.  What a deviation does is the difference of two runs with the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fedabm.auditing.league import League, closed_rules, exchanging_rules
from fedabm.common.random import generator
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import Dirichlet
from fedabm.data.quality import FeatureNoise, LabelNoise, Quality
from fedabm.games.accuracy import Oracle, PowerLaw
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Learning
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import Mechanism
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import Attacker, Honest, Liar, Strategy

__all__ = ["TRAINED", "trained_league"]

#: what the deviator does: its strategy; whose data are noisy is honest about everything but that
TRAINED: dict[str, Strategy] = {
    "claims twice": Liar(Honest(), contribution_factor=2.0),
    "size x4": Liar(Honest(), size_factor=4.0),
    "cost x3": Liar(Honest(), cost_factor=3.0),
    "sign flip": Attacker(Honest(), "sign_flip"),
    "free ride": Attacker(Honest(), "free_ride", trains=False),
    "noisy labels": Honest(),
}
_ROUNDS, _UNIT_COST = 4, 1e-4
_RECIPE = Recipe(steps=10, batch=16, optimiser=SGD(0.05, momentum=0.9))


def trained_league(seeds: int = 3, owners: int = 6, rules: Sequence[str] | None = None, workers: int = 1) -> League:
    """One row per rule, seed and deviation: what the deviator gains and each of the others loses in the last round.

    Where owners share one model this is utility; where each has its own it is accuracy, whatever is paid for models.
    """
    one = partial(_one_seed, owners=owners, rules=None if rules is None else tuple(rules))
    if workers == 1:
        parts = [one(seed) for seed in range(seeds)]
    else:
        with ProcessPoolExecutor(workers) as pool:
            parts = list(pool.map(one, range(seeds)))
    return League(pd.DataFrame([row for part in parts for row in part]))


def _one_seed(seed: int, owners: int, rules: tuple[str, ...] | None) -> list[dict[str, Any]]:
    """All rules and deviations on the data of one seed."""
    clean, noisy = (_data(seed, owners, spoilt=spoilt) for spoilt in (False, True))
    costs = _UNIT_COST * generator(seed, "population").uniform(0.5, 1.5, owners)
    every, found = {**closed_rules(costs.tolist()), **exchanging_rules()}, []
    for name, rule in every.items():
        if rules is not None and name not in rules:
            continue
        honest = _run(rule, clean, costs, Honest(), seed)
        for label, strategy in TRAINED.items():
            after = _run(rule, noisy if label == "noisy labels" else clean, costs, strategy, seed)
            found.append({"rule": name, "seed": seed, "deviation": label, **_change(honest, after), "words": label})
    return found


def _change(before: Array, after: Array) -> dict[str, float]:
    """What owner 0 gains, and what the others lose on average."""
    return {
        "gain": float(after[0] - before[0]),
        "loss": float(np.mean(before[1:] - after[1:])),
        "stake": max(float(np.mean(np.abs(before))), 1e-9),
    }


def _data(seed: int, owners: int, *, spoilt: bool) -> FederatedData:
    """Digits in unequal classes, seen through noise; half of the deviator's labels are wrong if they are spoilt."""
    quality: dict[int, Quality] = {owner: FeatureNoise(0.5) for owner in range(owners)}
    if spoilt:
        quality[0] = Both(FeatureNoise(0.5), LabelNoise(0.5))
    return from_partition(load_dataset("digits"), Dirichlet(owners, 0.5), seed, 0.5, quality, one_class="allow")


@dataclass(frozen=True)
class Both:
    """Data with two defects, one after the other."""

    first: Quality
    then: Quality

    def spoil(
        self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The samples after both."""
        return self.then.spoil(*self.first.spoil(x, y, rng, classes), rng, classes)


def _run(rule: Mechanism, data: FederatedData, costs: Array, deviator: Strategy, seed: int) -> Array:
    """Everybody's utility in the last round, or accuracy where everyone has a model of its own."""
    engine = Engine("mlp", data)
    accuracy: Oracle = (
        Learning(engine, _RECIPE, announced=PowerLaw(exponent=0.5))
        if rule.promises
        else Personal(engine, _RECIPE, measured=64)
    )
    people = [
        OwnerProfile(Linear(float(cost)), float(size), Honest(), eagerness=100.0 * float(size))
        for cost, size in zip(costs, data.capacities, strict=True)
    ]
    people[0] = replace(people[0], strategy=deviator)
    model = Federation(Scenario(tuple(people), accuracy, rule, steps=_ROUNDS, record=None), seed).run()
    return model.population.utility.copy() if rule.promises else model.population.accuracy.copy()
