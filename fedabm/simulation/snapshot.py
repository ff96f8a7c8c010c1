"""What every owner does and says, and how far that has moved since: what comes to rest ends a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.games.costs import Cost

__all__ = ["ProfileSnapshot"]


@dataclass(frozen=True, eq=False)
class ProfileSnapshot:
    """What every owner does and says, each number beside the `unit` in which it counts, and whether it stays."""

    said: tuple[Array, ...]
    units: tuple[Array, ...]
    cost: Cost
    true_cost: Cost
    stayed: Flags

    def moved(self, since: ProfileSnapshot) -> float:
        """The largest change of any owner's action or reports, in its capacity or cost; leaving counts as 1."""
        most = max(_change(then, now, unit) for then, now, unit in zip(since.said, self.said, self.units, strict=True))
        most = max(most, _change(since.stayed, self.stayed, np.ones(1)))
        if since.cost is self.cost:
            return most
        return max(most, _change(since.cost.figures(), self.cost.figures(), self.true_cost.figures()))

    def changes(self, since: ProfileSnapshot) -> Array:
        """How far each owner's action and reports have moved, in that measure; for costs that stay of one kind."""
        parts = [_share(then, now, unit) for then, now, unit in zip(since.said, self.said, self.units, strict=True)]
        left = (since.stayed != self.stayed).astype(float)
        costs = _share(since.cost.figures(), self.cost.figures(), self.true_cost.figures()).max(axis=1)
        return np.max([*parts, left, costs], axis=0)


def _change(then: np.ndarray, now: np.ndarray, unit: Array) -> float:
    if then is now or np.array_equal(then, now):
        return 0.0
    if then.shape != now.shape or unit.shape not in (now.shape, (1,)):
        return 1.0  # somebody has another kind of cost
    return float(np.max(_share(then, now, unit)))


def _share(then: np.ndarray, now: np.ndarray, unit: Array) -> Array:
    """How far each number has moved, in units of its own where there are any."""
    moved = np.subtract(now, then, dtype=float)
    np.abs(moved, out=moved)
    positive = unit > 0
    return np.divide(moved, unit, out=moved, where=True if np.all(positive) else positive)
