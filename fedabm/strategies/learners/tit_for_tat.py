"""As the others do to me."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.games.curves import Array
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import others_mean
from fedabm.views import Action, Neighbours, OwnerView

__all__ = ["TitForTat", "shares_seen"]


@dataclass(frozen=True)
class TitForTat(Strategy):
    """Begin with everything; then give the share of the data that the neighbours were seen to give in the last step.

        s_i = capacity * mean over neighbours j of (claimed contribution_j / claimed size_j)

    Who sees no neighbour goes on as before.  Without a network only the total is public: then as much data as the
    others gave on average.  Axelrod 1984 with shares instead of two actions, and many opponents instead of one.
    """

    stacks = True

    def act(self, view: OwnerView) -> Action:
        """The same to them."""
        if view.neighbours is None:
            seen, used = others_mean(view) if view.present > 1 else view.last.contribution, "total"
        else:
            mean = view.neighbours.mean(shares_seen(view.neighbours))
            seen, used = np.where(np.isnan(mean), view.last.contribution, mean * view.capacity), "neighbours"
        new = np.isnan(view.last.utility)
        return view.truthful(np.where(new, view.capacity, np.minimum(seen, view.capacity)), used=used)


def shares_seen(seen: Neighbours) -> Array:
    """The share of its data that each neighbour said it gave, at most all; 0 for one that claims to have none."""
    share = np.divide(seen.contribution, seen.size, out=np.zeros(len(seen.size)), where=seen.size > 0)
    return np.minimum(share, 1.0)
