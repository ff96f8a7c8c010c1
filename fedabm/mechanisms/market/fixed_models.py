"""A federation of model owners without any training: models that stay where they are, at given distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.training import RoundResult, State
from fedabm.games.curves import Array, Rows
from fedabm.games.messages import OwnerMessages
from fedabm.views import Exchanging, Reports, Sent

__all__ = ["GivenModels"]


@dataclass(frozen=True)
class GivenModels(Exchanging[State]):
    """Models at `distances` (n, n) from each other, in every round; accuracies are not known and count as zero.

    With it a market runs in the agent-based model in milliseconds a round: leaving, joining, lying.  A distance that is
    not finite belongs to a model that cannot be used.

    Parameters
    ----------
    distances : Any
        Shape (owners, owners): how different two models are.
    """

    distances: Any
    announces = "none"

    def __post_init__(self) -> None:
        distances = np.asarray(self.distances, dtype=float)
        if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
            raise InputError(f"distances have shape {distances.shape}; give one row and one column per owner")
        object.__setattr__(self, "distances", FrozenArray(distances))

    @property
    def owners(self) -> int:
        """For how many owners there are distances."""
        return len(self.distances.array)

    def begin(self, seed: int) -> State:
        """Nothing is learned."""
        return State()

    def round(self, state: State, messages: OwnerMessages) -> tuple[State, RoundResult]:
        """Models stay as they are."""
        return state, RoundResult.of(messages)

    def worth(self, state: State) -> Accuracy:
        """Nothing is known about accuracies."""
        return Unknown(self.owners)

    def sent(self, state: State, rows: Rows, reports: Reports, *, with_losses: bool = False) -> SentAtDistances:
        """The same models in every round."""
        apart = self.distances.array[np.ix_(np.asarray(rows), np.asarray(rows))]
        return SentAtDistances(reports, np.ones(len(apart), dtype=bool), apart)


@dataclass(frozen=True)
class Unknown(Accuracy):
    """Accuracies that are not known and count as zero."""

    owners: int
    concave = True
    monotone = True

    def values(self, profiles: Array) -> Array:
        """Zeros."""
        return np.zeros(np.shape(profiles))


@dataclass(frozen=True, eq=False)
class SentAtDistances(Sent):
    """Models at given distances.  Nobody trains, so nothing is really sent back."""

    apart: Array

    def distances(self, between: object) -> Array:
        """The given ones, whatever way they are measured."""
        return self.apart.copy()

    def mix(self, weights: Array, who: object = None, instead: object = None) -> None:
        """Models stay as they are."""

    def pulled(self, pull: object) -> None:
        """Models stay where they are."""
