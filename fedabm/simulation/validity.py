"""Which numbers can be used: finite, not negative and not absurdly large."""

from __future__ import annotations

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import MOST
from fedabm.games.costs import Cost

__all__ = ["valid_costs", "valid_numbers"]


def valid_numbers(x: Array) -> Flags:
    """Which of some numbers."""
    return (x >= 0) & (x <= MOST)


def valid_costs(cost: Cost) -> Flags:
    """Whose cost has such figures only."""
    return np.all(valid_numbers(cost.figures()), axis=1)
