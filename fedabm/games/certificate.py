"""Proven bounds on what owners could still gain by any unilateral change over their whole range.

`best_response` proves a bound for every kind of offer, from nothing.  Near an equilibrium of concave offers there is
a shorter proof: if the utility rises at left <= s and falls at right >= s, its maximum lies between them, and the
tangent at s bounds the gain by the larger of u'(s) (right - s) and u'(s) (left - s).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedabm.games.best import best_response
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.games.offers import Offers

__all__ = ["certified_gains"]


def certified_gains(
    offers: Offers, cost: Cost, capacity: Array, profile: Array, tolerance: float = 1e-10, budget: int = 2**20
) -> Array:
    """An upper bound on each owner's gain over its utility at the profile; infinite where no shape is promised.

    The bounds are tight to `tolerance`, or to one percent of the largest gain, where nothing finer matters, or to what
    `budget` allows: the number of intervals that a proof about non-concave offers may look at.
    """
    gains, proven = _by_tangent(offers, cost, capacity, profile)
    rows = np.flatnonzero(~(proven & (gains <= tolerance)))
    if len(rows):
        gains[rows] = _by_search(offers.take(rows), cost.take(rows), capacity[rows], profile[rows], tolerance, budget)
    return gains


def _by_search(offers: Offers, cost: Cost, capacity: Array, profile: Array, tolerance: float, budget: int) -> Array:
    """Gains by searching the whole range; proofs where u is not concave take long, so a quick look sets their aim."""
    utility = offers.benefit.value(profile) - cost.value(profile)
    if offers.shape != "concave" or not np.all(cost.convex):
        seen = best_response(offers, cost, capacity).utility - utility
        tolerance = max(tolerance, 0.01 * float(np.max(seen)))
    bound = best_response(offers, cost, capacity, certify=True, tolerance=tolerance, budget=budget).bound
    return np.maximum(bound - utility, 0.0)


def _by_tangent(offers: Offers, cost: Cost, capacity: Array, profile: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Gains by the shorter proof, and for whom it holds."""
    if offers.shape != "concave":
        return np.full(len(profile), np.inf), np.zeros(len(profile), dtype=bool)
    smooth = ~np.any(offers.kinks < capacity[:, None], axis=1)
    # Offer and cost may jump at a kink, also at 0; of a user's own cost the slope is no proof.
    smooth &= ~np.any(cost.kinks(len(profile)) <= capacity[:, None], axis=1) & cost.convex & cost.closed
    margin = 1e-7 * (profile + 1e-3 * np.minimum(capacity, np.max(profile)))
    points = np.column_stack([np.maximum(profile - margin, 0.0), profile, np.minimum(profile + margin, capacity)])
    left, here, right = (offers.benefit.slope(points) - cost.slope(points)).T
    finite = np.isfinite(here)
    here = np.where(finite, here, 0.0)
    rises = (left >= 0) | (points[:, 0] <= 0)
    falls = (right <= 0) | (points[:, 2] >= capacity)
    gains = np.maximum(here * (points[:, 2] - profile), here * (points[:, 0] - profile))
    return np.maximum(gains, 0.0), smooth & rises & falls & finite
