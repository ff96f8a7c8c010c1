"""Whether slopes that a user states are those of the values beside them.

A slope at x lies between the two chords from x to x - h and to x + h, if h is small enough.  A slope that is outside
for every h tried, by more than rounding and a percent of the chords, belongs to another function; so does one that is
no number, or infinite where values are finite on both sides.  Slopes are looked at evenly and, as a step in them may be
next to an end, at every scale there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags

__all__ = ["check_accuracy_slopes", "contradicted", "inside", "is_own"]

#: chords, as shares of the range
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
_PERCENT, _ROUNDING = 0.01, 1e-14
#: shares of a piece at which slopes are looked at: how far from either end, and where between
_NEAR = np.geomspace(1e-9, 0.01, 16)
_POINTS = np.concatenate([_NEAR, np.arange(0.013, 0.99, 0.0387), 1.0 - _NEAR[::-1]])
#: chords reach a small part of the way to the nearest end at most
_REACH = 0.05 / _STEPS[0]
#: shares of capacity that all contribute meanwhile
_OTHERS = (0.0, 0.35)
#: of this many owners at most, in games of up to this many
_OWNERS, _MOST = 16, 2048


def is_own(what: Any) -> bool:
    """Whether a class is a user's own."""
    return not type(what).__module__.startswith("fedabm.")


def inside(left: Array, width: Array) -> tuple[Array, Array]:
    """Where slopes on pieces (..., 1) are looked at, and how wide the chords may be there, in thousandths."""
    return left + width * _POINTS, width * np.minimum(1.0, _REACH * np.minimum(_POINTS, 1.0 - _POINTS))


def contradicted(value: Callable[[Array], Array], slope: Array, x: Array, width: Array | float) -> tuple[Flags, Array]:
    """Where a slope is not that of the values, and the mean of the two narrowest chords there."""
    middle = value(x)
    wrong = np.ones(np.shape(slope), dtype=bool)
    for share in _STEPS:
        step = share * np.broadcast_to(width, x.shape)
        below, above = value(x - step), value(x + step)
        left, right = (middle - below) / step, (above - middle) / step
        size = np.maximum(np.abs(above), np.maximum(np.abs(below), np.abs(middle)))
        slack = _PERCENT * (np.abs(left) + np.abs(right)) + _ROUNDING * (size + 1e-3 * np.max(size)) / step
        outside = (slope < np.minimum(left, right) - slack) | (slope > np.maximum(left, right) + slack)
        wrong &= outside | np.isnan(slope)
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
    x, width = inside(np.zeros((len(rows), 1)), capacity[rows, None])
    for share in _OTHERS:
        curve = accuracy.curves(share * capacity).take(rows)
        slope = curve.slope(x)
        wrong, rise = contradicted(curve.value, slope, x, width)
        if np.any(wrong):
            owner, point = np.argwhere(wrong)[0]
            broken = f"slope {slope[owner, point]:.4g} at {x[owner, point]:.4g} for owner {owner}"
            raise InputError(
                f"the accuracy {type(accuracy).__name__} has {broken}, but its values rise by {rise[owner, point]:.4g} "
                "per unit there; mend curve_slope, gradient or curves"
            )
