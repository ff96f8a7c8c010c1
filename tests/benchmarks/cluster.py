"""How fast is one federation on several workers?  `python -m tests.benchmarks.cluster`

A round of FedAvg, training and sum, with one thread per worker: no cluster, one worker, two workers, and Flower's Ray
simulation with two actors, all on the same work in one run, taking turns as in `training`; medians are compared.  Then
the bytes that go over each worker's wire in a round, by number of owners and rule, and from how many owners on a second
worker pays; what a round of 30% of 500 owners costs; and the memory of 10,000 owners.  Flower is set up in an
environment of its own (`rivals`), as its pins clash with ours.  Exits with 1 if a target is missed; `--only` takes some
of the parts, and `--table FOLDER` writes what was measured, which `fedabm run scale_study` shows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil
import torch

from fedabm.common.cores import cores
from fedabm.data.federated import FederatedData
from fedabm.learning import SGD, CoordinateMedian, Engine, Recipe
from fedabm.learning.engine.networks import build
from fedabm.learning.rules.rounds import one_round
from tests.benchmarks.rivals import Rival, default_folder
from tests.benchmarks.training import BATCH, RATE, SAMPLES, Case, Timer, data_of, timed, turn

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
#: networks and numbers of owners for which it is found when a second worker pays
NETWORKS = {"tiny_mlp": (20,), "mlp": (784,), "small_cnn": (1, 28, 28)}
OWNERS = (4, 16, 64, 256)
PARTS = (*CASES, "wire", "participation", "memory")
NONE, ONE, TWO, FLOWER = "no cluster, 1 thread", "1 worker", "2 workers", "Flower, 2 actors"


class Rows(NamedTuple):
    """What was measured."""

    seconds: list[dict[str, object]]
    wire: list[dict[str, object]]
    memory: list[dict[str, object]]


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


@contextlib.contextmanager
def others_told() -> Iterator[None]:
    """Say afterwards how much of the processors others had meanwhile: that decides what a second worker gains."""
    began, ours, all_of_it = time.perf_counter(), of_ours(), busy()
    yield
    share = (busy() - all_of_it - (of_ours() - ours)) / (cores() * (time.perf_counter() - began))
    print(f"  others had {max(share, 0.0):.0%} of the processors meanwhile")


def busy() -> float:
    """Processor seconds of everybody since the machine started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def of_ours() -> float:
    """Processor seconds of this process and all that it has started and that still runs."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += sum(process.cpu_times()[:2])
    return total


def medians(timers: dict[str, Timer], options: argparse.Namespace) -> dict[str, float]:
    """Median seconds of a round; all take turns."""
    for timer in timers.values():
        timer()
    times: dict[str, list[float]] = {who: [] for who in timers}
    with others_told():
        for _ in range(options.repeats):
            for who, timer in timers.items():
                times[who].append(turn(timer, options.turn))
    return {who: float(np.median(taken)) for who, taken in times.items()}


def all_threads(case: Case, data: FederatedData) -> Engine:
    """An engine without a cluster that trains on all cores, as engines do if nobody says otherwise."""
    torch.set_num_threads(cores())
    try:
        return Engine(case.network, data, device="cpu")
    finally:
        torch.set_num_threads(1)


def speed(name: str, options: argparse.Namespace, rows: Rows) -> bool:
    """Seconds of a round with none, one and two workers; whether the targets are met."""
    case = CASES[name]
    data = data_of(case, case.owners)
    engines = {
        NONE: Engine(case.network, data, device="cpu"),
        f"no cluster, {cores()} threads": all_threads(case, data),
    }
    engines |= {who: Engine(case.network, data, device="cpu", workers=n) for who, n in ((ONE, 1), (TWO, 2))}
    timers = {who: timed(rounds_of(engine)) for who, engine in engines.items()}
    with tempfile.TemporaryDirectory() as place:
        other = rival(case, data, Path(place)) if options.rivals else None
        try:
            timers |= {} if other is None else {FLOWER: other.seconds}
            seconds = medians(timers, options)
        finally:
            if other is not None:
                other.close()
    print(f"{name}: {case.owners} owners")
    for who, taken in seconds.items():
        print(f"  {who:<24}{taken:>8.3f} s")
        rows.seconds.append({"network": name, "owners": case.owners, "where": who, "seconds": round(taken, 4)})
    good = judge("two workers in times of one", seconds[ONE] / seconds[TWO], FASTER)
    good &= judge("one worker in seconds of no cluster", seconds[ONE] / seconds[NONE], SLOWER, least=False)
    if FLOWER in seconds:
        good &= judge("times Flower", seconds[FLOWER] / seconds[TWO], case.targets["Flower"])
    models = bytes_of_a_round(engines[TWO], rounds_of(engines[TWO]))
    return good & judge("bytes per round and worker in models", models, MODELS, least=False)


def wire(options: argparse.Namespace, rows: Rows) -> bool:
    """From how many owners on a second worker pays, and what goes over the wire by rule and number of owners."""
    short = argparse.Namespace(repeats=options.repeats, turn=0.2)
    for network, shape in NETWORKS.items():
        for owners in OWNERS:
            case = Case(network, shape, 10, owners)
            data = data_of(case, owners)
            spread, alone = (Engine(network, data, device="cpu", workers=workers) for workers in (2, None))
            timers = {who: timed(rounds_of(engine)) for who, engine in ((NONE, alone), (TWO, spread))}
            seconds = medians(timers, short)
            models = {what: bytes_of_a_round(spread, work) for what, work in exchanges(spread).items()}
            found = {"network": network, "weights": spread.size, "owners": owners}
            print(f"{network}, {owners} owners: two workers {seconds[NONE] / seconds[TWO]:.2f} times as fast as none")
            for what, number in models.items():
                print(f"  {what:<28}{number:>9.2f} models per round and worker")
                rows.wire.append(found | {"exchange": what, "models": round(number, 2)})
            for who, taken in seconds.items():
                rows.seconds.append({"network": network, "owners": owners, "where": who, "seconds": round(taken, 4)})
    return True


def exchanges(engine: Engine) -> dict[str, Callable[[], object]]:
    """Rounds whose owners' updates become a sum, a median, or models of their own."""
    start, everything = engine.initial(0), engine.data.capacities.astype(float)
    some = np.random.default_rng(0).integers(1, SAMPLES + 1, engine.data.owners).astype(float)
    median = replace(RECIPE, rule=CoordinateMedian())
    return {
        "sum, equal data": rounds_of(engine),
        "sum, unequal data": rounds_of(engine, some),
        "median": lambda: one_round(engine, start, everything, median, 0, 0, keep=False),
        "a model per owner": lambda: engine.train(start.expand(len(everything), -1), everything, epochs=1),
    }


