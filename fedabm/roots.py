"""Roots of many functions at once, to rounding width."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.curves import Array

__all__ = ["falling_root"]


def falling_root(function: Callable[[Array], Array], low: Array, high: Array, rounds: int = 200) -> Array:
    """Where each owner's function changes from positive to negative in [low, high].

    `function` takes one number per owner and answers with one number per owner.  Where it is not positive at `low`, the
    answer is `low`; where it is still positive at `high`, the answer is `high`.  Illinois steps, with a bisection every
    third round as a safeguard.

    >>> falling_root(lambda x: np.array([2.0, 9.0]) - x * x, np.zeros(2), np.full(2, 8.0))
    array([1.41421356, 3.        ])
    """
    left, right = np.array(low, dtype=float), np.array(high, dtype=float)
    at_left, at_right = function(left), function(right)
    right = np.where(at_left <= 0, left, right)
    left = np.where((at_left > 0) & (at_right > 0), right, left)
    weight_left, weight_right = at_left, at_right
    for turn in range(rounds):
        if np.all(right - left <= 4e-16 * np.abs(right)):
            break
        trial = _trial(left, right, weight_left, weight_right, bisect=turn % 3 == 2)
        seen = function(trial)
        up = seen > 0
        weight_right = np.where(up, 0.5 * weight_right, seen)
        weight_left = np.where(up, seen, 0.5 * weight_left)
        left, right = np.where(up | (seen == 0), trial, left), np.where(up, right, trial)
    return 0.5 * (left + right)


def _trial(left: Array, right: Array, weight_left: Array, weight_right: Array, *, bisect: bool) -> Array:
    """The next point inside each bracket: the secant's root, or the middle where that is outside."""
    middle = 0.5 * (left + right)
    if bisect:
        return middle
    with np.errstate(divide="ignore", invalid="ignore"):
        secant = (left * weight_right - right * weight_left) / (weight_right - weight_left)
    return np.where(np.isfinite(secant) & (secant > left) & (secant < right), secant, middle)
