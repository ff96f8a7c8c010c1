"""Proofs by intervals: nothing in the range brings more than the best that was found, up to a tolerance.

A cost never falls, so on [a, b] the utility is at most most(a, b) - c(a), where most(a, b) bounds the benefit: its
value at b if it never falls; its tangent at b if it is concave; chords through points beside the interval if it is
concave and its slope is not beyond doubt.  Where the benefit never exceeds a straight line, the utility is also at most
that line less a tangent of the cost, if that is convex.  Intervals that could still win are split until none can
(branch and bound).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import TimeUp, check_time
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Cap, Curve

__all__ = ["ProofLimits", "prove"]

#: into how many parts an interval is split at most and at least
_PARTS = (2, 32)
#: a chord beside an interval spans this share of the piece
_INSIDE = 1e-6
#: how many cuts are asked for between two looks at the clock
_BLOCK = 2048

Members = NDArray[np.intp]
_Most = Callable[[Curve, "Intervals"], Array]


@dataclass(frozen=True)
class ProofLimits:
    """How tight a proof must be, how many intervals it may look at, and until when (`time.perf_counter`).

    Parameters
    ----------
    tolerance : float, optional
        How tight a proof must be, in units of utility.
    budget : int, optional
        How many intervals it may look at.
    until : float, optional
        When it must end, by `time.perf_counter`.
    """

    tolerance: float = 1e-10
    budget: int = 2**20
    until: float = np.inf


@dataclass(frozen=True)
class Intervals:
    """Intervals [a, b] of the owners in `rows`, with benefit and cost at both ends, in pieces [low, high]."""

    rows: Members
    a: Array
    b: Array
    gain_a: Array
    gain_b: Array
    spent_a: Array
    spent_b: Array
    low: Array
    high: Array

    def take(self, chosen: NDArray) -> Intervals:
        """Some of them."""
        return Intervals(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @property
    def best(self) -> Array:
        """The utility at the better end."""
        return np.maximum(self.gain_a - self.spent_a, self.gain_b - self.spent_b)


def prove(
    benefit: Curve,
    cost: Cost,
    low: Array,
    high: Array,
    found: tuple[Array, Array],
    limits: ProofLimits,
    *,
    concave: bool,
    caps: tuple[Cap, ...] = (),
) -> tuple[Array, Array, Array]:
    """The best contributions and their utilities, and a bound on the utility anywhere in the pieces (n, p).

    `found` are contributions and utilities to begin with.  A proof that runs out of budget or time gives the bound that
    it has reached.
    """
    x, utility = (column.copy() for column in found)
    bound, budget = utility.copy(), limits.budget
    most = _by_chords if concave and not np.all(benefit.closed) else _by_tangent if concave else _by_growth
    open_ = _whole(benefit, cost, low, high)
    while True:
        upper = _upper(benefit, cost, open_, most, caps)
        _improve(x, utility, open_)
        target = utility[open_.rows] + limits.tolerance
        # Between neighbouring numbers there is nothing to look at.
        keep = (upper > target) & (np.nextafter(open_.a, np.inf) < open_.b) & np.isfinite(utility[open_.rows])
        np.maximum.at(bound, open_.rows[~keep], upper[~keep])
        parts = _parts(open_.take(keep), upper[keep], target[keep])
        budget -= int(parts.sum())
        finer = None
        if len(parts) and budget > 0 and time.perf_counter() <= limits.until:
            finer = _split(benefit, cost, open_.take(keep), parts)
        if finer is None:
            np.maximum.at(bound, open_.rows[keep], upper[keep])
            break
        open_ = finer
    return x, utility, np.maximum(bound, utility)


def _upper(benefit: Curve, cost: Cost, open_: Intervals, most: _Most, caps: tuple[Cap, ...]) -> Array:
    """The most that the utility can be in each interval; infinite where that is not known, or time is up."""
    try:
        upper = most(benefit, open_) - open_.spent_a
    except TimeUp:
        return np.full(len(open_.a), np.inf)
    for cap in caps:
        upper = np.minimum(upper, _under(cap, cost, open_))
    return np.where(np.isnan(upper), np.inf, upper)


def _whole(benefit: Curve, cost: Cost, low: Array, high: Array) -> Intervals:
    """The pieces themselves."""
    rows = np.repeat(np.arange(len(low)), low.shape[1])
    gain_a, gain_b, spent_a, spent_b = (curve.value(ends).ravel() for curve in (benefit, cost) for ends in (low, high))
    a, b = low.ravel(), high.ravel()
    return Intervals(rows, a, b, gain_a, gain_b, spent_a, spent_b, a, b)


def _by_growth(benefit: Curve, open_: Intervals) -> Array:
    """The value at the upper end."""
    return open_.gain_b


def _by_tangent(benefit: Curve, open_: Intervals) -> Array:
    """The tangent at the upper end, where it falls."""
    falls = np.maximum(-benefit.take(open_.rows).slope(open_.b), 0.0)
    return open_.gain_b + falls * (open_.b - open_.a)


def _by_chords(benefit: Curve, open_: Intervals) -> Array:
    """The lower of the chords just before a and just after b, extended into the interval; infinite in a whole piece."""
    own, width = benefit.take(open_.rows), open_.b - open_.a
    step = _INSIDE * (open_.high - open_.low)
    left, right = np.maximum(open_.a - step, open_.low), np.minimum(open_.b + step, open_.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        rises = (open_.gain_a - own.value(left)) / (open_.a - left)
        falls = (open_.gain_b - own.value(right)) / (right - open_.b)
    from_left = np.where(left < open_.a, open_.gain_a + np.maximum(rises, 0.0) * width, np.inf)
    from_right = np.where(right > open_.b, open_.gain_b + np.maximum(falls, 0.0) * width, np.inf)
    return np.minimum(from_left, from_right)


def _under(cap: Cap, cost: Cost, open_: Intervals) -> Array:
    """The most that a straight line less a convex cost can be, by tangents of the cost at both ends; else infinite."""
    line, own = cap.take(open_.rows), cost.take(open_.rows)
    width = open_.b - open_.a
    rises, falls = line.slope(open_.a) - own.slope(open_.a), own.slope(open_.b) - line.slope(open_.b)
    from_a = line.value(open_.a) - open_.spent_a + np.maximum(rises, 0.0) * width
    from_b = line.value(open_.b) - open_.spent_b + np.maximum(falls, 0.0) * width
    below = np.isfinite(line.value(open_.a)) & own.convex & own.closed
    return np.where(below, np.minimum(from_a, from_b), np.inf)


def _parts(open_: Intervals, upper: Array, target: Array) -> NDArray[np.intp]:
    """Into how many parts to split: enough that the bound would fall below the target if it fell evenly."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        needed = np.ceil((upper - open_.best) / (target - open_.best))
    return np.clip(np.where(np.isnan(needed), _PARTS[1], needed), *_PARTS).astype(np.intp)