def bytes_of_a_round(engine: Engine, work: Callable[[], object]) -> float:
    """What goes over the wire of the worker with the most in a round, in models."""
    assert engine.shards is not None
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

    seconds = medians({"all": timed(rounds_of(engine)), "some": timed(some)}, options)
    taken = ", ".join(f"{who} {one:.3f} s" for who, one in seconds.items())
    print(f"{SHARE:.0%} of {ALL} owners, small_cnn, two workers: {taken}")
    return judge("a round of some in rounds of all", seconds["some"] / seconds["all"], COST, least=False)


class Peak(NamedTuple):
    """The most gigabytes: of this process and all that it has started, of all workers, and of the largest of them."""

    together: float
    workers: float
    largest: float


def memory(workers: int) -> Peak:
    """The most memory in a round in which many owners train: the median of five rounds.

    What processes share, as the object store is, counts once: PSS.  How long a passing buffer lives is chance, so that
    the highest moment of one round differs by a third from that of the next.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(256, size=(MANY * FEW, 1, 28, 28), dtype=np.uint8)
    y, offsets, tests = rng.integers(10, size=len(x)), np.arange(MANY + 1) * FEW, np.arange(MANY + 1)
    data = FederatedData("bytes", x, y, offsets, x[:MANY], y[:MANY], tests, 10)
    engine = Engine("mlp", data, device="cpu", workers=workers)
    assert engine.shards is not None
    processes, work = set(engine.shards.pool.processes()), rounds_of(engine)
    rounds = [highest(work, processes) for _ in range(5)]
    return Peak(*(statistics.median(one) for one in zip(*rounds, strict=True)))


def highest(work: Callable[[], object], processes: set[int]) -> Peak:
    """The most memory while a piece of work is done."""
    found, done = [now(processes)], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            found.append(now(processes))

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return Peak(*(max(one) for one in zip(*found, strict=True)))


def now(workers: set[int]) -> Peak:
    """Gigabytes at the moment."""
    sizes = {}
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):  # ended meanwhile
            sizes[process.pid] = process.memory_full_info().pss / 2**30
    theirs = [size for process, size in sizes.items() if process in workers]
    return Peak(sum(sizes.values()), sum(theirs), max(theirs, default=0.0))


def memory_met(rows: Rows) -> bool:
    """Print the memory of many owners; whether it is low enough."""
    print(f"{MANY} owners with mlp, {FEW} samples each")
    peaks = {}
    for workers in (1, 2, 4):
        command = [sys.executable, "-m", "tests.benchmarks.cluster", "--peak", str(workers)]
        words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
        found = peaks[workers] = Peak(*map(float, words.split()))
        each = f"{found.workers / workers:.2f} GB a worker, {found.largest:.2f} GB the largest"
        print(f"  {workers} workers: {found.together:.2f} GB in all, {each}")
        rows.memory.append({"owners": MANY, "workers": workers} | {k: round(v, 3) for k, v in found._asdict().items()})
    good = judge("all processes and the object store", peaks[2].together, MOST, least=False, unit=" GB")
    for few, many in ((1, 2), (2, 4)):
        words, less = f"memory per worker of {many} in that of {few}", few / many
        good &= judge(words, less * peaks[many].workers / peaks[few].workers, 1.0, least=False)
    return good


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--turn", type=float, default=1.0, metavar="SECONDS", help="how long a turn is, at least")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false")
    parser.add_argument("--table", type=Path, metavar="FOLDER", help="write what was measured as CSV")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.peak:
        print(*memory(options.peak))
        return 0
    turns = f"medians of {options.repeats} turns of {options.turn:g} s"
    print(f"{cores()} cores, one thread per worker, load {os.getloadavg()[0]:.1f}, {turns}")
    began, good, rows = time.perf_counter(), True, Rows([], [], [])
    for name in options.only:
        if name in CASES:
            good &= speed(name, options, rows)
        elif name == "wire":
            good &= wire(options, rows)
        else:
            good &= memory_met(rows) if name == "memory" else participation(options)
    if options.table:
        options.table.mkdir(parents=True, exist_ok=True)
        for name, kept in rows._asdict().items():
            if kept:
                pd.DataFrame(kept).to_csv(options.table / f"cluster_{name}.csv", index=False)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
