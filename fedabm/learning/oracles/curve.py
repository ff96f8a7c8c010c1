"""The server's public accuracy curve: accuracies measured at a few totals of data, and lines between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_whole, finite_vector
from fedabm.common.progress import track
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Exposure
from fedabm.games.curves import Array
from fedabm.learning.oracles.trained import Trained

__all__ = ["MeasuredCurve", "proportional"]

#: goes through pieces of work under a label, and shows how far it has come
Track = Callable[[list, str], Iterable]


@dataclass(frozen=True)
class MeasuredCurve(Exposure):
    """The same model for everyone: v(sum_j s_j), linear between measured points and flat after the last.

    Murhekar et al. 2023, Section 5.1: the server trains models on 0, ds, 2 ds, ... samples and announces their
    accuracies; the slope is the difference quotient to the right.  Measured curves are rough: with concave=True the
    least concave non-decreasing curve above the points is taken, for which equilibria exist and can be certified.
    Afterwards `concave` and `monotone` say what the curve is.

    >>> curve = MeasuredCurve([0, 10, 20, 30], [0.1, 0.5, 0.4, 0.7], concave=True)
    >>> curve.values(np.array([[5.0, 0.0], [10.0, 10.0]])).round(3).tolist(), curve.concave, curve.monotone
    ([[0.3, 0.3], [0.6, 0.6]], True, True)

    Parameters
    ----------
    totals : Any
        Amounts of data.
    accuracies : Any
        Accuracy at each of them.
    concave : bool, optional
        Whether the least concave curve above the points is taken.
    """

    totals: Any
    accuracies: Any
    concave: bool = False

    def __post_init__(self) -> None:
        totals, heights = finite_vector("totals", self.totals), finite_vector("accuracies", self.accuracies)
        _check(totals, heights)
        if self.concave:
            totals, heights = _envelope(totals, heights)
        slopes = np.diff(heights) / np.diff(totals)
        bends = bool(np.all(np.diff(slopes) <= 1e-12 * np.max(np.abs(slopes), initial=0.0)))
        object.__setattr__(self, "totals", FrozenArray(totals))
        object.__setattr__(self, "accuracies", FrozenArray(heights))
        object.__setattr__(self, "concave", self.concave or (bends and self.monotone))

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether more data are never worse."""
        return bool(np.all(np.diff(self.accuracies.array) >= 0))

    def curve(self, exposure: Array) -> Array:
        """The measured accuracies, linear in between, flat beyond."""
        return np.interp(exposure, self.totals.array, self.accuracies.array)

    def curve_slope(self, exposure: Array) -> Array:
        """(v(next point) - v(last point)) / (next - last); to the right at a point, 0 beyond the last one."""
        totals, heights = self.totals.array, self.accuracies.array
        slopes = np.append(np.diff(heights) / np.diff(totals), 0.0)
        return slopes[np.searchsorted(totals, exposure, side="right") - 1]

    def curve_curvature(self, exposure: Array) -> Array:
        """None, but at the points."""
        return np.zeros_like(np.asarray(exposure, dtype=float))

    def kinks(self, profile: Array) -> Array:
        """The own contributions at which the total meets a measured point."""
        return self.meeting(profile, self.totals.array[1:])

    @classmethod
    def measure(
        cls, oracle: Trained, totals: Any, repeats: int = 1, concave: bool = False, track: Track = track
    ) -> MeasuredCurve:
        """Train on each of these totals, shared in proportion to capacities; means over owners and `repeats` seeds.

        `track` shows how far it has come; within a study it is `study.track`.
        """
        check_whole("repeats", repeats)
        totals = finite_vector("totals", totals)
        profiles = np.array([proportional(total, oracle.engine.data.capacities) for total in totals])
        oracles = [replace(oracle, seed=oracle.seed + repeat) if repeat else oracle for repeat in range(repeats)]
        trainings = [(one, profile) for one in oracles for profile in profiles]
        found = [one.values(profile[None]).mean() for one, profile in track(trainings, "public curve")]
        return cls(totals, np.reshape(found, (repeats, len(totals))).mean(axis=0), concave)


def proportional(total: float, capacities: Any) -> Array:
    """Whole numbers that add up to the total (rounded), in proportion to the capacities.

    >>> proportional(10, [5, 10, 15]).tolist()
    [2.0, 3.0, 5.0]
    """
    capacities = finite_vector("capacities", capacities)
    if not 0 <= total <= capacities.sum():
        raise InputError(f"{total:g} samples but owners have {capacities.sum():g}; give totals between 0 and that")
    exact = round(total) * capacities / capacities.sum()
    shares = np.floor(exact + 1e-9)
    order = np.argsort(shares - exact, kind="stable")
    shares[order[: round(total) - int(shares.sum())]] += 1
    return shares


def _check(totals: Array, heights: Array) -> None:
    if len(totals) != len(heights) or len(totals) < 2:
        raise InputError(f"{len(totals)} totals but {len(heights)} accuracies; give one accuracy per total, at least 2")
    if totals[0] != 0 or np.any(np.diff(totals) <= 0):
        raise InputError(f"totals must rise from 0, got {totals[:4].tolist()} ...; sort them and begin with 0")


def _envelope(totals: Array, heights: Array) -> tuple[Array, Array]:
    """The corners of the least concave non-decreasing curve above the points."""
    heights = np.maximum.accumulate(heights)
    corners: list[int] = []
    for point in range(len(totals)):
        while len(corners) > 1 and _below(corners[-2], corners[-1], point, totals, heights):
            corners.pop()
        corners.append(point)
    return totals[corners], heights[corners]


def _below(left: int, middle: int, right: int, totals: Array, heights: Array) -> bool:
    """Whether the middle point is on or below the line from the left to the right one."""
    rise, run = heights[right] - heights[left], totals[right] - totals[left]
    return bool((heights[middle] - heights[left]) * run <= rise * (totals[middle] - totals[left]))
