"""What does a federation of a million owners cost?  `python -m tests.benchmarks.population --owners 1000000`

Each mechanism is run in a process of its own: owners from arrays (three strategies by code), the federation, a few
steps and the certified gap.  NumPy's share is what it takes to draw and update the same arrays once: for the
construction all columns of the population, for a step those that it replaces.  Seconds are processor time, memory is
the peak of the whole process less what it had when the numbers were drawn.  The certified gap may take a few steps.
`--only "value shaping"` runs one rule.

Rules by Shapley values are run with a tenth of the owners, and under the same limits: what they miss is named.  Their
values are looked up in tables that all owners share (`fedabm.shapley.shared`), which takes about 60 passes over the
owners in a step: 8 to find everybody's cell and 12 to add up the moments of all cells, and as many to look up values at
settling and slopes for those who climb.  On their own, for 100,000 owners, these take about as long as NumPy needs for
the arrays that a step replaces, so that a step cannot cost less than without payments and one such time more.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

from fedabm import Federation, Scenario, population
from fedabm.common.random import generator
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    Mechanism,
    NoPayments,
    ProportionalData,
    ProportionalShapley,
    ShapleyShare,
    ValueShaping,
)
from fedabm.strategies import FixedShare, FreeRider, GradientResponse

__all__ = ["MANY", "compare", "measure"]

#: from how many owners on there is no comparison with as many Mesa agents
MANY = 100_000
#: construction and step in times of what NumPy needs, bytes per owner, and the proof of the gap in steps
LIMITS = {"build": 20.0, "step": 5.0, "memory": 1000.0, "gap": 10.0}
STEPS = 7
#: heads of the table and their widths
HEADS = {"build": 8, "NumPy": 8, "times": 7, "step": 9, "NumPy ": 8, "times ": 7, "B/owner": 9}
#: by name: the rule, and which share of the owners it is played with
RULES: dict[str, tuple[Mechanism, float]] = {
    "no payments": (NoPayments(), 1.0),
    "subsidy": (ContributionSubsidy(1e-4), 1.0),
    "cost sharing": (CostSharing(0.5), 1.0),
    "value shaping": (ValueShaping(), 1.0),
    "proportional data": (ProportionalData(0.5), 1.0),
    "Shapley shares": (ShapleyShare(), 0.1),
    "proportional Shapley": (ProportionalShapley(0.5), 0.1),
}


def compare(owners: int, only: str | None = None) -> int:
    """Measure every rule in a process of its own, print a table, and say whether the targets are met."""
    print(f"{'':<22}{'owners':>9}" + "".join(f"{head:>{width}}" for head, width in HEADS.items()))
    good = True
    for name, (_, share) in RULES.items():
        if only not in (None, name):
            continue
        command = [sys.executable, "-m", "tests.benchmarks.million", name, str(int(share * owners))]
        seen = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        build, step = seen["build"] / seen["drawn"], seen["step"] / seen["updated"]
        proof = seen["gap_seconds"] / seen["step"]
        figures = {"build": build, "step": step, "memory": seen["bytes"], "gap": proof}
        missed = [what for what, figure in figures.items() if figure > LIMITS[what]]
        row = f"{name:<22}{seen['owners']:>9}{seen['build']:>8.3f}{seen['drawn']:>8.3f}{build:>7.1f}"
        row += f"{seen['step']:>9.3f}{seen['updated']:>8.3f}{step:>7.1f}{seen['bytes']:>9.0f}"
        word = f"MISSED: {', '.join(missed)}" if missed else "met"
        print(f"{row}  gap {seen['gap']:.2g} proven in {proof:.1f} steps  {word}", flush=True)
        good &= not missed
    wanted = "build at most {build:g} times, step at most {step:g} times, {memory:g} bytes, gap within {gap:g} steps"
    print("wanted: " + wanted.format(**LIMITS))
    return 0 if good else 1


def measure(name: str, owners: int) -> dict[str, float]:
    """Seconds and bytes of one rule."""
    rng = generator(0, "population")
    costs, capacities = rng.uniform(1e-4, 1e-3, owners), rng.uniform(5.0, 10.0, owners)
    codes = rng.integers(3, size=owners)
    strategies = [GradientResponse(10.0 / owners), FixedShare(0.5), FreeRider()]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    people = population(costs, capacities, strategies, codes=codes)
    model = Federation(Scenario(people, PowerLaw(), RULES[name][0], steps=2 * STEPS, tolerance=0.0, record=None))
    build = time.process_time() - began
    drawn = drawing(len(columns(model)), owners)
    steps, updates = [], []
    for _ in range(STEPS):
        known = columns(model)
        began = time.process_time()
        model.step()
        steps.append(time.process_time() - began)
        changed = [key for key, column in columns(model).items() if column is not known.get(key)]
        updates.append(drawing(len(changed), owners))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    gap = model.gap
    seconds = time.process_time() - began
    unit = 1 if sys.platform == "darwin" else 1024
    figures = {"build": build, "drawn": drawn, "step": float(np.median(steps)), "updated": float(np.median(updates))}
    return {**figures, "owners": owners, "bytes": (peak - before) * unit / owners, "gap": gap, "gap_seconds": seconds}


def columns(model: Federation) -> dict[str, np.ndarray]:
    """The columns that the population keeps."""
    people = model.population
    held = {name: part for name, part in vars(people).items() if isinstance(part, np.ndarray) and part.ndim}
    parts = {f"cost {k}": part for k, part in enumerate(people.cost.columns)}
    return held | parts | {f"claimed cost {k}": part for k, part in enumerate(people.claimed_cost.columns)}


def drawing(count: int, owners: int) -> float:
    """Seconds that NumPy needs to draw this many columns of numbers and to update each."""
    rng, column = generator(0, "population"), np.zeros(owners)
    began = time.process_time()
    for _ in range(count):
        column = column + rng.random(owners)
    return time.process_time() - began


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
