"""One case of `tests.benchmarks.against` in the checkout that PYTHONPATH names: prints seconds of processor time.

It is given to the interpreter by its path, and knows only what both checkouts have, by either name.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from fedabm import Federation, Game, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare
from fedabm.strategies import BestResponse

Work = Callable[[], object]


def crowd(seed: int, rate: float = 0.1) -> Scenario:
    """20 owners with costs of their own, who move half of the way to their best responses until they rest."""
    rates = rate * np.random.default_rng(seed).uniform(0.1, 2.0, 20)
    return Scenario(population(rates, 10.0, BestResponse(0.4)), PowerLaw(), CostSharing(0.3), record=None)


def stepping(owners: int, steps: int) -> Work:
    """Steps of a large population that is there already."""
    costs = np.random.default_rng(0).uniform(0.01, 0.2, owners)
    people = population(costs, 10.0, BestResponse(0.5))
    model = Federation(Scenario(people, PowerLaw(), ContributionSubsidy(0.01), steps=10**6, tolerance=0.0, record=None))
    model.step()

    def work() -> None:
        for _ in range(steps):
            model.step()

    return work


def sweeping() -> Work:
    """A sweep of 600 runs that are stepped together."""
    from fedabm.sweep import Grid, Sweep

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            Sweep(crowd, Grid(rate=[0.1, 0.2]), 300).run(folder, "serial", quiet=True)

    return work


def training() -> Work:
    """Fifty rounds of federated averaging of 50 owners on the digits."""
    from fedabm.data import datasets
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import IID
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.engine.optimisers import SGD
    from fedabm.learning.oracles import Learning
    from fedabm.learning.rules.recipe import Recipe
    from fedabm.strategies import Honest

    read = getattr(datasets, "load_dataset", None) or datasets.load  # the older name
    engine = Engine("mlp", from_partition(read("digits"), IID(50), seed=0, test_share=0.2), device="cpu")
    people = population([0.001] * 50, engine.data.capacities, Honest())
    accuracy = Learning(engine, Recipe(steps=20, optimiser=SGD(0.1)))
    scenario = Scenario(people, accuracy, NoPayments(), steps=50, tolerance=0.0)
    return lambda: Federation(scenario).run()


def auditing() -> Work:
    """Cards of two rules among eight owners."""
    # The older name first: an installed package may offer the newer one to the older checkout, too.
    card: Any = import_module("fedabm.audit.card" if find_spec("fedabm.audit") else "fedabm.auditing.card")
    costs = np.linspace(0.02, 0.2, 8)
    games = [Game(PowerLaw(), costs, 10.0, rule) for rule in (ShapleyShare(), CostSharing(0.3))]
    return lambda: [card.audit(game, thoroughness=card.Thoroughness.quick()) for game in games]


CASES: dict[str, tuple[Callable[[], Work], int]] = {
    "10,000 owners, 200 steps": (lambda: stepping(10_000, 200), 5),
    "a million owners, a step": (lambda: stepping(1_000_000, 1), 3),
    "600 runs stepped together": (sweeping, 3),
    "50 owners train for 50 rounds": (training, 3),
    "audits of two rules": (auditing, 2),
}


def main() -> None:
    """The least of several turns, after one that counts for nothing."""
    make, turns = CASES[sys.argv[1]]
    work = make()
    work()
    seconds = []
    for _ in range(turns):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    print(min(seconds))


if __name__ == "__main__":
    main()
