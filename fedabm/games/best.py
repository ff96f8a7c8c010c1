"""The best contribution against an offer, over the whole range, with a proven bound.

For owner i the utility u(x) = received(x) + payment(x) - c(x) is maximised over [0, capacity].  At a kink u itself may
jump, so it counts as it is there and as it is just beside.  Between two kinks of offer or cost it is

- concave: the root of u' is bracketed, and tangents at the two ends of the bracket bound u from above (where a slope is
  a user's own or a difference, chords through the values do: see `concave_bound`);
- monotone in received + payment, or concave in it while the cost is not convex: a grid finds the maximum, and a proof
  by intervals bounds u (see `intervals`);
- unknown: a grid only; no bound is proven and `bound` is infinite.

The gap of a profile, bound - u(profile), is the largest gain any owner could still make: what certifies an equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import check_time
from fedabm.games.chords import concave_bound
from fedabm.games.costs import Cost, covers
from fedabm.games.curves import Array, Curve
from fedabm.games.intervals import ProofLimits, prove
from fedabm.games.offers import Offers, all_kinks
from fedabm.games.roots import just_inside

__all__ = ["Best", "best_end", "best_response", "concave_rows", "loosened", "pieces", "proven"]

_GRID = np.linspace(0.0, 1.0, 33)
#: how many intervals are searched together: enough to make NumPy's overhead small, few enough for a processor's cache
_AT_ONCE = 1024
_ROUNDS = 80


@dataclass(frozen=True)
class Best:
    """The best contribution found, its utility, and a proven upper bound on the utility anywhere in the range."""

    contribution: Array
    utility: Array
    bound: Array


@np.errstate(over="ignore", invalid="ignore")
def best_response(
    offers: Offers, cost: Cost, capacity: Array, *, certify: ProofLimits | None = None, compared: Array | None = None
) -> Best:
    """Maximise received + payment - cost over [0, capacity] for every owner at once.

    Without limits of a proof, `certify`, the bound of non-concave offers, and of users' own costs and curves, is left
    infinite, which is much faster.  A proof is no tighter than one percent of the largest gain over the
    utilities `compared`.

    Parameters
    ----------
    offers : Offers
        The curves that owners face.
    cost : Cost
        The cost function of each owner, one row each.
    capacity : Array
        How much data each owner has, shape (owners,).
    certify : ProofLimits | None, optional
        How tight a proof to look for; None: none.
    compared : Array | None, optional
        Utilities that matter: a proof need be no tighter than one percent of the gain over them.

    Returns
    -------
    Best
        Best contributions and utilities, with proven upper bounds, one per owner.
    """
    if not len(capacity):
        return Best(np.zeros(0), np.zeros(0), np.zeros(0))
    low, high = pieces(all_kinks(offers, cost), capacity)
    easy = concave_rows(offers, cost, len(capacity))
    if np.all(easy):
        x, utility, bound = _climb(offers, cost, low, high)
        if not np.all(cost.closed & offers.benefit.closed):
            bound = _by_values(offers, cost, low, high, x, utility, bound, certify=certify is not None)
        return _choose(x, utility, bound)
    if np.any(easy):
        return _apart(
            easy,
            lambda rows: best_response(
                offers.take(rows),
                cost.take(rows),
                capacity[rows],
                certify=certify,
                compared=None if compared is None else compared[rows],
            ),
        )
    best = _choose(*_scan(offers, cost, low, high))
    if offers.shape == "unknown" or certify is None:
        return Best(best.contribution, best.utility, np.full(len(capacity), np.inf))
    if compared is not None:
        certify = loosened(certify, best.utility - compared)
    return proven(offers, cost, capacity, best, certify)


def loosened(limits: ProofLimits, gains: Array) -> ProofLimits:
    """No tighter than one percent of the largest gain."""
    return replace(limits, tolerance=max(limits.tolerance, 0.01 * float(np.max(gains, initial=0.0))))


def proven(offers: Offers, cost: Cost, capacity: Array, best: Best, certify: ProofLimits) -> Best:
    """A proof by intervals beside the best that is known, which knows every kink; better points on the way are kept."""
    low, high = pieces(all_kinks(offers, cost), capacity)
    # Where the cost jumps the refund may, too: the kink itself was looked at, and proofs are about the inside.
    whole = offers.shape == "monotone" and not cost.kinks(len(capacity)).shape[1]
    inside = (low, high) if whole else just_inside(low, high)
    found = (best.contribution, best.utility)
    concave = offers.shape == "concave"
    return Best(*prove(offers.benefit, cost, *inside, found, certify, concave=concave, caps=offers.caps))


@np.errstate(over="ignore", invalid="ignore")
def best_end(offers: Offers, cost: Cost, capacity: Array, compared: Array) -> Best:
    """The best among 0, the kinks, the capacity and a `compared` contribution: where a proof can begin."""
    low, high = pieces(all_kinks(offers, cost), capacity)
    points = np.column_stack([compared, low, high[:, -1]])
    utility = offers.benefit.value(points) - cost.value(points)
    return _choose(points, utility, np.full_like(utility, np.inf))


def concave_rows(offers: Offers, cost: Cost, owners: int) -> NDArray[np.bool_]:
    """Whose utility is concave between kinks: of all convex costs, or of those that still are so less the refund."""
    refund, concave = offers.refund, np.full(owners, offers.shape == "concave")
    if refund is not None:
        concave |= covers(cost, refund, owners) | refund.straight
    return concave & cost.convex


def _apart(first: NDArray[np.bool_], answer: Callable[[NDArray[np.intp]], Best]) -> Best:
    """Ask for two groups of owners one after the other and put the answers together."""
    groups = np.flatnonzero(first), np.flatnonzero(~first)
    parts, order = [answer(rows) for rows in groups], np.argsort(np.concatenate(groups))
    columns = ((part.contribution, part.utility, part.bound) for part in parts)
    return Best(*(np.concatenate(column)[order] for column in zip(*columns, strict=True)))


def pieces(kinks: Array, capacity: Array) -> tuple[Array, Array]:
    """Lower and upper ends (n, p) of the intervals between 0, the kinks and the capacity."""
    top = capacity[:, None]
    if not kinks.shape[1]:
        return np.zeros_like(top), top
    edges = np.sort(np.hstack([np.zeros_like(top), np.clip(kinks, 0.0, top), top]), axis=1)
    return edges[:, :-1], edges[:, 1:]


def _choose(x: Array, utility: Array, bound: Array) -> Best:
    """The best of several candidates (n, k) of each owner; the first among equals."""
    rows, pick = np.arange(len(x)), np.argmax(utility, axis=1)
    # Owners are many and candidates few: NumPy is ten times faster along the long axis.
    return Best(x[rows, pick], utility[rows, pick], np.ascontiguousarray(bound.T).max(axis=0))


def _climb(offers: Offers, cost: Cost, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """The maximum of a concave function on each interval, with its bound from tangents."""
    benefit, slope = offers.benefit, _slope(offers, cost)

    def utility(x: Array) -> Array:
        return benefit.value(x) - cost.value(x)

    # Slopes are taken just inside the ends: at an end they may belong to the neighbouring piece.
    left, right = just_inside(low, high)
    steep_left, steep_right = slope(left), slope(right)
    falls, rises = steep_left <= 0, steep_right >= 0
    outside = np.where(falls, left - low, high - right)
    right, steep_right = np.where(falls, left, right), np.where(falls, steep_left, steep_right)
    left, steep_left = np.where(rises & ~falls, right, left), np.where(rises & ~falls, steep_right, steep_left)
    # Most owners of a large federation are at an end; only the others need a search.
    inner = np.flatnonzero(~np.all(falls | rises, axis=1))
    if len(inner):
        brackets = (left, right, steep_left, steep_right)
        left_, right_, steep_left_, steep_right_ = (ends[inner] for ends in brackets)
        found = _bracket(_slope(offers.take(inner), cost.take(inner)), left_, right_, steep_left_, steep_right_)
        for ends, sharpened in zip(brackets, found, strict=True):
            ends[inner] = sharpened
    value_left, value_right = utility(left), utility(right)
    reach = right - left
    bound = np.minimum(value_left + _rise(steep_left, reach), value_right + _rise(steep_right, reach))
    bound = np.maximum(np.maximum(value_left, value_right), bound)
    # A maximum at an end of the piece lies within the tiny margin outside the bracket.
    margin = outside * np.maximum(np.abs(steep_left), np.abs(steep_right))
    bound = np.where(falls | rises, bound + margin, bound)
    ends = np.concatenate([low, high, left, right], axis=1)
    values = np.concatenate([utility(low), utility(high), value_left, value_right], axis=1)
    return ends, values, np.concatenate([values[:, : 2 * low.shape[1]], bound], axis=1)


def _rise(slope: Array, width: Array) -> Array:
    """How far a line of this slope gets on a width; nowhere on none, however steep it is."""
    return np.where(width > 0, np.abs(slope) * width, 0.0)


def _slope(offers: Offers, cost: Cost) -> Callable[[Array], Array]:
    """The derivative of received + payment - cost."""
    benefit = offers.benefit
    return lambda x: benefit.slope(x) - cost.slope(x)


def _bracket(
    slope: Callable[[Array], Array], left: Array, right: Array, steep_left: Array, steep_right: Array
) -> tuple[Array, Array, Array, Array]:
    """Shrink brackets slope(left) > 0 > slope(right) to rounding width: Illinois steps, bisection as a safeguard."""
    weight_left, weight_right = steep_left.copy(), steep_right.copy()
    for turn in range(_ROUNDS):
        check_time()
        # What could still be gained inside a bracket is at most its width times the smaller end slope.  A gain of
        # 1e-22 is far below rounding, but utilities are flat there: it leaves ten digits of the contribution.
        width = right - left
        open_ = (width > 4e-16 * right) & (width * np.minimum(np.abs(steep_left), np.abs(steep_right)) > 1e-22)
        if not open_.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            trial = (left * weight_right - right * weight_left) / (weight_right - weight_left)
        inside = np.isfinite(trial) & (trial > left) & (trial < right)
        # Halve the ratio where a bracket spans orders of magnitude, its width otherwise.
        middle = np.where(right > 8.0 * left, np.sqrt(left) * np.sqrt(right), 0.5 * (left + right))
        trial = np.where(inside & (turn % 3 != 2), trial, np.where(middle > left, middle, 0.5 * (left + right)))
        steep = slope(trial)
        # A bracket that is closed stays as it is, so that no owner's result depends on how long another one takes.
        up, down = (steep > 0) & open_, (steep <= 0) & open_
        weight_left = np.where(up, steep, 0.5 * weight_left)
        weight_right = np.where(down, steep, 0.5 * weight_right)
        left, steep_left = np.where(up, trial, left), np.where(up, steep, steep_left)
        right, steep_right = np.where(down, trial, right), np.where(down, steep, steep_right)
        left = np.where(down & (steep == 0), trial, left)
    return left, right, steep_left, steep_right


def _by_values(
    offers: Offers, cost: Cost, low: Array, high: Array, x: Array, utility: Array, bound: Array, *, certify: bool
) -> Array:
    """What `_climb` found with the bounds from values alone where slopes are differences or a user's own."""
    closed = np.broadcast_to(cost.closed & offers.benefit.closed, len(low))
    own, several = np.flatnonzero(~closed), low.shape[1]
    rises = utility[own, -several:] > utility[own, -2 * several : -several]
    top = np.where(rises, x[own, -several:], x[own, -2 * several : -several])
    mine = offers.take(own).benefit.value, cost.take(own).value
    bound = bound.copy()
    bound[own, -several:] = concave_bound(*mine, low[own], high[own], top) if certify else np.inf
    return bound


def _scan(offers: Offers, cost: Cost, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """The maximum on each interval by grids that close in on the best point; as many at once as a cache holds."""
    x, best = low.copy(), offers.benefit.value(low) - cost.value(low)
    rows, columns = np.nonzero(high > low)
    for first in range(0, len(rows), _AT_ONCE):
        row, column = rows[first : first + _AT_ONCE], columns[first : first + _AT_ONCE]
        ends = low[row, column], high[row, column]
        x[row, column], best[row, column] = _closing_in(offers.benefit.take(row), cost.take(row), *ends)
    return x, best, np.full_like(best, np.inf)


def _closing_in(benefit: Curve, cost: Cost, start: Array, stop: Array) -> tuple[Array, Array]:
    """The maximum of received + payment - cost between each start and stop, and its value."""
    rows = np.arange(len(start))
    for _ in range(9):
        check_time()
        x = start[:, None] + (stop - start)[:, None] * _GRID
        x[:, -1] = stop
        value = benefit.value(x) - cost.value(x)
        pick = np.argmax(value, axis=1)
        start = x[rows, np.maximum(pick - 1, 0)]
        stop = x[rows, np.minimum(pick + 1, len(_GRID) - 1)]
    return x[rows, pick], value[rows, pick]
