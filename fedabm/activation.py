"""Who acts when within a step: all at once, one after the other, or a random few."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.errors import InputError

Members = NDArray[np.intp]

__all__ = ["Activation", "RandomSubset", "Sequential", "Simultaneous"]


class Activation(ABC):
    """Yields batches of owners; a batch acts at once, on what the batches before it have reported."""

    @abstractmethod
    def batches(self, present: Members, rng: np.random.Generator) -> Iterator[Members]:
        """The batches of one step."""


@dataclass(frozen=True)
class Simultaneous(Activation):
    """Everyone acts on the reports of the step before."""

    def batches(self, present: Members, rng: np.random.Generator) -> Iterator[Members]:
        """One batch of all."""
        yield present


@dataclass(frozen=True)
class Sequential(Activation):
    """One after the other, each seeing what the earlier ones have just reported; in random order if shuffled."""

    shuffle: bool = False

    def batches(self, present: Members, rng: np.random.Generator) -> Iterator[Members]:
        """One batch each."""
        order = rng.permutation(present) if self.shuffle else present
        for owner in order:
            yield np.array([owner])


@dataclass(frozen=True)
class RandomSubset(Activation):
    """k owners, drawn anew each step, act at once; the others repeat their last action.

    Stochastic best response, Murhekar et al. 2025, eq. (11).
    """

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"a random subset needs at least one owner, got k={self.k}; give k >= 1")

    def batches(self, present: Members, rng: np.random.Generator) -> Iterator[Members]:
        """One batch of k (or of all, if fewer are left)."""
        yield np.sort(rng.choice(present, size=min(self.k, len(present)), replace=False))
