"""The frames of many runs as columns, before anybody makes pandas frames of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["StackedColumns", "StackedFrames", "in_order"]


@dataclass(frozen=True)
class StackedColumns:
    """One table of all runs, run after run: its columns, and how many rows each run has."""

    columns: dict[str, np.ndarray]
    lengths: NDArray[np.int64]


@dataclass(frozen=True)
class StackedFrames:
    """Rows of `runs`, and the tables of all of them."""

    runs: list[dict[str, Any]]
    tables: dict[str, StackedColumns]


def in_order(pieces: Sequence[Mapping[str, np.ndarray]], runs: int) -> StackedColumns:
    """Pieces of a table, each with the number of the `run` of every row, as one; rows of a run keep their order.

    >>> found = in_order([{"run": np.array([0, 1]), "step": np.array([1, 1])}, {"run": np.array([0]), "step": [2]}], 2)
    >>> found.columns["step"].tolist(), found.lengths.tolist()
    ([1, 2, 1], [2, 1])
    """
    joined = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    order = np.argsort(joined["run"], kind="stable")
    return StackedColumns(
        {name: column[order] for name, column in joined.items()}, np.bincount(joined["run"], minlength=runs)
    )
