"""Is this checkout slower than an older one?  `python -m tests.benchmarks.against 026ca4a`

The old commit is checked out beside this one.  Both, and the old one once more, take turns over a large population, a
stacked sweep, training and audits, each in a process of its own, in processor time of one thread; medians of all turns.
A case is missed if this checkout is slower by more than 10%, or by what the two takes of the old one differ, whichever
is more.  Exits with 1 if one is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.against_cases import CASES

ROOT = Path(__file__).parents[2]
_CASES = Path(__file__).with_name("against_cases.py")
#: how much slower counts as slower, relatively
SLOWER = 0.1


def seconds_of(checkout: Path, case: str) -> float:
    """What a case costs in one checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    words = [sys.executable, "-P", str(_CASES), case]
    done = subprocess.run(words, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case} in {checkout} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return float(done.stdout)


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
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        subprocess.run(
            ["git", "-C", str(ROOT), "worktree", "add", "-q", "--detach", str(old), options.commit], check=True
        )
        try:
            met = [compare(case, old, options.turns) for case in CASES if options.only in case]
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(old)], check=True)
    print(f"{sum(met)} of {len(met)} met")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
