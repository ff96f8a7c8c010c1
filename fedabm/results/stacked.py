"""The frames of many runs as columns, before anybody makes pandas frames of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["StackedColumns", "StackedFrames", "as_one", "in_order", "of_runs"]


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
    table = as_one(pieces)
    order = np.argsort(table["run"], kind="stable")
    return StackedColumns(
        {name: column[order] for name, column in table.items()}, np.bincount(table["run"], minlength=runs)
    )


def as_one(pieces: Sequence[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """Pieces of a table as one piece."""
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def of_runs(piece: Mapping[str, np.ndarray], chosen: NDArray[np.bool_]) -> dict[str, np.ndarray]:
    """The rows of those runs whose flag is set.

    >>> of_runs({"run": np.array([0, 1, 0]), "step": np.array([1, 1, 2])}, np.array([True, False]))["step"].tolist()
    [1, 2]
    """
    rows = chosen[piece["run"]]
    return {name: column[rows] for name, column in piece.items()}
