"""What has gone best for somebody like me."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.tit_for_tat import shares_seen
from fedabm.views import Action, OwnerView

__all__ = ["Imitation"]


@dataclass(frozen=True)
class Imitation(Strategy):
    """Give the share of the data that the neighbour with the best deal gave, if that deal beats one's own.

        j = argmax_j  accuracy_j + payment_j - c_i(share_j * capacity_i),      share_j = contribution_j / size_j

    as j claimed them.  Nobody's cost is public, so it asks what the other's deal would have been worth to itself.
    Begins with its start, and goes on as before while no neighbour has a better deal or none is seen, as without a
    network.  Imitate the best neighbour: Nowak and May 1992; copying only what is better: Schlag 1998.
    """

    stacks = True

    def act(self, view: OwnerView) -> Action:
        """The best neighbour's share, or again its own."""
        last, seen = view.last, view.neighbours
        if seen is None:
            return view.truthful(last.contribution)
        row, shares = seen.row, shares_seen(seen)
        would = view.capacity[row] * shares
        worth = seen.accuracy + seen.payment - view.cost.take(row).value(would)
        own = last.accuracy + last.payment - view.cost.value(last.contribution)
        wanted, best = last.contribution.copy(), seen.best(worth)
        better = np.flatnonzero((best >= 0) & np.isfinite(last.utility))
        better = better[worth[best[better]] > own[better]]
        wanted[better] = would[best[better]]
        return view.truthful(wanted, used="neighbours")
