"""Which family a pilot speaks for, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import f as f_distribution

from fedabm.calibration.families import Family
from fedabm.calibration.pilot import Pilot
from fedabm.common.errors import InputError
from fedabm.games.curves import Array

__all__ = ["Fitted", "check_fit", "doubts", "fitted"]

#: a fit has to explain this share of the variance
_LEAST_EXPLAINED = 0.5
#: a curve that misses the means of repeated sizes so clearly is none of the family
_LACK_OF_FIT = 1e-3


@dataclass(frozen=True)
class Fitted:
    """A family fitted to a pilot.

    theta      parameters as fitted
    lost       sum of squared residuals
    freedom    points beyond those that parameters take
    held_out   root mean squared error at sizes that were left out
    explained  share of the variance
    """

    family: Family
    theta: Array
    lost: float
    freedom: int
    held_out: float
    explained: float

    @property
    def noise(self) -> float:
        """Standard deviation of a point around the curve."""
        return float(np.sqrt(self.lost / self.freedom))


def fitted(family: Family, pilot: Pilot) -> Fitted:
    """The best fit, and the root mean squared error at each size when that size was left out."""
    theta, lost = family.fit(pilot.sizes, pilot.heights)
    missed = []
    for size in np.unique(pilot.sizes):
        rest = pilot.sizes != size
        without, _ = family.fit(pilot.sizes[rest], pilot.heights[rest], theta)
        missed.append((family.height(without, pilot.sizes[~rest]) - pilot.heights[~rest]) ** 2)
    spread = float(np.sum((pilot.heights - pilot.heights.mean()) ** 2))
    explained = 1.0 - lost / spread if spread > 0 else 0.0
    held_out = float(np.sqrt(np.mean(np.concatenate(missed))))
    return Fitted(family, theta, lost, len(pilot.sizes) - len(theta), held_out, explained)


def check_fit(best: Fitted, pilot: Pilot) -> None:
    """Refuse a fit that describes nothing, with the reason."""
    if best.explained < _LEAST_EXPLAINED:
        share = f"{max(best.explained, 0):.0%} of the variance, less than {_LEAST_EXPLAINED:.0%}"
        raise InputError(
            f"{pilot.source}: the best fit ({best.family.name}) explains {share}: accuracies do not rise with samples; "
            "train more, or a wider range"
        )
    chance = _lack_of_fit(best, pilot)
    if chance < _LACK_OF_FIT:
        raise InputError(
            f"{pilot.source}: the best fit ({best.family.name}) misses the means of repeated sizes by more than their "
            f"scatter allows (p = {chance:.1g}): the curve is of no family that is known here; write one of your own"
        )


def _lack_of_fit(best: Fitted, pilot: Pilot) -> float:
    """The chance of so large misses of the means of repeated sizes; 1 where too few sizes are repeated."""
    sizes, place = np.unique(pilot.sizes, return_inverse=True)
    means = np.bincount(place, pilot.heights) / np.bincount(place)
    pure, inside = float(np.sum((pilot.heights - means[place]) ** 2)), len(pilot.sizes) - len(sizes)
    between = len(sizes) - len(best.theta)
    if inside < 3 or between < 1 or pure <= 0:
        return 1.0
    ratio = (best.lost - pure) / between / (pure / inside)
    return float(f_distribution.sf(max(ratio, 0.0), between, inside))


def doubts(best: Fitted, pilot: Pilot) -> list[str]:
    """What a reader has to know: no sign of a ceiling, a ceiling at its bound, owners that differ."""
    found = []
    ratio = (_logarithm(pilot) - best.lost) / max(best.lost / best.freedom, 1e-300)
    if ratio < f_distribution.ppf(0.95, 1, best.freedom):
        found.append(
            "a logarithm, which has no ceiling, fits as well: the pilot does not show that the curve levels off, so it "
            "is trusted up to the pilot's largest size only; train larger models"
        )
    ceiling = best.family.accuracy(best.theta).ceiling  # type: ignore[attr-defined]
    if ceiling > 0.999 * best.family.most:
        found.append(f"the fitted ceiling is at its bound of {best.family.most:g}; train larger models")
    return found + _owners_differ(best, pilot)


def _logarithm(pilot: Pilot) -> float:
    """The sum of squared residuals of a + b log(S + offset), the best of many offsets."""
    sizes = pilot.sizes / pilot.largest
    offsets = np.geomspace(1e-3, 3.0, 16)
    if pilot.sizes.min() > 0:
        offsets = np.append(offsets, 0.0)
    lost = []
    for offset in offsets:
        columns = np.stack([np.ones_like(sizes), np.log(sizes + offset)], axis=1)
        weights = np.linalg.lstsq(columns, pilot.heights, rcond=None)[0]
        lost.append(float(np.sum((columns @ weights - pilot.heights) ** 2)))
    return min(lost)


def _owners_differ(best: Fitted, pilot: Pilot) -> list[str]:
    """A line where some owner's points lie above or below the common curve by more than chance."""
    names, place = np.unique(np.array(pilot.owners), return_inverse=True)
    left = len(pilot.sizes) - len(best.theta) - len(names) + 1
    if len(names) < 2 or left < 1:
        return []
    residuals = pilot.heights - best.family.height(best.theta, pilot.sizes)
    counts = np.bincount(place)
    means = np.bincount(place, residuals) / counts
    within = float(np.sum((residuals - means[place]) ** 2)) / left
    ratio = float(np.sum(counts * means**2)) / (len(names) - 1) / max(within, 1e-300)
    if f_distribution.sf(ratio, len(names) - 1, left) > 0.01:
        return []
    worst = int(np.argmax(np.abs(means)))
    side = "above" if means[worst] > 0 else "below"
    return [
        f"owners differ: the points of {names[worst]} lie {abs(means[worst]):.3g} {side} the common curve; "
        f"calibrate each with --owner"
    ]
