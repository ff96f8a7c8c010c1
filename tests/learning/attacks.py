"""What attacks of robust learning cost, when a backdoor works, and where Krum fails: on MNIST, some minutes.

    FEDABM_DATA=... python -m tests.learning.attacks            # all three tables, 3 seeds
    FEDABM_DATA=... python -m tests.learning.attacks --epochs   # with rounds of a whole epoch, in which little bites

Beside each number that must show something stands whether it does; where one does not the command ends with 1.

Three of ten owners attack.  Rounds are of a single gradient each: then honest updates are spread widely, and attacks
have room to hide in it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
import torch

from fedabm.common.random import owner_streams
from fedabm.data import IID, Backdoor, Dataset, Shards, from_partition, load_dataset
from fedabm.games.messages import Tampering
from fedabm.learning import (
    SGD,
    CoordinateMedian,
    Engine,
    FedAvg,
    GeometricMedian,
    Krum,
    Recipe,
    Rule,
    TrimmedMean,
    attack_success,
)
from fedabm.learning.rules.rounds import federate
from fedabm.strategies import Attacker, Honest
from tests.thresholds import Thresholds

OWNERS, BAD = 10, 3
#: rounds of one gradient on a batch; as many local steps as one
SINGLE = Recipe(steps=1, batch=10, optimiser=SGD(0.1))
ROBUST: dict[str, Rule] = {"median": CoordinateMedian(), "trimmed mean": TrimmedMean(0.3)}


def mnist(seed: int, samples: int = 10_000) -> Dataset:
    """Some of MNIST, anew for each seed."""
    whole = load_dataset("mnist").train
    return whole.subset(np.random.default_rng(seed).permutation(len(whole))[:samples])


def learned(engine: Engine, recipe: Recipe, rounds: int, seed: int, attack: str | None = None) -> torch.Tensor:
    """The model after so many rounds in which the last three owners attack."""
    tampering = ()
    if attack is not None:
        members = np.arange(OWNERS - BAD, OWNERS)
        tampering = (Tampering(members, Attacker(Honest(), attack), owner_streams(seed, OWNERS).take(members)),)
    full = engine.data.capacities.astype(float)
    return federate(engine, full, recipe, rounds, seed, tampering)[0]


def accuracy(engine: Engine, model: torch.Tensor) -> float:
    """The mean over the owners' test parts."""
    return float(engine.evaluate(model).accuracy.mean())


def costs(seed: int, recipe: Recipe = SINGLE, rounds: int = 150, data: Dataset | None = None) -> dict[str, float]:
    """How many points of accuracy attacks cost under robust rules, by "attack, rule"."""
    digits = mnist(seed) if data is None else data
    engine = Engine("mlp", from_partition(digits, IID(OWNERS), seed, 0.3), device="cpu")
    found = {}
    for name, rule in ROBUST.items():
        how = replace(recipe, rule=rule)
        honest = accuracy(engine, learned(engine, how, rounds, seed))
        for attack in ("little_is_enough", "min_max"):
            attacked = accuracy(engine, learned(engine, how, rounds, seed, attack))
            found[f"{attack}, {name}"] = 100.0 * (honest - attacked)
    return found


def backdoors(seed: int, rounds: int = 15, data: Dataset | None = None) -> dict[str, float]:
    """How often the backdoor of three owners works under four rules, on equal parts and rounds of an epoch."""
    digits, door = mnist(seed) if data is None else data, Backdoor(target=0, share=0.5, size=4)
    quality = [None] * (OWNERS - BAD) + [door] * BAD
    engine = Engine("mlp", from_partition(digits, IID(OWNERS), seed, 0.3, quality), device="cpu")
    rules = {"FedAvg": FedAvg(), "geometric median": GeometricMedian(), **ROBUST}
    recipe = Recipe(epochs=1, batch=32, optimiser=SGD(0.1))
    models = {name: learned(engine, replace(recipe, rule=rule), rounds, seed) for name, rule in rules.items()}
    return {name: attack_success(engine, model, door) for name, model in models.items()}


def krum(seed: int, rounds: int = 100, data: Dataset | None = None) -> dict[str, float]:
    """Accuracies of Krum and of the mean where nobody attacks, on parts that are alike and of two classes each."""
    digits, found = mnist(seed) if data is None else data, {}
    for parts, partition in (("alike", IID(OWNERS)), ("two classes each", Shards(OWNERS))):
        engine = Engine("mlp", from_partition(digits, partition, seed, 0.3, one_class="allow"), device="cpu")
        for name, rule in (("Krum", Krum(BAD)), ("FedAvg", FedAvg())):
            recipe = Recipe(steps=5, batch=32, optimiser=SGD(0.05), rule=rule)
            found[f"{name}, {parts}"] = accuracy(engine, learned(engine, recipe, rounds, seed))
    return found


def judge(found: Thresholds, name: str, means: dict[str, float]) -> None:
    """Whether the means of a table show what they must."""
    if name == "costs":
        for key, points in means.items():
            found.least(f"points that it costs, {key}", points, 10.0)
    elif name == "backdoors":
        for rule in ("FedAvg", "geometric median"):
            found.least(f"success of the backdoor, {rule}", means[rule], 0.9)
        for rule in ROBUST:
            found.most(f"success of the backdoor, {rule}", means[rule], 0.1)
    else:
        parts = "two classes each"
        found.least(f"what Krum loses on {parts}", means[f"FedAvg, {parts}"] - means[f"Krum, {parts}"], 0.2)


def main() -> None:
    """Print all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", action="store_true", help="rounds of a whole epoch for the attacks")
    parser.add_argument("--only", choices=("costs", "backdoors", "krum"))
    options = parser.parse_args()
    how = (Recipe(epochs=1, batch=32, optimiser=SGD(0.1)), 10) if options.epochs else (SINGLE, 150)
    tables = {"costs": lambda seed: costs(seed, *how), "backdoors": backdoors, "krum": krum}
    judged = Thresholds()
    for name, table in tables.items():
        if options.only in (None, name):
            rows = [table(seed) for seed in range(options.seeds)]
            for key in rows[0]:
                values = [row[key] for row in rows]
                print(
                    f"{name}: {key}: mean {np.mean(values):.3f} of {', '.join(f'{v:.3f}' for v in values)}", flush=True
                )
            if not (options.epochs and name == "costs"):
                judge(judged, name, {key: float(np.mean([row[key] for row in rows])) for key in rows[0]})
    judged.end()


if __name__ == "__main__":
    main()
