"""What does a round of iPFL 2025 cost, where everyone has a model of its own?  `python -m tests.benchmarks.personal`

Nine owners of CIFAR-10's size with SimpleCNN, on random images: 200 local steps of 64 samples (from fewer steps),
judging nine models on 10,000 images together and one by one, in turn, and a training that was done before.  Exits with
1 if judging together is not at least 1.4 times as fast.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from fedabm.data.federated import FederatedData
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.personal.remembered import Remembered
from fedabm.learning.personal.tasks import OwnTraining
from fedabm.learning.rules.recipe import Recipe

OWNERS, SAMPLES, TESTS, STEPS, TARGET = 9, 5555, 10_000, 200, 1.4


def images() -> FederatedData:
    """Random bytes in the shape of CIFAR-10."""
    rng = np.random.default_rng(0)
    x = rng.integers(256, size=(OWNERS * SAMPLES, 3, 32, 32), dtype=np.uint8)
    tests = rng.integers(256, size=(TESTS, 3, 32, 32), dtype=np.uint8)
    bounds = np.arange(OWNERS + 1)
    labels, seen = rng.integers(10, size=len(x)), rng.integers(10, size=TESTS)
    return FederatedData("random", x, labels, bounds * SAMPLES, tests, seen, bounds * (TESTS // OWNERS), 10)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    """Measure, print, and say whether the target is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20, help="local steps that are measured, of 200")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    data = images()
    engine = Engine("simple_cnn", data, device="cpu")
    recipe = Recipe(steps=options.steps, batch=64, optimiser=SGD(0.01, momentum=0.9, weight_decay=1e-5))
    known, start = Remembered(), OwnTraining.free(engine.initial(0).expand(OWNERS, -1))
    first, again = (seconds(lambda: start.run(engine, recipe, data.capacities, known, 0, 0)) for _ in range(2))
    print(f"local training: {first * STEPS / options.steps:.1f} s for {STEPS} steps of {OWNERS} owners")
    print(f"the same once more: {1e3 * again:.0f} ms")
    models = start.run(engine, recipe, data.capacities, known, 0, 0)
    together, alone = [], []
    for _ in range(options.repeats):
        together.append(seconds(lambda: engine.evaluate(models)))
        alone.append(seconds(lambda: [engine.evaluate(model) for model in models]))
    gain = float(np.median(alone) / np.median(together))
    print(
        f"judging {OWNERS} models on {TESTS:,} images: {np.median(together):.2f} s, one by one {np.median(alone):.2f} s"
    )
    print(f"{'met' if gain >= TARGET else 'MISSED'}: at least {TARGET:g} times as fast together, got {gain:.2f}")
    return 0 if gain >= TARGET else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
