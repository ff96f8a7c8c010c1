"""Coverage of calibrations, over pilots whose truth is known.

    python -m tests.calibration.pilots --pilots 400

Truths are drawn at random from the families that are fitted: power laws and PAC bounds, with 12 noisy points.  The
whole true curve has to lie in the band of 95% up to three times the pilot's largest size, each point in its own; pilots
of a logarithm, which is of no family, have to be refused or flagged.  Ends with code 1 where a count is out of bounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedabm import InputError, calibrate
from fedabm.accuracy import PacBound, PowerLaw

POINTS, REACH = 12, 3.0


@dataclass(frozen=True)
class Covered:
    """What became of a pilot: the whole curve inside, the share of points inside, flagged or refused."""

    whole: bool
    points: float
    flagged: bool


def truth(rng: np.random.Generator) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """A curve of a family, three in four a power law, and the sizes of its pilot."""
    largest = 10 ** rng.uniform(2, 5)
    sizes = largest * np.geomspace(rng.uniform(0.01, 0.05), 1, POINTS)
    if rng.random() < 0.75:
        ceiling, exponent, offset = rng.uniform(0.7, 0.99), rng.uniform(0.3, 1.5), largest * 10 ** rng.uniform(-2, -0.5)
        scale = (ceiling - rng.uniform(0.0, 0.5)) * offset**exponent
        return PowerLaw(scale, exponent, offset, ceiling).curve, sizes
    sizes *= 1e5 / largest  # with less data a PAC bound says nothing
    return PacBound(rng.uniform(0.8, 1.0), 1e5 * 10 ** rng.uniform(-4.5, -3.0)).curve, sizes


def logarithm(rng: np.random.Generator) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """A curve of no family."""
    start, slope, largest = rng.uniform(0.2, 0.5), rng.uniform(0.03, 0.12), 10 ** rng.uniform(2, 5)
    sizes = largest * np.geomspace(rng.uniform(0.01, 0.05), 1, POINTS)
    return lambda x: start + slope * np.log(x / (0.01 * largest)), sizes


def noise(rng: np.random.Generator) -> float:
    """Standard deviation of a point: from 0.002 to 0.02."""
    return float(10 ** rng.uniform(-2.7, -1.7))


def covered(seed: int) -> Covered:
    """Calibrate one pilot of a family."""
    rng = np.random.default_rng(seed)
    curve, sizes = truth(rng)
    heights = np.clip(curve(sizes) + noise(rng) * rng.normal(size=POINTS), 0.0, 1.0)
    try:
        found = calibrate(sizes, heights, seed=seed)
    except InputError as error:
        print(f"pilot {seed} was refused: {error}")
        return Covered(whole=False, points=0.0, flagged=True)
    grid = np.geomspace(sizes[0], REACH * sizes[-1], 60)
    band, right = found.band(grid), curve(grid)
    inside = (band.point_low <= right) & (right <= band.point_high)
    return Covered(band.holds(right), float(inside.mean()), bool(found.doubts))


def noticed(seed: int) -> bool:
    """Whether a pilot of a logarithm is refused, or flagged."""
    rng = np.random.default_rng([seed, 1])
    curve, sizes = logarithm(rng)
    heights = np.clip(curve(sizes) + noise(rng) * rng.normal(size=POINTS), 0.0, 1.0)
    try:
        return bool(calibrate(sizes, heights, draws=20, seed=seed).doubts)
    except InputError:
        return True


def main() -> int:
    """Print the counts, and whether they are where they have to be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pilots", type=int, default=400)
    count = parser.parse_args().pilots
    found = [covered(seed) for seed in range(count)]
    whole, points = (100.0 * float(np.mean([getattr(one, name) for one in found])) for name in ("whole", "points"))
    flagged = 100.0 * float(np.mean([one.flagged for one in found]))
    outside = 100.0 * float(np.mean([noticed(seed) for seed in range(count)]))
    print(f"{count} pilots of the families: whole curve in its band {whole:.1f} of 100 (wanted: 90 to 99)")
    print(f"pointwise {points:.1f}% (wanted: 90 to 98%); flagged although of a family {flagged:.1f}%")
    print(f"{count} pilots of a logarithm: refused or flagged {outside:.1f} of 100 (wanted: at least 95)")
    return 0 if 90 <= whole <= 99 and 90 <= points <= 98 and outside >= 95 else 1


if __name__ == "__main__":
    sys.exit(main())
