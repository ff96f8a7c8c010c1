"""How fast is a round of local training?  `python -m tests.benchmarks.training`

This engine, a plain loop, Flower's simulation and pfl-research on the same work: 50 random samples per owner, batches
of 10, one epoch, plain SGD.  They take turns in every repeat, so that whatever else the machine does hits them alike;
medians are compared.  A turn is as many rounds as begin within `--turn` seconds, and counts by their mean: whoever
comes after another finds a cold machine, and all have the same time to warm it.  With `--turn 0` a turn is one round.
"limit" is the same number of samples through one model in large batches: what the machine itself allows.  With
`--before DIR` the engine of another checkout takes its turns, too, and may not be faster.  Then the peak memory of two
large rounds, each in a process of its own.  Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from fedabm.common.random import Streams, generator
from fedabm.data.federated import FederatedData
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.networks import build
from fedabm.learning.engine.optimisers import SGD
from tests.benchmarks.rivals import PACKAGES, Rival, default_folder

SAMPLES, BATCH, RATE, LARGE_BATCH = 50, 10, 0.01, 250
#: how much slower than another checkout a round may seem before it counts as slower: two runs of one and the same
#: checkout differ by that
NOISE = 0.05
Timer = Callable[[], float]


@dataclass(frozen=True)
class Case:
    """A network, its owners, and how many times faster than others (or how near to the limit) it must be."""

    network: str
    shape: tuple[int, ...]
    classes: int
    owners: int
    targets: dict[str, float] = field(default_factory=dict)


CASES = {
    "tiny": Case("tiny_mlp", (20,), 2, 100, {"pfl": 30}),
    "logistic": Case("logistic", (784,), 10, 100),
    "mlp": Case("mlp", (784,), 10, 100, {"pfl": 5, "Flower": 20}),
    "small_cnn": Case("small_cnn", (1, 28, 28), 10, 30, {"pfl": 1.8, "Flower": 1.8}),
    "cifar_cnn": Case("cifar_cnn", (3, 32, 32), 10, 25, {"pfl": 1.3, "Flower": 1.2, "limit": 0.9}),
}
#: owners and most gigabytes of a round
MEMORY = {"cifar_cnn": (100, 6.0), "mlp": (1000, 4.0)}


def name_of(case: Case) -> str:
    """What a case is called."""
    return next(name for name, one in CASES.items() if one is case)


def data_of(case: Case, owners: int, samples: int = SAMPLES) -> FederatedData:
    """Random samples of the right shape."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((owners * samples, *case.shape), dtype=np.float32)
    y = rng.integers(case.classes, size=len(x))
    offsets, tests = np.arange(owners + 1) * samples, np.arange(owners + 1)
    return FederatedData("random", x, y, offsets, x[:owners], y[:owners], tests, case.classes)


def timed(work: Callable[[], object]) -> Timer:
    """The seconds that something takes."""

    def seconds() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return seconds


def turn(timer: Timer, seconds: float) -> float:
    """The mean of as many rounds as begin within this many seconds, and of one at least."""
    times = [timer()]
    while sum(times) < seconds:
        times.append(timer())
    return float(np.mean(times))


def engine_round(case: Case, data: FederatedData) -> Callable[[], object]:
    """One round of this engine."""
    engine = Engine(case.network, data, device="cpu")
    streams = Streams(generator(0, "training", owner) for owner in range(data.owners))
    start, counts = engine.initial(0), data.capacities
    return lambda: engine.train(start, counts, epochs=1, batch=BATCH, optimiser=SGD(RATE), streams=streams)


