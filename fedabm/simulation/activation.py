"""Who acts when within a step: all at once, one after the other, or a random few."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_whole
from fedabm.views import Flags

Members = NDArray[np.intp]

__all__ = ["Activation", "RandomSubset", "Sequential", "Simultaneous"]


class Activation(ABC):
    """Yields batches of owners; a batch acts at once, on what the batches before it have reported.

    Draws are made for all owners and then used for those that stayed, so that an owner that leaves changes no draw.
    """

    @abstractmethod
    def batches(self, stayed: Flags, rng: np.random.Generator) -> Iterator[Members]:
        """The batches of one step, among the owners that have stayed."""


@dataclass(frozen=True)
class Simultaneous(Activation):
    """Everyone acts on the reports of the step before."""

    def batches(self, stayed: Flags, rng: np.random.Generator) -> Iterator[Members]:
        """One batch of all."""
        yield np.flatnonzero(stayed)


@dataclass(frozen=True)
class Sequential(Activation):
    """One after the other, each seeing what the earlier ones have just reported; in random order if shuffled.

    Parameters
    ----------
    shuffle : bool, optional
        Whether the order is drawn anew in every step.
    """

    shuffle: bool = False

    def batches(self, stayed: Flags, rng: np.random.Generator) -> Iterator[Members]:
        """One batch each."""
        order = rng.permutation(len(stayed)) if self.shuffle else np.arange(len(stayed))
        for owner in order[stayed[order]]:
            yield np.array([owner])


@dataclass(frozen=True)
class RandomSubset(Activation):
    """k owners, drawn anew each step, decide at once; the others repeat their last action, so they train as well.

    Stochastic best response, Murhekar et al. 2025, eq. (11).  For rounds in which only k owners train see
    `fedabm.simulation.participation.SampleCount`.

    Parameters
    ----------
    k : int
        How many owners decide in a step.
    """

    k: int

    def __post_init__(self) -> None:
        check_whole("k, the size of a random subset,", self.k)

    def batches(self, stayed: Flags, rng: np.random.Generator) -> Iterator[Members]:
        """One batch of k (or of all, if fewer are left)."""
        order = rng.permutation(len(stayed))
        yield np.sort(order[stayed[order]][: self.k])
