"""Sweeps: speed-up, overhead per run, memory and files, beside `mesa.batch_run` on the same model and design.

    python -m tests.benchmarks.sweep [--quick] [--only together|parameters]

Together: processor time per run and peak memory of a whole sweep of 10,000 closed-form runs of 20 owners that are
stepped together, in a process of its own, beside a sample of them run by run; frames of the sample are compared bit
for bit. Parameters: the same where rule and curve have other numbers in every run, beside a loop. Speed-up: runs that
compute for 0.2 s each, on one and on two workers that are already up. Overhead: wall time per run of a sweep in this
process less that of `Federation(...).run().frames()`. Memory: the peak of the leader's process, from 200 to 5,000
runs of a small Mesa model; Mesa's own batch runner does 1,000 of them; medians of three turns.
Exit code 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import atexit
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mesa
import numpy as np
import pandas as pd

import fedabm
from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, NoPayments
from fedabm.strategies import BestResponse
from fedabm.sweep import Grid, Seeds, Sobol, Span, Sweep
from fedabm.sweep.executors import LocalExecutor, SerialExecutor

NOTHING = NoPayments()


def busy(seed: int, seconds: float = 0.2) -> Scenario:
    """Computes for a fixed time of this process's own."""
    began = time.process_time()
    while time.process_time() - began < seconds:
        sum(range(1000))
    return short(seed)


def short(seed: int, mechanism: Mechanism = NOTHING, rate: float = 0.1) -> Scenario:
    """A run of a few milliseconds."""
    return Scenario(population([rate, 2 * rate, 3 * rate], 10.0), PowerLaw(), mechanism, steps=2, record=None)


def crowd(seed: int, mechanism: Mechanism = NOTHING) -> Scenario:
    """20 owners with costs of their own, who move half of the way to their best responses until they rest."""
    rates = np.random.default_rng(seed).uniform(0.01, 0.2, 20)
    return Scenario(population(rates, 10.0, BestResponse(0.4)), PowerLaw(), mechanism, record=None)


