"""Whether slopes that a user states are those of the values beside them.

A slope at x lies between the two chords from x to x - h and to x + h, if h is small enough.  A slope that is outside
for every h tried, by more than rounding and a percent of the chords, belongs to another function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags

__all__ = ["INSIDE", "check_accuracy_slopes", "contradicted", "is_own"]

#: chords, as shares of the range
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
_PERCENT, _ROUNDING = 0.01, 1e-14
#: shares of capacity at which slopes are looked at, and those that all contribute meanwhile
_POINTS = np.array([0.013, 0.11, 0.29, 0.52, 0.77, 0.96])
_OTHERS = (0.0, 0.35)
#: of this many owners at most, in games of up to this many
_OWNERS, _MOST = 16, 2048
#: where slopes of a cost are looked at, as shares of each piece
INSIDE = _POINTS


def is_own(what: Any) -> bool:
    """Whether a class is a user's own."""
    return not type(what).__module__.startswith("fedabm.")


def contradicted(value: Callable[[Array], Array], slope: Array, x: Array, width: Array | float) -> tuple[Flags, Array]:
    """Where a slope is not that of the values, and the mean of the two narrowest chords there."""
    middle = value(x)
    wrong = np.isfinite(slope)
    for share in _STEPS:
        step = share * np.broadcast_to(width, x.shape)
        below, above = value(x - step), value(x + step)
        left, right = (middle - below) / step, (above - middle) / step
        size = np.maximum(np.abs(above), np.maximum(np.abs(below), np.abs(middle)))
        slack = _PERCENT * (np.abs(left) + np.abs(right)) + _ROUNDING * (size + 1e-3 * np.max(size)) / step
        wrong = wrong & ((slope < np.minimum(left, right) - slack) | (slope > np.maximum(left, right) + slack))
    return wrong, 0.5 * (left + right)


def _states_slopes(accuracy: Accuracy) -> bool:
    """Whether a user states slopes: by curves of an own class, or by a gradient; differences need no check."""
    if accuracy.costly or not accuracy.tells:
        return False
    own = is_own(accuracy) and accuracy.states_curves
    return own or getattr(accuracy, "gradient", None) is not None


def check_accuracy_slopes(accuracy: Accuracy, capacity: Array) -> None:
    """Raise where a user's own accuracy, or its gradient, has slopes that contradict its values."""
    if not _states_slopes(accuracy) or not 0 < len(capacity) <= _MOST:
        return
    rows = np.arange(min(len(capacity), _OWNERS))
    x = capacity[rows, None] * _POINTS
    for share in _OTHERS:
        curve = accuracy.curves(share * capacity).take(rows)
        slope = curve.slope(x)
        wrong, rise = contradicted(curve.value, slope, x, capacity[rows, None])
        if np.any(wrong):
            owner, point = np.argwhere(wrong)[0]
            broken = f"slope {slope[owner, point]:.4g} at {x[owner, point]:.4g} for owner {owner}"
            raise InputError(
                f"the accuracy {type(accuracy).__name__} has {broken}, but its values rise by {rise[owner, point]:.4g} "
                "per unit there; mend curve_slope, gradient or curves"
            )
