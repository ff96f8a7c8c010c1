"""Owners that do not calculate: all, a fixed share, as asked, as before, nothing, or anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_range
from fedabm.strategies.base import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["AsAsked", "FixedShare", "FreeRider", "Honest", "Keep", "Random"]


@dataclass(frozen=True)
class AsAsked(Strategy):
    """Contribute what the mechanism asks for, as far as the data go; where it asks for nothing, what it did before.

    s_i = min(quota_i, capacity).  What MW-FedAvg assumes of everyone (`MultiplicativeWeights`).
    """

    stacks = True

    def act(self, view: OwnerView) -> Action:
        """The quota."""
        if view.quota is None:
            return view.truthful(view.last.contribution)
        return view.truthful(np.minimum(view.quota, view.capacity), used="quota")


@dataclass(frozen=True)
class Honest(Strategy):
    """Contribute all data and say so, whatever it costs: s_i = capacity.  What plain FedAvg assumes of everyone."""

    stacks = True

    def act(self, view: OwnerView) -> Action:
        """Everything."""
        return view.truthful(view.capacity)


@dataclass(frozen=True)
class FixedShare(Strategy):
    """Contribute the same share of the data every step: s_i = share * capacity.

    Parameters
    ----------
    share : float
        Which share of its data it contributes.
    """

    share: float
    stacks = True

    def __post_init__(self) -> None:
        check_range("contributed share", self.share, 0.0, 1.0)

    def act(self, view: OwnerView) -> Action:
        """The share."""
        return view.truthful(self.share * view.capacity)


@dataclass(frozen=True)
class Keep(Strategy):
    """Contribute what it did before, in the first step its start: for instance an equilibrium that was solved for."""

    stacks = True

    def act(self, view: OwnerView) -> Action:
        """The same again."""
        return view.truthful(view.last.contribution)


@dataclass(frozen=True)
class FreeRider(Strategy):
    """Contribute nothing and take the model: s_i = 0.  Karimireddy et al. 2022, Section 3.2."""

    stacks = True

    def act(self, view: OwnerView) -> Action:
        """Nothing."""
        return view.truthful(np.zeros_like(view.capacity))


@dataclass(frozen=True)
class Random(Strategy):
    """Contribute a share of the data drawn anew each step: s_i ~ U[low, high] * capacity.

    Parameters
    ----------
    low : float, optional
        Least share of its data.
    high : float, optional
        Largest share of its data.
    """

    low: float = 0.0
    high: float = 1.0
    stacks = True

    def __post_init__(self) -> None:
        check_range("lowest share", self.low, 0.0, 1.0)
        check_range("highest share", self.high, self.low, 1.0)

    def act(self, view: OwnerView) -> Action:
        """A random share."""
        return view.truthful(view.rng.uniform(self.low, self.high) * view.capacity)
