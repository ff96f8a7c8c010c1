"""Is this checkout slower than an older one?  `python -m tests.benchmarks.against 026ca4a`

The old commit is checked out beside this one.  Both, and the old one once more, take turns over a large population, a
stacked sweep, training and audits, each in a process of its own, in processor time of one thread; medians of all turns.
A case is missed if this checkout is slower by more than 10%, or by what the two takes of the old one differ, whichever
is more.  Exits with 1 if one is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from tests.benchmarks.against_cases import CASES
from tests.checkouts import ROOT, older, said_in

_CASES = Path(__file__).with_name("against_cases.py")
#: how much slower counts as slower, relatively
SLOWER = 0.1


def seconds_of(checkout: Path, case: str) -> float:
    """What a case costs in one checkout."""
    return float(said_in(checkout, _CASES, case))


def compare(case: str, old: Path, turns: int) -> bool:
    """Whether this checkout is about as fast as the old one, with a line that says how fast."""
    found: dict[str, list[float]] = {"old": [], "new": [], "old again": []}
    for _ in range(turns):
        for name, times in found.items():
            times.append(seconds_of(ROOT if name == "new" else old, case))
    medians = {name: statistics.median(times) for name, times in found.items()}
    base = min(medians["old"], medians["old again"])
    noise = max(medians["old"], medians["old again"]) / base - 1.0
    ratio = medians["new"] / statistics.mean([medians["old"], medians["old again"]])
    met = ratio <= 1.0 + max(SLOWER, noise)
    told = (
        f"{medians['old']:8.3f} s old, {medians['new']:8.3f} s new, ratio {ratio:.2f}, two takes of old {1 + noise:.2f}"
    )
    print(f"{case:32s} {told}  {'met' if met else 'MISSED'}", flush=True)
    return met


def main() -> int:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commit", help="the older one, of this repository")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="cases with this in their names")
    options = parser.parse_args()
    with older(options.commit) as old:
        met = [compare(case, old, options.turns) for case in CASES if options.only in case]
    print(f"{sum(met)} of {len(met)} met")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
