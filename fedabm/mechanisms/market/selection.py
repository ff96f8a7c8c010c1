"""Who imports whose model: Algorithm 2 of iPFL 2025, for all owners at once.

Each owner looks at the others in the order of their thresholds, the largest first, and imports a model if that is worth
its price given what it imports already.  Corrected: a model that is not worth its price is passed over (`continue`);
the printed algorithm stops there (`break`) and misses smaller, cheaper models behind a large, dear one.

With `continue` nobody gains by adding or dropping one model, condition (9): the total of what is imported stays below
the threshold of the last model accepted, hence below those of all accepted before; and a model passed over was not
worth its price with fewer data, so it is not with more.
"""

from __future__ import annotations

import numpy as np

from fedabm.games.curves import Array
from fedabm.views import Flags

__all__ = ["select"]


# How many ranks are looked at before asking whether anybody is still searching.
_STRIDE = 128


def select(limits: Array, sizes: Array, *, printed: bool = False) -> Flags:
    """Who imports (rows) whose model (columns), by the limits of `fedabm.mechanisms.market.thresholds.limits`.

    Ranks are decided in order, since each decision depends on those before, for all rows together.  Equal thresholds
    are taken in the order of the owners.

    Parameters
    ----------
    limits : Array
        Shape (importers, owners): from `limits`.
    sizes : Array
        Claimed data of each owner.
    printed : bool, optional
        Whether free models are left out, as printed.

    Returns
    -------
    Flags
        Shape (importers, owners): who imports whose model.
    """
    threshold = limits + sizes
    if not printed:
        # What is not worth its price to an owner without imports is never accepted, so it need not be looked at.
        threshold[limits <= 0.0] = -np.inf
    order = np.argsort(-threshold, axis=1, kind="stable")
    accepted = np.zeros(limits.shape, dtype=bool)
    search = _Search(len(limits), printed)
    for start in range(0, limits.shape[1], _STRIDE):
        ranks = order[:, start : start + _STRIDE]
        if search.over(np.take_along_axis(threshold, ranks[:, :1], axis=1)[:, 0]):
            break
        taken = search.scan(np.take_along_axis(limits, ranks, axis=1).T, sizes[ranks].T)
        np.put_along_axis(accepted, ranks, taken.T, axis=1)
    return accepted


class _Search:
    """How much each owner imports so far, and whether it is still searching."""

    def __init__(self, owners: int, stops: bool) -> None:
        self.imported = np.zeros(owners)
        self.searching = np.ones(owners, dtype=bool)
        self.stops = stops

    def over(self, threshold: Array) -> bool:
        """Nobody accepts a model of this threshold or any later one: imports have reached it."""
        return not np.any(self.searching & (self.imported < threshold))

    def scan(self, limits: Array, sizes: Array) -> Flags:
        """Accept, of the next ranks (rows), what is worth its price; if it `stops`, a first refusal is the last.

        Guess who is accepted, add up what is then imported before each rank, decide anew, until nothing changes.  Each
        decision depends on earlier ranks only, so at least one more rank is right after every pass, and mostly all are.
        """
        accepted, previous = self._worth(self.imported, limits), None
        while previous is None or not np.array_equal(accepted, previous):
            previous = accepted
            imported = np.cumsum(np.vstack([self.imported, previous * sizes]), axis=0)
            accepted = self._worth(imported[:-1], limits)
        self.imported = imported[-1]
        if self.stops:
            self.searching = accepted[-1]
        return accepted

    def _worth(self, imported: Array, limits: Array) -> Flags:
        worth = imported < limits
        return self.searching & np.logical_and.accumulate(worth, axis=0) if self.stops else worth
