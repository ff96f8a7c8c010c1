"""Where Newton's methods apply, and where they begin: in all games of a table at once."""

from __future__ import annotations

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.games.best import best_response
from fedabm.games.offers import Offers
from fedabm.solving.table import GameTable

__all__ = ["is_smooth", "opening"]


def is_smooth(table: GameTable, offers: Offers | None = None) -> Flags:
    """In which games every owner's utility is smooth and concave over its whole range, whatever the others do.

    `offers` are those when nobody contributes, if they are known already.  Kinks can move into an owner's range as the
    others contribute, so they must be the same against everybody's data.
    """
    none = offers or table.offers(np.zeros_like(table.capacities))
    smooth = ~_has_kinks(table, none)
    if not np.any(smooth) or not none.kinks.shape[1]:
        return smooth
    full = table.offers(table.capacities)
    if full.kinks.shape != none.kinks.shape:
        return np.zeros_like(smooth)
    same = np.all(full.kinks == none.kinks, axis=1)
    return smooth & ~_has_kinks(table, full) & _for_all(table, same)


def _has_kinks(table: GameTable, offers: Offers) -> Flags:
    """In which games some owner's utility is not smooth and concave over its whole range."""
    top = table.capacities.reshape(-1, 1)
    inside = np.any(offers.kinks < top, axis=1)
    jumps = np.any(table.costs.kinks(len(top)) < top, axis=1)
    return ~_for_all(table, (offers.shape == "concave") & ~inside & ~jumps & table.costs.convex)


def _for_all(table: GameTable, owners: Flags) -> Flags:
    """In which games something holds for all owners."""
    return np.all(owners.reshape(table.capacities.shape), axis=1)


def opening(table: GameTable, offers: Offers | None = None, rounds: int = 5) -> Array:
    """A point between nobody contributing and everyone contributing as if it were alone: where slopes cancel.

    Bisection of the ray's length on the sign of the mean slope, weighted with the contributions.  `offers` are those
    when nobody contributes, if they are known already.
    """
    alone = _alone(table, offers or table.offers(np.zeros_like(table.capacities)))
    games, owners = alone.shape
    low, high = np.full((games, 1), np.log(0.25 / owners)), np.zeros((games, 1))
    for _ in range(rounds if np.any(alone) else 0):
        middle = 0.5 * (low + high)
        rises = np.sum(alone * table.slopes(np.exp(middle) * alone), axis=1, keepdims=True) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.exp(0.5 * (low + high)) * alone


def _alone(table: GameTable, offers: Offers, rounds: int = 8) -> Array:
    """Roughly what each owner would contribute if nobody else did; a few percent are good enough to start from."""
    top, costs = table.capacities.ravel(), table.costs
    if np.any(_has_kinks(table, offers)):
        return best_response(offers, costs, top).contribution.reshape(table.capacities.shape)
    curve = offers.benefit
    high = np.log(top)
    low = least = high + np.log(1e-6)
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        rises = curve.slope(np.exp(middle)) > costs.slope(np.exp(middle))
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(low > least, np.exp(0.5 * (low + high)), 0.0).reshape(table.capacities.shape)
