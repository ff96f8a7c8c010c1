"""How fast is one federation on several workers?  `python -m tests.benchmarks.cluster`

A round of FedAvg, training and sum, with one thread per worker: no cluster, one worker, two workers, and Flower's Ray
simulation with two actors, all on the same work in one run, taking turns; medians are compared.  Then the bytes that go
over each worker's wire in a round, the memory of 10,000 owners, and what a round of 30% of 500 owners costs.  Exits
with 1 if a target is missed; `--table FILE` writes the rows of what was measured as CSV.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import torch

from fedabm.data.federated import FederatedData
from fedabm.learning import SGD, Engine, Recipe
from fedabm.learning.engine.networks import build
from fedabm.learning.rules.rounds import one_round
from tests.benchmarks.rivals import Rival, default_folder
from tests.benchmarks.training import BATCH, RATE, SAMPLES, Case, Timer, data_of, timed

RECIPE = Recipe(epochs=1, batch=BATCH, optimiser=SGD(RATE))
#: the owners of a round, and how many times faster than Flower with two actors it must be
CASES = {
    "small_cnn": Case("small_cnn", (1, 28, 28), 10, 200, {"Flower": 6.0}),
    "cifar_cnn": Case("cifar_cnn", (3, 32, 32), 10, 60, {"Flower": 1.5}),
}
#: two workers in times of one, one worker in times of none, bytes per round and worker in models
FASTER, SLOWER, MODELS = 1.6, 1.10, 3.2
#: owners, samples of each, and most gigabytes of all processes and the object store
MANY, FEW, MOST = 10_000, 10, 3.0
#: owners, which share of them takes part, and at most which share of a full round that may take
ALL, SHARE, COST = 500, 0.3, 0.36


def judge(what: str, value: float, limit: float, *, least: bool = True, unit: str = "") -> bool:
    """Print whether a target is met."""
    met = value >= limit if least else value <= limit
    bound = "at least" if least else "at most"
    print(f"  {'met' if met else 'MISSED'}: {what} {bound} {limit:g}{unit}, got {value:.2f}{unit}", flush=True)
    return met


def rounds_of(engine: Engine, used: np.ndarray | None = None) -> Callable[[], object]:
    """One round of a federation after the other."""
    start, counts = engine.initial(0), engine.data.capacities.astype(float) if used is None else used
    number = iter(range(10**9))
    return lambda: one_round(engine, start, counts, RECIPE, 0, next(number), keep=False)


def rival(case: Case, data: FederatedData, place: Path) -> Rival | None:
    """Flower with two actors, or nothing where it cannot be had."""
    torch.save(build(case.network, case.shape, case.classes), place / "network.pt")
    shape = (data.owners, SAMPLES)
    np.savez(place / "data.npz", x=data.x_train.reshape(*shape, *case.shape), y=data.y_train.reshape(shape))
    try:
        found = Rival.of("Flower", default_folder(), place / "network.pt", place / "data.npz", 1)
        found.seconds()
    except RuntimeError as reason:
        print(f"  Flower is left out: {reason}")
        return None
    return found


def speed(name: str, options: argparse.Namespace, rows: list[dict[str, object]]) -> bool:
    """Seconds of a round with none, one and two workers; whether the targets are met."""
    case = CASES[name]
    data = data_of(case, case.owners)
    engines = {workers: Engine(case.network, data, device="cpu", workers=workers or None) for workers in (0, 1, 2)}
    timers: dict[object, Timer] = {workers: timed(rounds_of(engine)) for workers, engine in engines.items()}
    with tempfile.TemporaryDirectory() as place:
        other = rival(case, data, Path(place)) if options.rivals else None
        try:
            timers |= {} if other is None else {"Flower": other.seconds}
            for timer in timers.values():
                timer()
            times: dict[object, list[float]] = {who: [] for who in timers}
            for _ in range(options.repeats):
                for who, timer in timers.items():
                    times[who].append(timer())
        finally:
            if other is not None:
                other.close()
    seconds = {who: float(np.median(taken)) for who, taken in times.items()}
    print(f"{name}: {case.owners} owners")
    for who, taken in seconds.items():
        print(f"  {f'{who} workers' if isinstance(who, int) else who:<11}{taken:>8.3f} s")
    good = judge("two workers in times of one", seconds[1] / seconds[2], FASTER)
    good &= judge("one worker in seconds of no cluster", seconds[1] / seconds[0], SLOWER, least=False)
    if "Flower" in seconds:
        good &= judge("times Flower", seconds["Flower"] / seconds[2], case.targets["Flower"])
    models = bytes_of_a_round(engines[2])
    good &= judge("bytes per round and worker in models", models, MODELS, least=False)
    for who, taken in seconds.items():
        rows.append({"network": name, "owners": case.owners, "workers": who, "seconds": taken, "models": models})
    return good


def bytes_of_a_round(engine: Engine) -> float:
    """What goes over the wire of the worker with the most in a round, in models."""
    assert engine.shards is not None
    work = rounds_of(engine)
    work()
    before = [traffic.total for traffic in engine.shards.traffic]
    work()
    after = [traffic.total for traffic in engine.shards.traffic]
    return max(b - a for a, b in zip(before, after, strict=True)) / engine.model_bytes


def participation(options: argparse.Namespace) -> bool:
    """What a round of some owners costs, in rounds of all."""
    case = Case("small_cnn", (1, 28, 28), 10, ALL)
    engine = Engine(case.network, data_of(case, ALL), device="cpu", workers=2)
    rng, counts = np.random.default_rng(0), engine.data.capacities.astype(float)

    def some() -> object:
        used = np.zeros(ALL)
        chosen = rng.choice(ALL, round(SHARE * ALL), replace=False)
        used[chosen] = counts[chosen]
        return rounds_of(engine, used)()

    whole, part = timed(rounds_of(engine)), timed(some)
    whole(), part()
    times = [(whole(), part()) for _ in range(options.repeats)]
    ratio = float(np.median([t[1] for t in times]) / np.median([t[0] for t in times]))
    print(f"{SHARE:.0%} of {ALL} owners, small_cnn, two workers")
    return judge("a round of some in rounds of all", ratio, COST, least=False)


def memory(workers: int) -> float:
    """The most gigabytes that this process, its workers and Ray have together while many owners train for a round.

    Memory that processes share, as the object store is, counts once: PSS.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(256, size=(MANY * FEW, 1, 28, 28), dtype=np.uint8)
    y, offsets, tests = rng.integers(10, size=len(x)), np.arange(MANY + 1) * FEW, np.arange(MANY + 1)
    data = FederatedData("bytes", x, y, offsets, x[:MANY], y[:MANY], tests, 10)
    work = rounds_of(Engine("mlp", data, device="cpu", workers=workers))
    most, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            most[0] = max(most[0], together())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(most[0], together())


