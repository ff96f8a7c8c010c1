"""What attacks share that look at more than the own update."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fedabm.common.errors import InputError, check_positive
from fedabm.common.random import Streams
from fedabm.games.messages import Surroundings

__all__ = ["Attack", "honest", "lengths", "like", "mean", "normal", "spread"]


@dataclass(frozen=True)
class Attack(ABC):
    """What owners send instead of their updates, by what stands around them.

    omniscient  it sees the updates of all owners, which nobody could in life without spies; results with it are bounds

    Parameters
    ----------
    scale : float, optional
        How strong it is; what it multiplies stands with each attack.
    """

    scale: float = 1.0
    omniscient: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive("scale of the attack", self.scale, zero=True)

    @abstractmethod
    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """The rows (k, P) that are sent instead of the honest ones."""


def normal(rows: Any, rng: Streams) -> Any:
    """Standard normal numbers shaped like the rows and of their kind, each row from its owner's own stream."""
    drawn = np.stack([one.standard_normal(rows.shape[1], dtype=np.float32) for one in rng.each()])
    return like(rows, drawn)


def like(rows: Any, numbers: np.ndarray) -> Any:
    """Numbers of the same kind as the rows, tensor or array."""
    return rows.new_tensor(numbers) if hasattr(rows, "new_tensor") else numbers.astype(rows.dtype)


def lengths(rows: Any) -> Any:
    """How long each row is, (k, 1)."""
    return (rows**2).sum(1)[:, None] ** 0.5


def honest(around: Surroundings) -> Any:
    """The updates (m, P) of all who do not attack."""
    if around.everyone is None:
        raise InputError("this attack sees all updates, and here nobody shows them; let owners train by Learning")
    others = np.setdiff1d(around.senders, around.members)
    if not len(others):
        raise InputError("an attack on the others' updates needs others that send any; leave somebody honest")
    return around.everyone[others]


def mean(rows: Any) -> Any:
    """The mean row, (1, P)."""
    return rows.mean(0)[None]


def spread(rows: Any) -> Any:
    """The standard deviation of each column, (1, P)."""
    return (((rows - mean(rows)) ** 2).mean(0) ** 0.5)[None]
