"""Rows of numbers that lie elsewhere, and what can be asked of them without bringing them here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "BLOCK",
    "MANY",
    "PIECE",
    "RowsElsewhere",
    "added",
    "blocks_of_sums",
    "order_of_sums",
    "pieces",
    "screen_rows",
    "weighted",
]

#: how many numbers are copied at once
PIECE = 1 << 24
#: up to this many owners are added as they stand, as they were before owners could be spread, also in recorded runs
FEW = 64
#: more owners than this are added in blocks of so many, so that no worker waits for others with the rows of all of them
MANY, BLOCK = 4096, 256


def pieces(rows: Tensor) -> tuple[Tensor, ...]:
    """All rows, some columns at a time."""
    return rows.split(max(PIECE // max(len(rows), 1), 1), dim=1)


def screen_rows(rows: Tensor) -> Tensor:
    """Which rows hold finite numbers only, (n,): zero times anything else is not a number (much faster than asking)."""
    return torch.stack([(part * 0.0).sum(dim=1) for part in pieces(rows)]).sum(dim=0) == 0.0


class RowsElsewhere(ABC):
    """Rows (n, P), such as everybody's updates, that lie with workers: sums and tables come here, rows if they must."""

    device: torch.device
    dtype = torch.float32

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many rows, and numbers in a row."""

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def usable(self) -> Tensor:
        """Which rows hold finite numbers only, (n,)."""

    @abstractmethod
    def mixed(self, weights: Tensor, kept: Tensor, order: Tensor | None) -> Tensor:
        """sum_i weights_i rows_i (P,) over the rows that are `kept`, added in this order (None: as they stand)."""

    @abstractmethod
    def by_columns(self, work: Callable[[Tensor], Tensor]) -> Tensor:
        """The results (..., columns) of some work on pieces (n, columns), side by side."""

    @abstractmethod
    def products(self, work: Callable[[Tensor], Tensor]) -> Tensor:
        """The sum of what some work makes of the pieces (n, columns) that `pieces` cuts."""

    @abstractmethod
    def select(self, rows: Tensor) -> RowsElsewhere:
        """Some of the rows."""

    @abstractmethod
    def take(self, rows: Tensor) -> Tensor:
        """Some of the rows, brought here."""

    @abstractmethod
    def replaced(self, rows: Tensor, by: Tensor) -> RowsElsewhere | Tensor:
        """With other numbers in some rows."""

    @abstractmethod
    def gathered(self, reason: str) -> Tensor:
        """All rows, brought here, which is said once for each reason."""


def order_of_sums(steps: np.ndarray) -> np.ndarray | None:
    """The order in which updates are added: many that took unequal steps longest first; None: as they stand.

    That is the order in which they are trained, so that workers can add them up where they are.

    >>> order_of_sums(np.array([2, 5, 1])) is order_of_sums(np.full(100, 3)) is None
    True
    >>> order_of_sums(np.array([2] * 70 + [5, 0, 5]))[:3].tolist()
    [70, 72, 0]
    """
    taken = steps[steps > 0]
    if len(steps) <= FEW or not len(taken) or np.all(taken == taken[0]):
        return None
    return np.argsort(-steps, kind="stable")


def added(total: Tensor | None, weights: Tensor, rows: Tensor) -> Tensor:
    """total + sum_i weights_i rows_i (P,), the rows added one after the other, so that parts of a sum can be chained.

    >>> rows, weights = torch.randn(7, 3), torch.rand(7)
    >>> bool((added(added(None, weights[:4], rows[:4]), weights[4:], rows[4:]) == added(None, weights, rows)).all())
    True
    """
    if not len(rows):
        return torch.zeros_like(rows[:0].sum(dim=0)) if total is None else total
    if total is None:
        return (weights.unsqueeze(0) @ rows)[0]
    return torch.addmm(total.unsqueeze(0), weights.unsqueeze(0), rows)[0]


def weighted(weights: Tensor, rows: Tensor) -> Tensor:
    """weights (m, n) @ rows (n, P); many rows block by block, and the sums of blocks one after the other."""
    if len(rows) <= MANY:
        return weights @ rows
    total = weights[:, :BLOCK] @ rows[:BLOCK]
    for first in range(BLOCK, len(rows), BLOCK):
        total = total + weights[:, first : first + BLOCK] @ rows[first : first + BLOCK]
    return total


def blocks_of_sums(steps: np.ndarray) -> np.ndarray:
    """In which block of the sum everybody's update is, (n,), by the steps of local training; few make a single one.

    >>> [blocks_of_sums(np.ones(owners, dtype=int)).max().item() for owners in (1000, 5000)]
    [0, 19]
    """
    blocks = np.zeros(len(steps), dtype=np.int64)
    if len(steps) > MANY:
        order = order_of_sums(steps)
        blocks[slice(None) if order is None else order] = np.arange(len(steps)) // BLOCK
    return blocks
