"""What does a round of a personalised rule cost beside its training?  `python -m tests.benchmarks.rival_rounds`

A round is: everybody trains and sends, the server mixes, everybody is told what to train on next.  It is compared with
the bare local training that it needs: as many steps of the engine, from the same models, held by nothing and with no
exchange; twice that for Ditto, which trains two models.  Judging the models is left out on both sides.  Random images
in the shape of Fashion-MNIST, the network and optimiser of iPFL 2025.  All take turns in every repeat, so that whatever
else the machine does hits them alike; medians are compared.  Exits with 1 if a round takes more than 1.3 times its
training.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fedabm.data.federated import FederatedData
from fedabm.games.messages import OwnerMessages
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.personal.models import Personal, PersonalState
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.papers.ipfl2025.settings import RIVALS
from fedabm.views import Reports

MOST = 1.3
#: how many models an owner trains in a round, where it is not one
TRAININGS = {"Ditto": 2}
#: the rules that the target is about
JUDGED = ("Ditto", "FedAMP", "PFedGraph")
OPTIMISER = SGD(0.01, momentum=0.9, weight_decay=1e-5)


class Unjudged:
    """Everybody's model is worth nothing, at no cost."""

    def own(self, engine: Engine, models: Tensor) -> np.ndarray:
        return np.zeros(len(models))


def data_of(owners: int, samples: int) -> FederatedData:
    """Random images."""
    rng = np.random.default_rng(0)
    x = rng.integers(256, size=(owners * samples, 1, 28, 28), dtype=np.uint8)
    y = rng.integers(10, size=len(x))
    offsets, tests = np.arange(owners + 1) * samples, np.arange(owners + 1)
    return FederatedData("random", x, y, offsets, x[:owners], y[:owners], tests, 10)


def one_round(rule: Personalised, training: Personal, state: PersonalState) -> PersonalState:
    """Train, send, mix, deliver."""
    everybody, full = np.arange(training.owners), training.engine.data.capacities.astype(float)
    state, _ = training.round(state, OwnerMessages.honest(full))
    sent = training.sent(state, everybody, Reports(full, full, owners=everybody), with_losses=rule.asks_losses)
    return training.deliver(state, everybody, rule.exchange(sent))


def works(engine: Engine, recipe: Recipe, rules: list[Personalised]) -> dict[str, Callable[[], object]]:
    """A round of every rule, from its second round on, and the bare training."""
    training = Personal(engine, recipe, measure=Unjudged(), seed=0)
    fresh = training.begin(0)
    found: dict[str, Callable[[], object]] = {}
    for rule in rules:
        warm = one_round(rule, training, fresh)
        found[type(rule).__name__] = lambda rule=rule, warm=warm: one_round(rule, training, warm)  # type: ignore[misc]
    models, counts = one_round(RIVALS[0], training, fresh).models, engine.data.capacities
    how = {"steps": recipe.steps, "batch": recipe.batch, "optimiser": recipe.optimiser, "round": 1}
    return {"training": lambda: engine.train(models, counts, **how)} | found  # type: ignore[arg-type]


def medians(jobs: dict[str, Callable[[], object]], repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    """Seconds of each job, in turn."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(repeats + 1):
        for name, job in jobs.items():
            began = clock()
            job()
            if turn:  # the first one warms up
                times[name].append(clock() - began)
    return {name: float(np.median(taken)) for name, taken in times.items()}


def report(seconds: dict[str, float]) -> bool:
    """Print the ratios; whether the targets are met."""
    good, bare = True, seconds["training"]
    print(f"  {'training':<10}{1e3 * bare:>9.1f} ms")
    for name, taken in seconds.items():
        if name == "training":
            continue
        ratio = taken / (bare * TRAININGS.get(name, 1))
        said = (("met" if ratio <= MOST else "MISSED") + f": at most {MOST}") if name in JUDGED else "not judged"
        print(f"  {name:<10}{1e3 * taken:>9.1f} ms{ratio:>7.2f} x its {TRAININGS.get(name, 1)} training(s)  {said}")
        good &= name not in JUDGED or ratio <= MOST
    return good


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, nargs="*", default=[10, 20])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--network", default="simple_cnn")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--cpu", action="store_true", help="processor time, for a machine that is busy otherwise")
    parser.add_argument("--all", action="store_true", help="the other rules, too, which have no target")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rules = [rule for rule in RIVALS if options.all or type(rule).__name__ in JUDGED]
    print(f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}, medians of {options.repeats}")
    clock = time.process_time if options.cpu else time.perf_counter
    recipe, good = Recipe(steps=options.steps, batch=options.batch, optimiser=OPTIMISER), True
    for owners in options.owners:
        engine = Engine(options.network, data_of(owners, options.samples), device="cpu")
        print(f"{owners} owners, {options.network}, {engine.size} parameters, {options.steps} steps of {options.batch}")
        good &= report(medians(works(engine, recipe, rules), options.repeats, clock))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
