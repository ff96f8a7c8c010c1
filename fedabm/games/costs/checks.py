"""Whether a user's own cost keeps its promises: finite, never falling, convex between breaks, with a true slope."""

from __future__ import annotations

import numpy as np

from fedabm.common.errors import MOST, InputError
from fedabm.games.costs.base import Cost
from fedabm.games.costs.many import groups, stack
from fedabm.games.curves import Array
from fedabm.games.roots import just_inside
from fedabm.games.slopes import contradicted, inside, is_own

__all__ = ["check_costs"]

#: points at which a cost is looked at, in all and at least in each piece
_POINTS, _LEAST = 1024, 16


def check_costs(cost: Cost, capacity: Array) -> None:
    """Raise unless all data of every owner have a cost, and costs of users' own keep their promises.

    Parameters
    ----------
    cost : Cost
        Costs of all owners, stacked.
    capacity : Array
        How much data each owner has, shape (owners,).
    """
    if not cost.linear:
        _check_all_data(cost, capacity)
    for rows, part in groups(cost, len(capacity)):
        if not np.all(part.closed) or is_own(part):
            _check(part, float(np.max(capacity[rows])))


def _check_all_data(cost: Cost, capacity: Array) -> None:
    """A cost never falls, so that the last unit tells whether all of them can be added up."""
    spent = np.broadcast_to(cost.value(capacity), capacity.shape)
    large = ~(spent <= MOST)
    if np.any(large):
        owner = int(np.argmax(large))
        broken = f"all {capacity[owner]:g} units of an owner cost {spent[owner]:g}, more than {MOST:g}"
        raise InputError(f"{broken}; lower its capacity, or the exponent or rate of its cost")


def _check(cost: Cost, top: float) -> None:
    """One user's own cost on [0, top]: at the breaks, just beside them, and at many points between."""
    edges = np.unique(np.clip([0.0, *cost.breaks, top], 0.0, top))
    share = np.linspace(0.0, 1.0, max(_LEAST, _POINTS // len(edges)))
    left, right = just_inside(edges[:-1], edges[1:])
    inside = left[:, None] + (right - left)[:, None] * share
    x = np.append(np.column_stack([edges[:-1], inside]).ravel(), top)
    seen = stack([cost]).value(x[None])[0]
    if np.any(seen < 0) or np.any(seen > MOST):
        point = int(np.argmax((seen < 0) | (seen > MOST)))
        raise InputError(f"{cost!r} is {seen[point]:g} at {x[point]:g}; a cost must lie between 0 and {MOST:g}")
    rounding = 1e-12 * seen.max() + 1e-300
    falls = np.diff(seen) < -rounding
    if np.any(falls):
        point = int(np.argmax(falls))
        raise InputError(f"{cost!r} falls between {x[point]:g} and {x[point + 1]:g}; a cost must not fall")
    each = seen[:-1].reshape(len(inside), -1)[:, 1:]
    hollow = each[:, :-2] + each[:, 2:] - 2.0 * each[:, 1:-1] < -rounding
    if cost.convex and np.any(hollow):
        point = inside[:, 1:-1][hollow][0]
        remedy = "name its jumps in `breaks`, or say convex = False"
        raise InputError(f"{cost!r} is not convex at {point:g}; {remedy}")
    if cost.states_slope:
        _check_slope(cost, edges)


def _check_slope(cost: Cost, edges: Array) -> None:
    """A slope of the user's own against its values, inside each piece."""
    x, width = (each.ravel() for each in inside(edges[:-1, None], np.diff(edges)[:, None]))
    one = stack([cost])
    slope = one.slope(x[None])[0]
    wrong, rise = contradicted(lambda at: one.value(at[None])[0], slope, x, width)
    if np.any(wrong):
        point = int(np.argmax(wrong))
        broken = f"{cost!r} has slope {slope[point]:.4g} at {x[point]:.4g}, but its values rise by {rise[point]:.4g}"
        raise InputError(f"{broken} per unit there; mend `slope`, or leave it out")
