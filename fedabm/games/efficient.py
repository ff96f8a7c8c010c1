"""The contributions that are best for all together, and for all but one.

    W = max_s sum_i (a_i(s) - c_i(s_i)),        W_-i = max_s sum_{j != i} (a_j(s) - c_j(s_j)) with s_i = 0

Where only the total S of all data matters and costs are linear, the cheapest data come first, and W is exact: while
owner k is the dearest that gives, it is the top of m v(S) - c_k S for m owners.  Elsewhere `welfare_optimum` climbs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.games.roots import falling_root
from fedabm.games.welfare import welfare_optimum

__all__ = ["efficient_profile", "welfare_without_each"]

#: pairs of an owner that is out and one that gives that are looked at together
_BLOCK = 2**20


def efficient_profile(accuracy: Accuracy, cost: Cost, capacity: Array) -> Array:
    """The contributions (n,) with the largest sum of a_i(s) - c_i(s_i).

    >>> from fedabm.games.accuracy.power_law import PowerLaw
    >>> from fedabm.games.costs import PowerCost
    >>> efficient_profile(PowerLaw(), PowerCost(np.array([0.25, 0.1])), np.array([9.0, 2.0]))
    array([0., 2.])
    """
    shared = _by_total(accuracy, cost, len(capacity))
    if shared is None:
        return welfare_optimum(accuracy, cost, capacity).profile
    total, _ = _best_totals(shared, cost, capacity[None], np.array([float(len(capacity))]))
    order, ends = _cheapest_first(cost, capacity[None])
    profile = np.zeros(len(capacity))
    profile[order] = np.clip(total[0] - (ends[0] - capacity[order]), 0.0, capacity[order])
    return profile


def welfare_without_each(accuracy: Accuracy, cost: Cost, capacity: Array) -> Array:
    """W_-i (n,): the largest welfare of the others if owner i were not there."""
    owners = len(capacity)
    if owners == 1:
        return np.zeros(1)
    shared = _by_total(accuracy, cost, owners)
    if shared is None:
        return np.array([_without(accuracy, cost, capacity, owner) for owner in range(owners)])
    together = max(1, _BLOCK // owners)
    blocks = (np.arange(first, min(first + together, owners)) for first in range(0, owners, together))
    worth = np.concatenate([_worth_without(shared, cost, capacity, out) for out in blocks])
    fixed = cost.value(np.zeros(owners))
    return worth - (fixed.sum() - fixed)


def _worth_without(accuracy: Exposure, cost: Cost, capacity: Array, out: NDArray[np.intp]) -> Array:
    """What the best total is worth to the others, for each of the owners that are `out`."""
    left = np.where(np.arange(len(capacity)) == out[:, None], 0.0, capacity)
    return _best_totals(accuracy, cost, left, np.full(len(out), len(capacity) - 1.0))[1]


def _without(accuracy: Accuracy, cost: Cost, capacity: Array, owner: int) -> float:
    others = np.delete(np.arange(len(capacity)), owner)
    rest = accuracy.restrict(others).among(len(capacity))
    best = welfare_optimum(rest, cost.take(others), capacity[others])
    return len(others) * best.welfare


def _by_total(accuracy: Accuracy, cost: Cost, owners: int) -> Exposure | None:
    """The accuracy, if only the total matters and every unit of an owner costs the same."""
    exposure = accuracy.as_exposure()
    if exposure is None or not (exposure.concave and cost.linear and np.all(cost.closed)):
        return None
    return exposure if exposure.of_total or np.all(exposure.weight_matrix(owners) == 1) else None


def _cheapest_first(cost: Cost, capacity: Array) -> tuple[NDArray[np.intp], Array]:
    """The owners by unit cost, and how much data there are up to each of them, for every row of capacities (r, n)."""
    order = np.argsort(cost.unit(np.zeros(capacity.shape[1])), kind="stable")
    return order, np.cumsum(capacity[:, order], axis=1)


def _best_totals(accuracy: Exposure, cost: Cost, capacity: Array, members: Array) -> tuple[Array, Array]:
    """The best total, and what it is worth less its cost, for each row of capacities (r, n) and number of members."""
    order, ends = _cheapest_first(cost, capacity)
    unit = np.broadcast_to(cost.unit(np.zeros(capacity.shape[1]))[order], ends.shape)
    starts = ends - capacity[:, order]
    many = np.broadcast_to(members[:, None], ends.shape).ravel()
    # At the viable total itself rounding could pick the flat side of the kink.
    low = np.clip(accuracy.viable * (1 + 1e-12), starts, ends)
    steep = unit.ravel()
    tops = falling_root(lambda x: many * accuracy.curve_slope(x) - steep, low.ravel(), ends.ravel()).reshape(ends.shape)
    spent = np.cumsum(unit * (ends - starts), axis=1) - unit * (ends - tops)
    totals = np.column_stack([np.zeros(len(ends)), tops])
    worth = members[:, None] * accuracy.curve(totals) - np.column_stack([np.zeros(len(ends)), spent])
    best, rows = np.argmax(worth, axis=1), np.arange(len(worth))
    return totals[rows, best], worth[rows, best]
