"""A Saltelli design of 8 parameters: 18,432 runs of 20 owners, and the same again after an interruption.

    python -m tests.benchmarks.sensitivity [--n 1024] [--workers 2] [--part time|resume]

Rule and curve parameters are among them, so that runs differ in the numbers of both; first, total and second order.
Time: the whole of `fedabm.sensitivity`, from nothing to indices.  Resume: the same design is interrupted after some
of its batches and gone on with; its indices are those of a design that was not.
Exit code 1 if it takes 90 s or longer with the usual n, or if indices differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import fedabm
from fedabm import Scenario, population, sensitivity
from fedabm.accuracy import PowerLaw
from fedabm.common.errors import Interrupted
from fedabm.mechanisms import ContributionSubsidy
from fedabm.strategies import BestResponse
from fedabm.sweep import SerialExecutor

OVER = (
    "cost=0.01:0.05:log, spread=1.5:20:log, capacity=5:20, rate=0:0.01, "
    "scale=0.5:1, exponent=0.5:2, offset=1:2, ceiling=1:1.5"
)
#: seconds that the whole design may take
BOUND = 90.0


def market(
    cost: float = 0.02,
    spread: float = 10.0,
    capacity: float = 10.0,
    rate: float = 0.005,
    scale: float = 1.0,
    exponent: float = 1.0,
    offset: float = 1.0,
    ceiling: float = 1.0,
    seed: int = 0,
) -> Scenario:
    """20 owners whose costs differ by a factor, who move towards their best responses until they rest."""
    rates = cost * spread ** np.random.default_rng(seed).uniform(0.0, 1.0, 20)
    curve = PowerLaw(scale, exponent, offset, ceiling)
    return Scenario(population(rates, capacity, BestResponse(0.4)), curve, ContributionSubsidy(rate), record=None)


class Impatient(SerialExecutor):
    """Ctrl-C comes after some batches."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.left = batches

    def submit(self, *work: Any, **more: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().submit(*work, **more)


def indices(folder: Path, n: int, **how: Any) -> Any:
    """What `fedabm.sensitivity` finds."""
    return sensitivity(market, OVER, "welfare,data", n=n, one_seed=True, out=folder, quiet=True, when="end", **how)


def timed(n: int, workers: int) -> bool:
    """From nothing to indices."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        found = indices(Path(folder), n, workers=workers)
        seconds = time.perf_counter() - began
        runs = fedabm.load(folder, columns={"runs": ["status", "stacked", "steps"]}).runs
    print(f"{found.runs:,} runs of 20 owners in {seconds:.1f} s on {workers} processes (at most {BOUND:g} s)")
    print(f"stepped together: {int(runs['stacked'].sum()):,}; at rest: {(runs['status'] != 'stopped').mean():.0%}")
    print(found.table().round(3).to_string())
    return seconds < BOUND or n > 1024


def resumed(n: int) -> bool:
    """Interrupted and gone on with: equal."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        whole = indices(Path(first), n, executor="serial")
        try:
            indices(Path(second), n, executor=Impatient(15))
        except Interrupted:
            done = len(fedabm.load(second, columns={"runs": ["status"]}).runs)
        again = indices(Path(second), n, executor="serial")
        equal = bool(again.indices.equals(whole.indices))
    print(f"interrupted after {done:,} of {whole.runs:,} runs and resumed: {'equal' if equal else 'DIFFERENT'}")
    return equal and 0 < done < whole.runs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", choices=("time", "resume"))
    options = parser.parse_args(arguments)
    good = True
    if options.part != "resume":
        good = timed(options.n, options.workers)
    if options.part != "time":
        good = resumed(options.n) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