def together() -> float:
    """Gigabytes of this process and all that it has started."""
    total = 0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):  # ended meanwhile
            continue
    return total / 2**30


def memory_met() -> bool:
    """Print the memory of many owners; whether it is low enough."""
    print(f"{MANY} owners with mlp, {FEW} samples each")
    good = True
    for workers in (2, 4):
        command = [sys.executable, "-m", "tests.benchmarks.cluster", "--peak", str(workers)]
        found = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])
        if workers == 2:
            good &= judge("all processes and the object store", found, MOST, least=False, unit=" GB")
        else:
            print(f"  {workers} workers: {found:.2f} GB")
    return good


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=(*CASES, "memory", "participation"), nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-rivals", dest="rivals", action="store_false")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write what was measured as CSV")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.peak:
        print(memory(options.peak))
        return 0
    print(f"one thread per worker, load {os.getloadavg()[0]:.1f}, medians of {options.repeats}")
    began, good = time.perf_counter(), True
    rows: list[dict[str, object]] = []
    for name in options.only or (*CASES, "memory", "participation"):
        if name in CASES:
            good &= speed(name, options, rows)
        else:
            good &= memory_met() if name == "memory" else participation(options)
    if options.table:
        pd.DataFrame(rows).to_csv(options.table, index=False)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
