"""Deviations at once against one `settle` each: python -m tests.benchmarks.audit

10,000 deviations of one owner among 30: 100 claims for each of 100 statements of cost and size where the rule reads
them, 10,000 claims where it does not.  The time of settling one by one is measured on some of them and scaled up; all
of those must agree.  Exits with 1 if a rule is less than 50 times faster.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from fedabm import Game
from fedabm.auditing.deviations import Lies
from fedabm.auditing.evaluate import one_by_one, reads, utilities
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import (
    Clarke,
    ContributionSubsidy,
    CostSharing,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
    TullockContest,
    ValueShaping,
)

OWNERS, DEVIATIONS, SAMPLE, WANTED = 30, 10_000, 200, 50
RULES: tuple[Mechanism, ...] = (
    NoPayments(),
    ContributionSubsidy(0.01),
    CostSharing(0.3),
    ShapleyShare(),
    PartialReciprocity(0.5),
    ProportionalData(1.0),
    ProportionalValue(1.0),
    ProportionalShapley(1.0),
    ValueShaping(),
    Screening(0.01, 0.05, 0.4),
    Clarke(),
    LeaveOneOut(),
    TullockContest(0.5),
)


def lies_of(stage: Stage, owner: int) -> Lies:
    """The deviations, in random order."""
    rng, capacity = np.random.default_rng(1), float(stage.capacities[owner])
    statement = np.repeat(np.arange(100), DEVIATIONS // 100)
    columns = {"contribution": capacity * rng.uniform(0.0, 1.0, DEVIATIONS)}
    seen = reads(stage)
    if "cost" in seen:
        columns["cost"] = np.linspace(0.0, 4.0, 100)[statement]
    if "size" in seen:
        columns["size"] = capacity * np.linspace(1.0, 2.0, 100)[statement]
    top = columns.get("size", np.full(DEVIATIONS, 2.0 * capacity))
    columns["claim"] = top * rng.uniform(0.0, 1.0, DEVIATIONS)
    order = rng.permutation(DEVIATIONS)
    return Lies.of(stage, owner, DEVIATIONS, **{name: column[order] for name, column in columns.items()})


def main() -> None:
    """One line per rule."""
    rng = np.random.default_rng(0)
    costs, profile = rng.uniform(0.01, 0.05, OWNERS), rng.uniform(0.0, 10.0, OWNERS)
    print(f"{OWNERS} owners, {DEVIATIONS:,} deviations of one of them; CPU seconds")
    print(f"{'rule':<22}{'at once':>10}{'one by one':>12}{'times faster':>14}")
    slowest = np.inf
    for rule in RULES:
        stage = Stage.of(Game(PowerLaw(), costs, 20.0, rule), profile=profile)
        lies = lies_of(stage, 3)
        began = time.process_time()
        at_once = utilities(stage, 3, lies)
        batch = time.process_time() - began
        some = Lies(*(getattr(lies, name)[:SAMPLE] for name in lies.__dataclass_fields__))
        began = time.process_time()
        each = one_by_one(stage, 3, some)
        single = (time.process_time() - began) * DEVIATIONS / SAMPLE
        np.testing.assert_allclose(at_once[:SAMPLE], each, rtol=1e-7, atol=1e-9)
        slowest = min(slowest, single / batch)
        print(f"{type(rule).__name__:<22}{batch:>10.3f}{single:>12.1f}{single / batch:>14.0f}", flush=True)
    print(f"least: {slowest:.0f} times faster; wanted {WANTED}")
    sys.exit(slowest < WANTED)


if __name__ == "__main__":
    main()
