"""How fast are the models of coalitions judged?  `python -m tests.benchmarks.coalitions`

1,000 random coalitions of 10 owners on everybody's test part (20 random samples each): this package, a plain loop (load
the averaged model, run it on every owner's samples), and the limit (one model on as many samples in large batches).
They take turns; medians are compared.  Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

import numpy as np
import torch
from torch.nn.utils import vector_to_parameters

from fedabm.data.federated import FederatedData
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.networks import build
from fedabm.learning.oracles.averaged import AveragedModels
from tests.benchmarks.training import timed

OWNERS, TESTS, LARGE_BATCH = 10, 20, 250
#: shape, and how many times faster than the plain loop it must be (None: reported only)
CASES: dict[str, tuple[tuple[int, ...], float | None]] = {
    "logistic": ((784,), 10.0),
    "mlp": ((784,), 10.0),
    "small_cnn": ((1, 28, 28), 3.0),
    "mnist_cnn": ((1, 28, 28), None),
}


def data_of(shape: tuple[int, ...]) -> FederatedData:
    """Random samples of the right shape."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((OWNERS * TESTS, *shape), dtype=np.float32)
    y, offsets = rng.integers(10, size=len(x)), np.arange(OWNERS + 1) * TESTS
    return FederatedData("random", x, y, offsets, x, y, offsets, 10)


def contest(name: str, count: int) -> tuple[dict[str, Callable[[], object]], float]:
    """What takes turns, and how far the two results are apart on a few coalitions."""
    data = data_of(CASES[name][0])
    engine = Engine(name, data, device="cpu")
    rows = torch.stack([engine.initial(seed) for seed in range(OWNERS + 1)])
    who = np.random.default_rng(1).random((count, OWNERS)) < 0.5
    network, x, y = build(name, data.shape, 10), torch.from_numpy(data.x_test), torch.from_numpy(data.y_test)

    def ours(some: np.ndarray = who) -> np.ndarray:
        return AveragedModels(engine, rows[0], rows[1:], np.ones(OWNERS)).values(some)

    @torch.no_grad()
    def plain(some: np.ndarray = who) -> np.ndarray:
        found = np.zeros((len(some), OWNERS))
        for row, members in zip(found, some, strict=True):
            mean = rows[1:][torch.from_numpy(members)].mean(0) if members.any() else rows[0]
            vector_to_parameters(mean, network.parameters())
            for owner in range(OWNERS):
                part = slice(data.test_offsets[owner], data.test_offsets[owner + 1])
                row[owner] = (network(x[part]).argmax(1) == y[part]).float().mean().item()
        return found

    @torch.no_grad()
    def limit() -> None:
        for _ in range(count * len(y) // LARGE_BATCH):
            network(many)

    many = torch.from_numpy(np.resize(data.x_test, (LARGE_BATCH, *data.shape)))
    apart = float(np.abs(ours(who[:20]) - plain(who[:20])).mean())
    return {"fedabm": ours, "plain loop": plain, "limit": limit}, apart


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CASES, nargs="*", default=list(CASES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--coalitions", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}, {options.coalitions} coalitions, {OWNERS} owners")
    good = True
    for name in options.only:
        works, apart = contest(name, options.coalitions)
        times = np.array([[timed(work)() for work in works.values()] for _ in range(options.repeats)])
        medians = dict(zip(works, np.median(times, axis=0), strict=True))
        each = {who: 1e6 * taken / (options.coalitions * OWNERS) for who, taken in medians.items()}
        factor, target = medians["plain loop"] / medians["fedabm"], CASES[name][1]
        met = apart < 1e-3 and (target is None or factor >= target)
        row = "".join(f"{who} {taken:.1f}, " for who, taken in each.items())
        wanted = "no target" if target is None else f"{'met' if met else 'MISSED'}: at least {target:g} times the loop"
        print(f"{name:<10} microseconds per model and owner: {row}{factor:.1f} times the loop ({wanted})")
        print(f"{'':<10} accuracies differ by {apart:.0e} on average")
        good &= met
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
