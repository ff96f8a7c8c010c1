"""Proven bounds on what owners could still gain by any unilateral change over their whole range.

`best_response` proves a bound for every kind of offer, from nothing.  Near an equilibrium of concave offers there is
a shorter proof: if the utility rises at left <= s and falls at right >= s, its maximum lies between them, and the
tangent at s bounds the gain by the larger of u'(s) (right - s) and u'(s) (left - s).

A proof rests on the shape that offers promise, so that is looked at first.  Where nothing is promised, or shares are
means over orders that were drawn, nothing is proven; then all that can be said is what a search finds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedabm.games.best import Best, best_end, best_response, loosened, proven
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.games.intervals import ProofLimits
from fedabm.games.offers import Offers
from fedabm.games.promises import check_promises

__all__ = ["Gains", "certified_gains", "weigh"]


#: how many owners are weighed together: few enough for a processor's cache, and for memory
_AT_ONCE = 16384
#: of more owners than this, this many who could gain most are searched in full
_LEADERS = 1024


class Gains(NamedTuple):
    """What each owner could gain: the most that was found, and a proven bound."""

    found: Array
    bound: Array


def certified_gains(
    offers: Offers, cost: Cost, capacity: Array, profile: Array, limits: ProofLimits | None = None
) -> Array:
    """An upper bound on each owner's gain over its utility at the profile; infinite where no shape is promised.

    The bounds are tight to the tolerance of the `limits`, or to one percent of the largest gain, where nothing finer
    matters, or to what their budget and time allow.
    """
    return weigh(offers, cost, capacity, profile, limits or ProofLimits()).bound


def weigh(
    offers: Offers,
    cost: Cost,
    capacity: Array,
    profile: Array,
    limits: ProofLimits | None,
    largest: Array | None = None,
) -> Gains:
    """What owners gain over their utilities at the profile, with a proof within the limits; None: only a search.

    `largest` is the largest contribution in each owner's game, where rows belong to several games.
    """
    if limits is not None:
        check_promises(offers, capacity)
        limits = None if offers.benefit.sampled else limits
    if offers.shape != "concave" or len(profile) <= _AT_ONCE:
        return _weigh(offers, cost, capacity, profile, limits, largest)
    largest = np.broadcast_to(np.max(profile) if largest is None else largest, profile.shape)
    blocks = (np.arange(first, min(first + _AT_ONCE, len(profile))) for first in range(0, len(profile), _AT_ONCE))
    parts = [
        _weigh(offers.take(rows), cost.take(rows), capacity[rows], profile[rows], limits, largest[rows])
        for rows in blocks
    ]
    return Gains(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _weigh(
    offers: Offers, cost: Cost, capacity: Array, profile: Array, limits: ProofLimits | None, largest: Array | None
) -> Gains:
    found, bound = np.zeros(len(profile)), np.full(len(profile), np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.arange(len(profile))
        if limits is not None:
            bound, proven = _by_tangent(offers, cost, capacity, profile, largest)
            rows = np.flatnonzero(~(proven & (bound <= limits.tolerance)))
        if len(rows):
            found[rows], bound[rows] = _by_search(
                offers.take(rows), cost.take(rows), capacity[rows], profile[rows], limits
            )
    return Gains(*(np.where(np.isnan(gains), np.inf, gains) for gains in (found, bound)))


def _by_search(offers: Offers, cost: Cost, capacity: Array, profile: Array, limits: ProofLimits | None) -> Gains:
    """Gains by searching the whole range."""
    if limits is not None and offers.shape == "monotone" and offers.refund is None and len(profile) > _LEADERS:
        return _of_many(offers, cost, capacity, profile, limits)
    utility = offers.benefit.value(profile) - cost.value(profile)
    best = best_response(offers, cost, capacity, certify=limits, compared=utility)
    return Gains(np.maximum(best.utility - utility, 0.0), np.maximum(best.bound - utility, 0.0))


def _of_many(offers: Offers, cost: Cost, capacity: Array, profile: Array, limits: ProofLimits) -> Gains:
    """Gains of many owners: a proof from the ends of their pieces, and a search for those only who could gain most.

    A percent of the largest gain is soon proven for all, where a search of everybody's range would take dozens of
    steps of a federation.
    """
    blocks = [np.arange(first, min(first + _AT_ONCE, len(profile))) for first in range(0, len(profile), _AT_ONCE)]
    x, best, bound, utility = (np.empty(len(profile)) for _ in range(4))

    def part(rows: NDArray[np.intp]) -> tuple[Offers, Cost, Array]:
        return offers.take(rows), cost.take(rows), capacity[rows]

    for rows in blocks:
        some, theirs, most = part(rows)
        utility[rows] = some.benefit.value(profile[rows]) - theirs.value(profile[rows])
        known = best_end(some, theirs, most, compared=profile[rows])
        x[rows], best[rows] = known.contribution, known.utility
    limits = loosened(limits, best - utility)
    for rows in blocks:
        share = replace(limits, budget=-(-limits.budget * len(rows) // len(profile)))
        sharper = proven(*part(rows), Best(x[rows], best[rows], best[rows]), share)
        best[rows], bound[rows] = sharper.utility, sharper.bound
    leaders = np.argpartition(bound - utility, -_LEADERS)[-_LEADERS:]
    best[leaders] = np.maximum(best[leaders], best_response(*part(leaders)).utility)
    bound = np.maximum(bound, best)
    return Gains(np.maximum(best - utility, 0.0), np.maximum(bound - utility, 0.0))


def _by_tangent(
    offers: Offers, cost: Cost, capacity: Array, profile: Array, largest: Array | None
) -> tuple[Array, NDArray[np.bool_]]:
    """Gains by the shorter proof, and for whom it holds."""
    if offers.shape != "concave":
        return np.full(len(profile), np.inf), np.zeros(len(profile), dtype=bool)
    # Offer and cost may jump at a kink, also at 0; a slope that is a difference or a user's own is no proof.
    smooth = ~np.any(offers.kinks < capacity[:, None], axis=1)
    smooth &= ~np.any(cost.kinks(len(profile)) <= capacity[:, None], axis=1)
    smooth &= cost.convex & cost.closed & offers.benefit.closed
    margin = 1e-7 * (profile + 1e-3 * np.minimum(capacity, np.max(profile) if largest is None else largest))
    points = np.column_stack([np.maximum(profile - margin, 0.0), profile, np.minimum(profile + margin, capacity)])
    left, here, right = (offers.benefit.slope(points) - cost.slope(points)).T
    finite = np.isfinite(here)
    here = np.where(finite, here, 0.0)
    rises = (left >= 0) | (points[:, 0] <= 0)
    falls = (right <= 0) | (points[:, 2] >= capacity)
    gains = np.maximum(here * (points[:, 2] - profile), here * (points[:, 0] - profile))
    return np.maximum(gains, 0.0), smooth & rises & falls & finite