def _split(benefit: Curve, cost: Cost, open_: Intervals, parts: NDArray[np.intp]) -> Intervals | None:
    """Every interval in equal parts; benefit and cost are asked for the cuts between them only.  None: time is up."""
    whole = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(whole)) - np.repeat(np.cumsum(parts) - parts, parts)
    last = part == parts[whole] - 1
    cut = open_.a[whole] + (open_.b - open_.a)[whole] * ((part + 1) / parts[whole])
    inner, rows = np.minimum(cut[~last], open_.b[whole[~last]]), open_.rows[whole[~last]]
    a, b = _ends(last, open_.a, open_.b, whole, inner)
    try:
        gained = _gained(benefit, rows, inner)
    except TimeUp:
        return None
    gain_a, gain_b = _ends(last, open_.gain_a, open_.gain_b, whole, gained)
    spent_a, spent_b = _ends(last, open_.spent_a, open_.spent_b, whole, cost.take(rows).value(inner))
    places = open_.low[whole], open_.high[whole]
    return Intervals(open_.rows[whole], a, b, gain_a, gain_b, spent_a, spent_b, *places)


def _gained(benefit: Curve, rows: Members, x: Array) -> Array:
    """The benefit of each of the rows at one point, block by block: curves of coalitions are copied for every row."""
    values = np.empty(len(x))
    for first in range(0, len(x), _BLOCK):
        check_time()
        block = slice(first, first + _BLOCK)
        values[block] = benefit.take(rows[block]).value(x[block])
    return values


def _ends(last: NDArray[np.bool_], first: Array, final: Array, whole: Members, inner: Array) -> tuple[Array, Array]:
    """The lower and upper ends of all parts, from those of the whole and the cuts between parts."""
    upper = final[whole]
    upper[~last] = inner
    starts = np.append(True, last[:-1])
    return np.where(starts, first[whole], np.roll(upper, 1)), upper


def _improve(x: Array, utility: Array, open_: Intervals) -> None:
    """Keep the best end of any interval of each owner, in place."""
    for trial, seen in ((open_.a, open_.gain_a - open_.spent_a), (open_.b, open_.gain_b - open_.spent_b)):
        better = np.flatnonzero(seen > utility[open_.rows])
        better = better[np.argsort(seen[better], kind="stable")]
        utility[open_.rows[better]], x[open_.rows[better]] = seen[better], trial[better]
