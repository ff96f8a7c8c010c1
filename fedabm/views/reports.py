"""What owners tell the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Rows

__all__ = ["Reports"]


@dataclass(frozen=True)
class Reports:
    """What owners tell the server: claimed contribution, claimed data size, claimed cost function, claimed eagerness.

    `cost` and `eagerness` are None unless the mechanism asks for them.  For a mechanism that remembers, the server adds
    the `owners`' numbers and the `memory` of its last outcome (None in the first round, and wherever a game is solved).
    """

    contribution: Array
    size: Array
    cost: Cost | None = None
    eagerness: Array | None = None
    owners: NDArray[np.intp] | None = None
    memory: Any = None

    def take(self, rows: Rows) -> Reports:
        """The reports of some owners."""
        cost = None if self.cost is None else self.cost.take(rows)
        eagerness = None if self.eagerness is None else self.eagerness[rows]
        owners = None if self.owners is None else self.owners[rows]
        return Reports(self.contribution[rows], self.size[rows], cost, eagerness, owners, self.memory)
