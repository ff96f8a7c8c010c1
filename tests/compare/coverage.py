"""How often the 95% intervals of `compare` hold the truth, and those of its rule for the number of seeds.

    python -m tests.compare.coverage --studies 1000

A study is a paired difference with noise that is drawn here, independent from seed to seed: normal, exponential or
lognormal (sigma 1, skewness 6.2), so that the true mean is known.  What is judged is how far the interval reaches as it
stands in the table of differences; `test_seeds` compares it with that table.  Beside our rule stands a naive one, which
adds seed by seed until Student's interval of all of them is narrow enough.  Ends with code 1 where a share is out of
bounds: normal noise within 93 to 97%, lognormal noise at least 90% with 20 seeds, and refused with 3.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedabm.common.confidence import ConfidenceIntervals, Noise, half_width
from fedabm.common.until import Until, until
from fedabm.games.curves import Array

#: noise of so many seeds, and its mean
SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], Array], float]] = {
    "normal": (lambda rng, seeds: rng.normal(size=seeds), 0.0),
    "exponential": (lambda rng, seeds: rng.exponential(size=seeds), 1.0),
    "lognormal": (lambda rng, seeds: rng.lognormal(size=seeds), float(np.exp(0.5))),
}
MOST = 5000


@dataclass(frozen=True)
class Case:
    """A shape of noise, what is known of it, which seeds, and between which shares the truth must be covered."""

    shape: str
    known: Noise
    seeds: int | str
    low: float = 0.0
    high: float = 1.0
    refused: bool = False

    def __str__(self) -> str:
        known = "said to be normal" if self.known == "normal" else "not known"
        return f"{self.shape} noise, {known}, {self.seeds}{' seeds' if isinstance(self.seeds, int) else ''}"


CASES = (
    *(Case("normal", "normal", seeds, 0.93, 0.97) for seeds in (3, 5, 20)),
    Case("normal", "unknown", 3, refused=True),
    Case("normal", "unknown", 10),
    Case("normal", "unknown", 20, 0.93, 0.97),
    Case("exponential", "unknown", 20, 0.9),
    Case("lognormal", "unknown", 3, refused=True),
    Case("lognormal", "unknown", 10),
    Case("lognormal", "unknown", 20, 0.9),
    *(Case("normal", "normal", f"until 0.3 from {first}", 0.93, 0.97) for first in (3, 5, 20)),
    Case("normal", "unknown", "until 0.3 from 20", 0.93),
    Case("exponential", "unknown", "until 0.3 from 20", 0.9),
    Case("lognormal", "unknown", "until 0.6 from 20", 0.9),
    *(Case("normal", "normal", f"naively until 0.3 from {first}") for first in (3, 5, 20)),
)


@dataclass(frozen=True)
class Covered:
    """In how many studies there was an interval, in what share of these it held the truth, and their mean seeds."""

    shown: int
    share: float
    seeds: float


def study(case: Case, number: int) -> tuple[int, float, float]:
    """One study: its seeds, its mean, and how far its interval reaches."""
    rng, draw = np.random.default_rng([number, *case.shape.encode()]), SHAPES[case.shape][0]
    if isinstance(case.seeds, int):
        values = draw(rng, case.seeds)
        return case.seeds, float(values.mean()), ConfidenceIntervals(case.known).half(values)
    values = draw(rng, MOST)
    if case.seeds.startswith("naively "):
        return naive(Until.read(case.seeds.removeprefix("naively ")), values)
    rule = Until.read(f"{case.seeds} at most {MOST}")
    found = until(rule, case.known, lambda seeds: [values[:seeds]])
    seeds = found.stages[-1]
    return seeds, float(values[:seeds].mean()), found.intervals.half(values[:seeds])


def naive(rule: Until, values: Array) -> tuple[int, float, float]:
    """What a rule comes to that looks after every seed."""
    for seeds in range(rule.begins("normal"), len(values)):
        half = float(half_width(values[:seeds].std(ddof=1), seeds))
        if half <= rule.width:
            break
    return seeds, float(values[:seeds].mean()), half


def covered(case: Case, studies: int) -> Covered:
    """Run the studies of a case."""
    truth = SHAPES[case.shape][1]
    found = [study(case, number) for number in range(studies)]
    held = [abs(mean - truth) <= half for _, mean, half in found if np.isfinite(half)]
    return Covered(
        len(held), float(np.mean(held)) if held else np.nan, float(np.mean([seeds for seeds, _, _ in found]))
    )


def wrong(case: Case, found: Covered, studies: int) -> bool:
    """Whether a case is out of its bounds."""
    if case.refused:
        return found.shown > 0
    return found.shown < studies or not case.low <= found.share <= case.high


def main() -> int:
    """All cases, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    studies, bad = parser.parse_args().studies, 0
    for case in CASES:
        found = covered(case, studies)
        out = wrong(case, found, studies)
        bad += out
        what = f"{found.share:.1%} covered" if found.shown else "no interval"
        some = "" if found.shown in (0, studies) else f" in {found.shown} of {studies} studies"
        print(f"{case}: {what}{some}, {found.seeds:.0f} seeds{'  OUT OF BOUNDS' if out else ''}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
