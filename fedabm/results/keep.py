"""What the frames keep of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_whole, shown
from fedabm.common.random import generator

__all__ = ["Recording"]


@dataclass(frozen=True)
class Recording:
    """Which steps, whose rows, and whether sums by strategy beside; what is not kept takes no memory.

    >>> Recording(every=10, owners=0, strategies=True).sample(seed=1, population=5)
    array([], dtype=int64)

    Parameters
    ----------
    every : int | None, optional
        Every k-th step is kept; None: only the last.
    owners : int | None, optional
        How many owners are kept, a random sample; None: all.
    strategies : bool, optional
        Whether sums by strategy are kept beside.
    """

    every: int | None = 1
    owners: int | None = None
    strategies: bool = False

    def __post_init__(self) -> None:
        if self.every is not None:
            check_whole("every", self.every)
        if self.owners is not None:
            check_whole("owners to keep", self.owners, 0)
        if not isinstance(self.strategies, bool):
            raise InputError(f"strategies must be true or false, got {shown(self.strategies)}; say which")

    @classmethod
    def of(cls, record: int | Recording | None) -> Recording:
        """What a scenario's `record` says: all of it, or every how many steps."""
        return record if isinstance(record, Recording) else cls(record)

    def wants(self, step: int) -> bool:
        """Whether a step is to be kept, be it the last or not."""
        return self.every is not None and step % self.every == 0

    def sample(self, seed: int, population: int) -> NDArray[np.int64] | None:
        """Whose rows are kept, in order, of this many owners in a run with this seed (None: everybody's).

        The draw is the run's own, so that what is kept changes nothing in the run.
        """
        if self.owners is None:
            return None
        drawn = generator(seed, "sample").choice(population, min(self.owners, population), replace=False)
        return np.sort(drawn).astype(np.int64)