def crowds(runs: int) -> Sweep:
    """This many of them, under three mechanisms."""
    return Sweep(crowd, Grid(mechanism=[NoPayments(), ContributionSubsidy(0.02), CostSharing(0.3)]), -(-runs // 3))


def varied(rate: float, exponent: float, seed: int = 0) -> Scenario:
    """The same owners, with a rule and a curve whose numbers are those of the point of the design."""
    rates = np.random.default_rng(seed).uniform(0.01, 0.2, 20)
    people, curve = population(rates, 10.0, BestResponse(0.4)), PowerLaw(exponent=exponent)
    return Scenario(people, curve, ContributionSubsidy(rate), record=None)


def parameters(runs: int, sample: int = 60) -> dict[str, bool]:
    """Numbers of the rule and the curve differ in every run: milliseconds of a sweep beside those of a loop."""
    ranges = {"rate": Span(0.0, 0.1), "exponent": Span(0.5, 2.0)}
    sweep, folder = Sweep(varied, Sobol(ranges, runs), 1), fresh("parameters")
    jobs = sweep.jobs
    began = time.process_time()
    for job in jobs[:sample]:
        Federation(varied(**job.parameters, seed=job.seed), job.seed).run().frames()
    loop = 1e3 * (time.process_time() - began) / sample
    began = time.process_time()
    count = sweep.run(folder, SerialExecutor(), quiet=True)
    swept = 1e3 * (time.process_time() - began) / len(jobs)
    alone, stacked = fresh("some-alone"), fresh("some-together")
    few = Sweep(varied, Sobol(ranges, 32), 1)
    few.run(alone, SerialExecutor(), quiet=True, together=False)
    few.run(stacked, SerialExecutor(), quiet=True)
    print(f"parameters     {loop:.1f} ms per run in a loop, {swept:.2f} ms in a sweep ({len(jobs)} runs)", flush=True)
    return {
        f"runs with own numbers are {loop / swept:.1f} times as fast as a loop (at least 15)": loop >= 15 * swept,
        "none of them was done alone": not count.alone,
        "their frames are equal bit for bit, too": same(alone, stacked),
    }


class Drift(mesa.Model):
    """A small Mesa model: agents drift for 50 steps."""

    def __init__(self, agents: int = 20, pull: float = 0.1, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.pull = pull
        Drifter.create_agents(self, agents)
        self.datacollector = mesa.DataCollector(
            model_reporters={"mean": lambda model: sum(model.agents.get("place")) / len(model.agents)},
            agent_reporters={"place": "place"},
        )

    def step(self) -> None:
        """Everybody drifts."""
        self.agents.do("drift")
        self.datacollector.collect(self)
        self.running = self.steps < 50


class Drifter(mesa.Agent):
    """Drifts back to zero."""

    def __init__(self, model: mesa.Model) -> None:
        super().__init__(model)
        self.place = 0.0

    def drift(self) -> None:
        """A step back and a step at random."""
        self.place += self.model.rng.normal() - self.model.pull * self.place


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fresh(name: str) -> Path:
    """A new folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"sweep-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def speed_up(runs: int) -> float:
    """Throughput of two workers relative to one; starting them is not counted."""
    seconds = {}
    for workers in (1, 2):
        with LocalExecutor(workers) as pool:
            warm = fresh("warm")
            Sweep(busy, Grid(seconds=[0.5]), Seeds(workers, root=1)).run(warm, pool, quiet=True)
            folder = fresh(f"workers-{workers}")
            sweep = Sweep(busy, Grid(seconds=[0.2]), runs)
            seconds[workers] = timed(lambda sweep=sweep, folder=folder, pool=pool: sweep.run(folder, pool, quiet=True))
    print(f"speed-up       1 worker {runs / seconds[1]:.2f} runs/s, 2 workers {runs / seconds[2]:.2f} runs/s")
    return seconds[1] / seconds[2]


def overhead(runs: int) -> float:
    """Milliseconds per run that the sweep adds to the run itself and its frames."""
    sweep = Sweep(short, Grid(rate=[0.1]), runs)
    jobs = sweep.jobs
    alone = swept = math.inf
    for _ in range(3):  # in turn, and the best of each, as other work on the machine only adds
        seconds = timed(lambda: [Federation(short(job.seed, rate=0.1), job.seed).run().frames() for job in jobs])
        alone = min(alone, seconds)
        swept = min(swept, timed(lambda: sweep.run(fresh("overhead"), SerialExecutor(), quiet=True)))
    print(f"overhead       alone {1e3 * alone / runs:.1f} ms per run, in a sweep {1e3 * swept / runs:.1f} ms per run")
    return 1e3 * (swept - alone) / runs


def one_by_one(sample: int) -> tuple[float, bool]:
    """Processor time (ms) per run of a sweep that does one after the other; and whether they give the same together."""
    sweep, alone, stacked = crowds(sample), fresh("alone"), fresh("together")
    began = time.process_time()
    sweep.run(alone, SerialExecutor(), quiet=True, together=False)
    seconds = time.process_time() - began
    sweep.run(stacked, SerialExecutor(), quiet=True)
    return 1e3 * seconds / len(sweep.jobs), same(alone, stacked)


def same(one: Path, other: Path) -> bool:
    """Whether two sweeps have the same frames, but for wall time and how they were stepped."""
    first, second = fedabm.load(one), fedabm.load(other)
    pairs = ((getattr(first, name), getattr(second, name)) for name in ("runs", "steps", "owners", "transfers"))
    apart = ["wall_time", "stacked"]
    return all(a.drop(columns=apart, errors="ignore").equals(b.drop(columns=apart, errors="ignore")) for a, b in pairs)


def leader(kind: str, runs: int) -> dict[str, float]:
    """Seconds and peak memory (MiB) of a leader, or of Mesa's batch runner, in its own process."""
    command = [sys.executable, "-m", "tests.benchmarks.sweep", "--leader", kind, "--runs", str(runs)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def lead(kind: str, runs: int) -> None:
    """What such a process does."""
    if kind == "mesa":
        seeds = {"agents": 20, "pull": 0.1, "seed": list(range(runs))}
        work: Callable[[], Any] = lambda: mesa.batch_run(  # noqa: E731
            Drift, seeds, number_processes=2, data_collection_period=1, max_steps=50, display_progress=False
        )
    elif kind == "together":
        work = lambda: crowds(runs).run(fresh("crowd"), SerialExecutor(), quiet=True)  # noqa: E731
    else:
        sweep = Sweep(Drift, Grid(pull=[0.1]), runs)
        work = lambda: sweep.run(fresh("mesa"), "local", 2, quiet=True)  # noqa: E731
    began = time.process_time()
    seconds = timed(work)
    print(json.dumps({"seconds": seconds, "processor": time.process_time() - began, "peak": peak()}))


def peak() -> float:
    """The most memory (MiB) this process has held; `getrusage` would count what its parent held when it was started."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def files(runs: int) -> tuple[int, float]:
    """Files left by many short runs, and the seconds to open them and take a mean by mechanism."""
    folder = fresh("files")
    mechanisms = [NoPayments(), ContributionSubsidy(0.05)]
    Sweep(short, Grid(mechanism=mechanisms), runs // 2).run(folder, "local", 2, quiet=True)
    began = time.perf_counter()
    frames = fedabm.load(folder, columns={"runs": ["mechanism"], "owners": ["utility"]})
    means = frames.owners.merge(frames.runs, on="run").groupby("mechanism")["utility"].mean()
    seconds = time.perf_counter() - began
    count = sum(path.is_file() for path in folder.rglob("*"))
    print(
        f"files          {runs} runs leave {count} files; mean utility in {seconds:.2f} s: {means.round(4).to_dict()}"
    )
    return count, seconds


def main() -> int:
    """Print every figure and say which bounds are missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--only", choices=["together", "parameters"], help="this part alone")
    parser.add_argument("--leader", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.leader:
        lead(options.leader, options.runs)
        return 0
    points = 512 if options.quick else 4096
    if options.only:
        return report(parameters(points) if options.only == "parameters" else stacked(options.quick))
    first = stacked(options.quick) | parameters(points)
    few, many = (50, 500) if options.quick else (200, 5000)
    ratio, extra = speed_up(20 if options.quick else 60), overhead(100 if options.quick else 200)
    asked = (("sweep", few), ("sweep", many), ("sweep", many // 5), ("mesa", many // 5))
    turns = [{(kind, runs): leader(kind, runs) for kind, runs in asked} for _ in range(1 if options.quick else 3)]
    figures = {who: pd.DataFrame([turn[who] for turn in turns]).median() for who in asked}
    for (kind, runs), found in figures.items():
        said = f"{runs:>5} runs in {found['seconds']:7.1f} s, {1e3 * found['seconds'] / runs:.1f} ms per run"
        print(f"{kind:<14} {said}, peak of the leader {found['peak']:.0f} MiB", flush=True)
    growth = figures["sweep", many]["peak"] / figures["sweep", few]["peak"] - 1
    ours, theirs = (1e3 * figures[kind, many // 5]["seconds"] / (many // 5) for kind in ("sweep", "mesa"))
    count, seconds = files(many)
    bounds = {
        f"2 workers are {ratio:.2f} times as fast as 1 (at least 1.7)": ratio >= 1.7,
        f"overhead {extra:.1f} ms per run (at most 20)": extra <= 20,
        f"{ours:.1f} ms per run, not slower than mesa.batch_run ({theirs:.1f} ms)": ours <= theirs,
        f"memory of the leader grows by {growth:.1%} (at most 10%)": growth <= 0.1,
        f"{count} files (at most 64)": count <= 64,
        f"opened in {seconds:.2f} s (at most 10)": seconds <= 10,
    }
    return report(first | bounds)


def stacked(quick: bool) -> dict[str, bool]:
    """The bounds of runs that are stepped together."""
    runs = 1000 if quick else 10_000
    alone, equal = one_by_one(60)
    found = {count: leader("together", count) for count in (runs // 4, runs)}
    together = 1e3 * found[runs]["processor"] / runs
    ratio, growth = alone / together, found[runs]["peak"] / found[runs // 4]["peak"] - 1
    print(f"together       {alone:.1f} ms per run alone, {together:.2f} ms together ({runs} runs)", flush=True)
    return {
        f"runs together are {ratio:.1f} times as fast as one by one (at least 20)": ratio >= 20,
        "their frames are equal bit for bit": equal,
        f"memory grows by {growth:.1%} from {runs // 4} to {runs} runs (at most 10%)": growth <= 0.1,
    }


def report(bounds: dict[str, bool]) -> int:
    """Print which bounds are kept; 1 if one is not."""
    for what, kept in bounds.items():
        print(f"{'ok  ' if kept else 'MISS'} {what}")
    return 0 if all(bounds.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
