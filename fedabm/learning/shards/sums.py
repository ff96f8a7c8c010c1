"""A sum of many rows, of which every worker has a stretch: in blocks, so that few rows wait for another worker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from torch import Tensor

from fedabm.learning.engine.elsewhere import added

__all__ = ["Begun", "Stretch", "StretchSum", "stretches"]


class Begun(NamedTuple):
    """What a sum has come to: the blocks that are complete, and the one that the next worker goes on with."""

    complete: Tensor | None = None
    opened: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Stretch:
    """The rows of one worker among the blocks: the block of each, and which of them are shared with its neighbours."""

    blocks: np.ndarray
    continues: bool
    goes_on: bool

    def models(self, first: int) -> int:
        """How many rows what has been begun takes when it is handed on; `first` is the first block of all."""
        return int(self.goes_on) + int(self.blocks[-1] > first or not self.goes_on)


def stretches(blocks: list[np.ndarray]) -> list[Stretch]:
    """Of all workers, from the blocks of their rows."""
    ends = [None, *((one[0], one[-1]) for one in blocks), None]
    return [
        Stretch(
            one,
            continues=before is not None and before[1] == one[0],
            goes_on=after is not None and after[0] == one[-1],
        )
        for one, before, after in zip(blocks, ends, ends[2:], strict=False)
    ]


class StretchSum:
    """The sum of a worker's rows by some weights, which come one after the other.

    Only rows of a block that another worker has begun wait for what that one has.
    """

    def __init__(self, stretch: Stretch, weights: Tensor) -> None:
        self._stretch, self._weights = stretch, weights
        self._waiting: list[tuple[Tensor, Tensor]] = []
        self._sums: list[Tensor] = []
        self._place, self._last = 0, -1

    def add(self, rows: Tensor) -> None:
        """Take some rows more; those that wait are not copied."""
        blocks = self._stretch.blocks[self._place : self._place + len(rows)]
        starts = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(rows)]
        for first, last in pairwise(starts):
            weights = self._weights[self._place + first : self._place + last]
            self._take(int(blocks[first]), weights, rows[first:last])
        self._place += len(rows)

    def _take(self, block: int, weights: Tensor, rows: Tensor) -> None:
        if self._stretch.continues and block == self._stretch.blocks[0]:
            self._waiting.append((weights, rows))
        elif block == self._last:
            self._sums[-1] = added(self._sums[-1], weights, rows)
        else:
            self._sums.append(added(None, weights, rows))
            self._last = block

    def after(self, begun: Begun) -> Begun:
        """With what another worker has begun."""
        total, opened = begun
        for weights, rows in self._waiting:
            opened = added(opened, weights, rows)
        sums = [*([] if opened is None else [opened]), *self._sums]
        last = sums.pop() if self._stretch.goes_on else None
        for one in sums:
            total = one if total is None else total + one
        return Begun(total, last)
