"""What owners see of those they are linked to: what they did in the last step, as far as they are public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.games.curves import Array, Rows

__all__ = ["Neighbours"]


@dataclass(frozen=True)
class Neighbours:
    """One entry for each neighbour that took part in the last step; entries offsets[i] .. offsets[i + 1] are row i's.

    What its data cost it, and so its utility, is nobody else's business; what it claims may be a lie.

    >>> seen = Neighbours(np.array([0, 2, 2]), np.array([1, 3]), *np.array([[4.0, 8], [8, 8], [0.5, 0.7], [0, 1]]))
    >>> seen.mean(seen.contribution)
    array([ 6., nan])
    >>> seen.best(seen.accuracy).tolist()
    [1, -1]

    Parameters
    ----------
    offsets : NDArray[np.intp]
        Entries offsets[i] to offsets[i + 1] are those of row i.
    owner : NDArray[np.intp]
        Number of the neighbour.
    contribution : Array
        What it said it contributed.
    size : Array
        How much data it said it has.
    accuracy : Array
        What the model that it was handed is worth.
    payment : Array
        Money it received (negative: it paid).
    """

    offsets: NDArray[np.intp]
    owner: NDArray[np.intp]
    contribution: Array
    size: Array
    accuracy: Array
    payment: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def count(self) -> NDArray[np.intp]:
        """How many neighbours each row has."""
        return np.diff(self.offsets)

    @property
    def row(self) -> NDArray[np.intp]:
        """The row that each entry belongs to."""
        return np.repeat(np.arange(len(self)), self.count)

    def mean(self, values: Array) -> Array:
        """The mean of some values (one per entry) over each row's neighbours, nan without any."""
        sums = np.bincount(self.row, values, minlength=len(self))
        return np.divide(sums, self.count, out=np.full(len(self), np.nan), where=self.count > 0)

    def best(self, values: Array) -> NDArray[np.intp]:
        """The entry with the largest value among each row's neighbours, the first among equals; -1 without any."""
        order = np.lexsort((-values, self.row))
        first = np.full(len(self), -1, dtype=np.intp)
        first[self.count > 0] = order[self.offsets[:-1][self.count > 0]]
        return first

    def take(self, rows: Rows) -> Neighbours:
        """What some rows see."""
        rows = np.asarray(rows, dtype=np.intp)
        count = self.count[rows]
        offsets = np.concatenate([[0], np.cumsum(count)])
        entries = np.repeat(self.offsets[rows] - offsets[:-1], count) + np.arange(offsets[-1])
        columns = (self.owner, self.contribution, self.size, self.accuracy, self.payment)
        return Neighbours(offsets, *(column[entries] for column in columns))
