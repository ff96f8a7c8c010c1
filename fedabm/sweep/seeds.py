"""The seeds that every cell of a design is run with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import check_seed

__all__ = ["MOST_RUNS", "Seeds"]

#: whoever asks for more runs has mistyped a number
MOST_RUNS = 10_000_000


@dataclass(frozen=True)
class Seeds:
    """`count` seeds spawned from a `root`, independent by construction.

    Paired: all cells share them, so that differences between cells are not blurred by chance.  Not paired: each cell
    has its own, spawned from what the cell sets.  `values` gives seeds one by one instead.  More seeds or cells never
    change the seeds that are there.

    Parameters
    ----------
    count : int, optional
        How many seeds.
    paired : bool, optional
        Whether all settings share them.
    root : int, optional
        What they are spawned from.
    values : tuple[int, ...] | None, optional
        The seeds themselves, instead.
    """

    count: int = 1
    _: KW_ONLY
    paired: bool = True
    root: int = 0
    values: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_seed(self.root)
        if self.values is None:
            check_whole("count of seeds", self.count, high=MOST_RUNS)
            return
        if not self.values:
            raise InputError("the list of seeds is empty; give at least one")
        for seed in self.values:
            check_seed(seed)

    @classmethod
    def of(cls, given: Seeds | int | Sequence[int]) -> Seeds:
        """A number of paired seeds, or the seeds themselves."""
        if isinstance(given, Seeds):
            return given
        if isinstance(given, int) and not isinstance(given, bool):
            return cls(given)
        if isinstance(given, Sequence) and not isinstance(given, str):
            return cls(len(given), values=tuple(given))
        raise InputError(f"seeds must be a number or a list of seeds, got {given!r}; write for instance 20")

    def for_cell(self, identity: str) -> list[int]:
        """The seeds of the cell with this identity (a hexadecimal digest)."""
        if self.values is not None:
            return list(self.values)
        entropy = [self.root] if self.paired else [self.root, int(identity, 16)]
        parent = np.random.SeedSequence(entropy)
        return [int(child.generate_state(1, np.uint64)[0] >> np.uint64(1)) for child in parent.spawn(self.count)]

    def describe(self) -> dict[str, Any]:
        """The seeds in plain values."""
        if self.values is not None:
            return {"values": list(self.values), "paired": True}
        return {"count": self.count, "paired": self.paired, "root": self.root}
