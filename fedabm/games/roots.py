"""Roots of many functions at once, to rounding width."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.games.curves import Array

__all__ = ["falling_root", "just_inside"]

Points = tuple[Array, Array, Array]


def falling_root(function: Callable[[Array], Array], low: Array, high: Array, rounds: int = 200) -> Array:
    """Where each owner's function changes from positive to negative in [low, high].

    `function` takes one number per owner and answers with one number per owner.  Where it is not positive at `low`, the
    answer is `low`; where it is still positive at `high`, the answer is `high`.  Inverse quadratic interpolation where
    the last three points allow it, bisection otherwise: T. R. Chandrupatla (1997), Advances in Engineering Software 28.

    >>> falling_root(lambda x: np.array([2.0, 9.0]) - x * x, np.zeros(2), np.full(2, 8.0))
    array([1.41421356, 3.        ])
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    at_new, at_across = function(low), function(high)
    # Without a change of sign the bracket is a single point from the start.
    new = np.where((at_new > 0) & (at_across > 0), high, low)
    across = np.where(at_new > 0, high, low)
    share = np.full(new.shape, 0.5)
    for _ in range(rounds):
        trial = new + share * (across - new)
        seen = function(trial)
        same = (seen > 0) == (at_new > 0)
        old, at_old = np.where(same, new, across), np.where(same, at_new, at_across)
        across, at_across = np.where(same, across, new), np.where(same, at_across, at_new)
        new, at_new = trial, seen
        across = np.where(seen == 0, new, across)
        width, least = np.abs(across - new), 4e-16 * np.abs(new)
        if np.all(width <= 2 * least):
            break
        edge = np.minimum(np.divide(least, width, out=np.full(width.shape, 0.5), where=width > 0), 0.5)
        share = np.clip(_share((new, across, old), (at_new, at_across, at_old)), edge, 1.0 - edge)
    return new


def just_inside(low: Array, high: Array) -> tuple[Array, Array]:
    """The ends of intervals, moved inside by a trillionth of where they lie (of the width, where that is less).

    At an end itself rounding could pick the slope of the neighbouring piece, and a cost may jump there.
    """
    width = high - low
    left = low + 1e-12 * np.minimum(width, np.where(low > 0, low, 1e-12 * high))
    right = high - 1e-12 * width
    swallowed = right == high
    if np.any(swallowed):  # the interval is that short
        left = np.where(left == low, np.nextafter(low, high), left)
        right = np.where(swallowed, np.maximum(np.nextafter(high, low), left), right)
    return left, right


def _share(points: Points, values: Points) -> Array:
    """How far to go from the newest point to the one across the root."""
    (new, across, old), (at_new, at_across, at_old) = points, values
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place = (new - across) / (old - across)
        level = (at_new - at_across) / (at_old - at_across)
        smooth = (level**2 < place) & ((1 - level) ** 2 < 1 - place)
        share = at_new / (at_across - at_new) * at_old / (at_across - at_old)
        share += (old - new) / (across - new) * at_new / (at_old - at_new) * at_across / (at_old - at_across)
    return np.where(smooth & np.isfinite(share), share, 0.5)
