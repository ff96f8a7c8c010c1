"""The server buys data from the owners that ask least for them, as far as its budget goes, at critical prices."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import InputError, check_number
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Line
from fedabm.games.offers import Offers, full_access
from fedabm.mechanisms.base import Mechanism, full_access_jacobian
from fedabm.views import Reports

__all__ = ["ReverseAuction", "critical_prices"]


@dataclass(frozen=True)
class ReverseAuction(Mechanism):
    """Buy from the cheapest owners while the budget pays all that are bought from, each at the highest winning bid.

        p_i(x) = price_i x for winners, up to their size;     i wins with bid b if b <= budget / (V_{<=b} + size_i)

    V_{<=b} are the sizes of the others that bid no more, so that equal bids win together or not at all.  Bids are unit
    costs at the reported size, so that the auction is over all that an owner has, and everyone gets the model.  The
    price is critical: the supremum of the bids with which the owner would win, hence not the own bid.  Singer 2010,
    "Budget feasible mechanisms", Section 3 (proportional share), with exact thresholds: no price exceeds budget /
    (sizes of all winners), so that never more than the budget is spent.

    Truth is a dominant strategy of owners that only sell (Myerson 1981: winning is monotone in the bid, and winners pay
    the threshold).  An owner that also gains by the model gives some data anyway, and lies to be paid for them.
    A critical price is another owner's bid, or follows from it: `reveals_bids`.

    Parameters
    ----------
    budget : float, optional
        The most that is spent in a round.
    """

    budget: float = field(default=1.0, metadata=within(1e-3, 100.0, log=True))
    budget_balanced = False
    asks_cost = True
    reveals_bids = True
    needs = "nothing"

    def __post_init__(self) -> None:
        check_number("budget of the auction", self.budget, zero=True)

    def terms(self, accuracy: Accuracy, types: Reports) -> Array:
        """What is paid for a unit of everyone's data, 0 to those who do not win: by reported costs and sizes."""
        cost = _reported(types)
        size = np.asarray(types.size, dtype=float)
        whole = cost.value(size) - cost.value(np.zeros(len(size)))
        bids = np.divide(whole, size, out=np.zeros(len(size)), where=size > 0)
        prices = critical_prices(bids, size, self.budget)
        return np.where(wins(bids, size, self.budget), prices, 0.0)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and a price for every unit."""
        price = self.standing_terms(accuracy, reports)
        return full_access(accuracy, reports.contribution, Line(np.zeros(len(price)), price))

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """The accuracies' own: payments are linear."""
        return full_access_jacobian(accuracy, reports.contribution)


def wins(bids: Array, size: Array, budget: float) -> Array:
    """Who wins: equal bids win together or not at all."""
    below = np.sum(np.where(bids[None, :] <= bids[:, None], size[None, :], 0.0), axis=1)
    return np.asarray((size > 0) & (bids * below <= budget))


def critical_prices(bids: Array, size: Array, budget: float) -> Array:
    """The largest bid with which each owner would win while the others' bids stay as they are.

    Between two neighbouring bids b of others the owner wins up to budget / (V + size_i), V being all that bid up to b.

    >>> critical_prices(np.array([1.0, 2.0, 4.0]), np.ones(3), 6.0)
    array([3., 3., 2.])
    """
    found = np.zeros(len(bids))
    for owner in range(len(bids)):
        others = np.delete(bids, owner)
        order = np.argsort(others, kind="stable")
        steps = np.concatenate([[0.0], others[order]])
        before = np.concatenate([[0.0], np.cumsum(np.delete(size, owner)[order])])
        ends = np.concatenate([others[order], [np.inf]])
        most = np.minimum(ends, budget / np.maximum(before + size[owner], 1e-300))
        found[owner] = np.max(np.where(most >= steps, most, 0.0))
    return found


def _reported(reports: Reports) -> Cost:
    if reports.cost is None:
        raise InputError("the reverse auction needs the owners' reported costs, got none; report them")
    return reports.cost
