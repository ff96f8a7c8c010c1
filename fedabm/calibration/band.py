"""Parametric bootstrap of a fitted curve: draws of its parameters, and bands around it.

A draw fits anew what the fitted curve and noise would have given; its noise level is drawn, too, from what the
residuals say of it: sigma^2 = RSS / chi^2 with as many degrees of freedom as points are left over.  The band that holds
the whole curve is as many standard deviations wide, at every size, as the largest deviation of 95% of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.calibration.families import Family
from fedabm.games.curves import Array

__all__ = ["Band", "Bootstrap", "bootstrap"]


@dataclass(frozen=True)
class Band:
    """Around a curve at some sizes: `low` and `high` hold the whole curve, `point_low` and `point_high` each point."""

    sizes: Array
    best: Array
    low: Array
    high: Array
    point_low: Array
    point_high: Array

    def holds(self, heights: Array) -> bool:
        """Whether a whole curve lies inside."""
        return bool(np.all((self.low <= heights) & (heights <= self.high)))


@dataclass(frozen=True)
class Bootstrap:
    """Draws of theta, (draws, parameters), of a family around its best theta."""

    family: Family
    best: Array
    draws: Array

    def band(self, sizes: Array, level: float = 0.95) -> Band:
        """Bands at these sizes."""
        middle = self.family.height(self.best, sizes)
        away = np.array([self.family.height(one, sizes) for one in self.draws]) - middle
        spread = np.sqrt(np.mean(away**2, axis=0))
        ratio = np.abs(away) / np.where(spread > 0, spread, 1.0)
        whole = _quantile(ratio.max(axis=1), level) * spread
        single = np.array([_quantile(one, level) for one in ratio.T]) * spread
        low, high = middle - whole, middle + whole
        most = self.family.most
        clipped = [np.clip(one, 0.0, most) for one in (low, high, middle - single, middle + single)]
        return Band(sizes, middle, *clipped)


def bootstrap(
    family: Family, best: Array, lost: float, sizes: Array, count: int, rng: np.random.Generator
) -> Bootstrap:
    """Draws of a fit that lost so much, its sum of squared residuals."""
    freedom = len(sizes) - len(best)
    middle = family.height(best, sizes)
    levels = np.sqrt(lost / rng.chisquare(freedom, count))
    noise = rng.normal(size=(count, len(sizes)))
    draws = [family.fit(sizes, middle + level * one, best)[0] for level, one in zip(levels, noise, strict=True)]
    return Bootstrap(family, best, np.array(draws))


def _quantile(values: Array, level: float) -> float:
    """The order statistic ceil(level (n + 1)), as for a value that is exchangeable with these."""
    ranked = np.sort(values)
    return float(ranked[min(len(ranked), int(np.ceil(level * (len(ranked) + 1)))) - 1])
