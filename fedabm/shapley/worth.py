"""What coalitions are worth: the sum of all owners' accuracies when only some contribute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.common.deadline import check_time
from fedabm.common.rowwise import sum_last
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array

__all__ = ["difference", "worth"]

#: numbers in one question to the oracle
_ASK = 2**22


def worth(accuracy: Accuracy, profiles: Array) -> Array:
    """A(s) = sum_i a_i(s) at many profiles (..., n), a bounded number of them at a time."""
    flat = profiles.reshape(-1, profiles.shape[-1])
    together = max(1, _ASK // flat.shape[1])
    parts = []
    for first in range(0, len(flat), together):
        check_time()
        parts.append(sum_last(accuracy.values(flat[first : first + together])))
    return np.concatenate(parts).reshape(profiles.shape[:-1])


def difference(function: Callable[[Array], Array], x: Array) -> Array:
    """The derivative of an elementwise function by second-order differences that never go below zero."""
    step = 1e-5 * np.maximum(1.0, np.abs(x))
    inside = x >= step
    low = np.where(inside, x - step, x)
    first = function(low)
    middle = function(low + step)
    last = function(low + 2 * step)
    return np.where(inside, last - first, 4 * middle - 3 * first - last) / (2 * step)
