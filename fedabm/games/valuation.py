"""What a settled step is worth to its owners: what they gain by it and what it really costs them.

The scenario chooses; the model, never the mechanism, evaluates it on true facts: all mechanisms are judged alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from numpy.typing import NDArray

from fedabm.games.costs import Cost
from fedabm.games.curves import Array

__all__ = ["Deal", "ReceivedAccuracy", "Valuation"]


class Deal(NamedTuple):
    """A settled step by the true facts of the owners present, one entry each.

    accuracy      what the model is worth that each owner was handed
    contribution  data it really used
    capacity      data it has
    cost          its true cost function
    eagerness     how eager it is for others' data
    person        who is behind it: owners of the same number are one person
    imports       (n, n): whether i imports j's model; None where all share one model
    """

    accuracy: Array
    contribution: Array
    capacity: Array
    cost: Cost
    eagerness: Array
    person: NDArray
    imports: NDArray | None = None


class Valuation(ABC):
    """How owners value a settled step; utility = gain + payment - cost."""

    #: whether what an owner gains depends on the models that are handed to others
    compares: ClassVar[bool] = False

    @abstractmethod
    def gain(self, deal: Deal) -> Array:
        """What each owner gains."""

    @abstractmethod
    def cost(self, deal: Deal) -> Array:
        """What it truly costs each owner."""

    def utility(self, deal: Deal, gain: Array, payment: Array, cost: Array) -> Array:
        """What owners are left with by their gains, payments and costs: the sum, unless money counts otherwise."""
        return gain + payment - cost


@dataclass(frozen=True)
class ReceivedAccuracy(Valuation):
    """An owner gains the accuracy it receives and bears the cost of the data it contributes."""

    def gain(self, deal: Deal) -> Array:
        """The accuracy received."""
        return deal.accuracy

    def cost(self, deal: Deal) -> Array:
        """c_i at the own contribution."""
        return deal.cost.value(deal.contribution)