def loop_round(case: Case, data: FederatedData, batch: int, restart: bool) -> Callable[[], object]:
    """One round of a plain loop over owners, or (without restart) one pass of one model over everything."""
    network = build(case.network, case.shape, case.classes)
    start = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    x, y = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
    parts = torch.arange(len(y)).split(SAMPLES if restart else len(y))

    def work() -> None:
        for part in parts:
            network.load_state_dict(start)
            optimiser = torch.optim.SGD(network.parameters(), lr=RATE)
            for rows in part[torch.randperm(len(part))].split(batch):
                loss = torch.nn.functional.cross_entropy(network(x[rows]), y[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()

    return work


def rival_timers(case: Case, data: FederatedData, options: argparse.Namespace, place: Path) -> dict[str, Rival]:
    """The rivals' processes; one that cannot be had is told and left out."""
    found = {} if options.before is None else {"before": Rival.before(options.before, name_of(case), options.threads)}
    torch.save(build(case.network, case.shape, case.classes), place / "network.pt")
    shape = (data.owners, SAMPLES)
    np.savez(place / "data.npz", x=data.x_train.reshape(*shape, *case.shape), y=data.y_train.reshape(shape))
    for name in PACKAGES if options.rivals else ():
        try:
            found[name] = Rival.of(name, options.folder, place / "network.pt", place / "data.npz", options.threads)
            found[name].seconds()
        except RuntimeError as reason:
            print(f"  {name} is left out: {reason}")
            if name in found:
                found.pop(name).close()
    return found


def measure(case: Case, options: argparse.Namespace) -> dict[str, float]:
    """Median seconds of a round."""
    data = data_of(case, case.owners)
    timers = {
        "fedabm": timed(engine_round(case, data)),
        "plain loop": timed(loop_round(case, data, BATCH, restart=True)),
        "limit": timed(loop_round(case, data, LARGE_BATCH, restart=False)),
    }
    with tempfile.TemporaryDirectory() as place:
        rivals = rival_timers(case, data, options, Path(place))
        try:
            timers |= {name: rival.seconds for name, rival in rivals.items()}
            for timer in timers.values():
                timer()
            times = {name: [] for name in timers}  # type: dict[str, list[float]]
            for _ in range(options.repeats):
                for name, timer in timers.items():
                    times[name].append(turn(timer, options.turn))
        finally:
            for rival in rivals.values():
                rival.close()
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def report(name: str, case: Case, seconds: dict[str, float]) -> bool:
    """Print a case; whether its targets are met (a target without its rival is not judged)."""
    ours = seconds["fedabm"]
    print(f"{name}: {case.owners} owners, {case.network} {case.shape}")
    for who, taken in seconds.items():
        row = f"  {who:<11}{1e3 * taken:>9.1f} ms{case.owners / taken:>10.0f} owners/s"
        row += f"{seconds['limit'] / taken:>8.0%} of the limit"
        print(row + ("" if who == "fedabm" else f"{taken / ours:>8.1f} x"))
    good = True
    for who, factor in case.targets.items():
        if who in seconds:
            met = seconds[who] / ours >= factor
            wanted = f"{factor:.0%} of the limit" if who == "limit" else f"{factor:g} times {who}"
            print(f"  {'met' if met else 'MISSED'}: at least {wanted}, got {seconds[who] / ours:.2f}")
            good &= met
        else:
            print(f"  not judged: {factor:g} times {who}")
    if "before" in seconds:
        met = seconds["before"] / ours >= 1 - NOISE
        print(f"  {'met' if met else 'MISSED'}: not slower than before, got {seconds['before'] / ours:.2f}")
        good &= met
    return good


def peak(name: str) -> float:
    """Gigabytes at most in this process, after a round of many owners."""
    engine_round(CASES[name], data_of(CASES[name], MEMORY[name][0]))()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


def memory() -> bool:
    """Print the peaks; whether they are low enough."""
    good = True
    for name, (owners, most) in MEMORY.items():
        command = [sys.executable, "-m", "tests.benchmarks.training", "--peak", name]
        found = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        met = found < most
        print(f"{'met' if met else 'MISSED'}: {owners} owners x {name} below {most:g} GB, got {found:.2f}")
        good &= met
    return good


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CASES, nargs="*", default=list(CASES))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--turn", type=float, default=0.5, metavar="SECONDS", help="how long a turn is, at least")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--folder", type=Path, default=default_folder(), help="where the rivals' environments are")
    parser.add_argument("--before", type=Path, metavar="DIR", help="another checkout, to be compared with")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false")
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument("--peak", choices=MEMORY, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(peak(options.peak))
        return 0
    if options.before and not (options.before / "tests/benchmarks/training.py").is_file():
        parser.error(f"--before must be a checkout of this project, got {options.before}; git clone one")
    if options.repeats < 1 or options.turn < 0:
        parser.error(f"one repeat or more of 0 seconds or more, got {options.repeats} of {options.turn:g}; give more")
    torch.set_num_threads(options.threads)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("broken off"))
    turns = f"medians of {options.repeats} turns of {options.turn:g} s"
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}, {turns}")
    good = True
    for name in options.only:
        good &= report(name, CASES[name], measure(CASES[name], options))
    return 0 if (memory() if options.memory else True) and good else 1


if __name__ == "__main__":
    sys.exit(main())
