"""Whether offers have the shape that they promise: looked at before any certificate rests on it.

The benefit of every owner is evaluated at the ends of its pieces, next to its kinks, near 0, evenly and at random
points.  That cannot prove a shape, but a payment that bends the wrong way, a jump that nobody named or a slope that
belongs to another function does not get past it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import FedabmError, InputError
from fedabm.games.best import pieces
from fedabm.games.chords import hollow
from fedabm.games.curves import Array, Curve, Scaled, leaves
from fedabm.games.offers import Offers
from fedabm.games.roots import just_inside

__all__ = ["MOST_CHECKED", "check_promises"]

Members = NDArray[np.intp]

#: where each piece is looked at, as shares of its width; the random ones are the same in every run
_SHARES = np.unique(
    np.concatenate(
        [
            [0.0, 1e-9, 1e-6, 1e-3, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0],
            np.random.default_rng(0).random(4),
        ]
    )
)
#: of more owners than this, this many are looked at
MOST_CHECKED = 4096
#: what is lost to rounding, as a share of the amounts that are added
_ROUNDING = 1e-9
#: an accuracy may be a difference of larger numbers, as one below its ceiling is: then this share of them is the least
#: amount
_LEAST = 5e-6
#: where to look for a ceiling, in capacities, and for steps, as shares of a point
_FAR = 10.0 ** np.arange(17)
_BELOW = 1.0 - 2.0 ** -np.arange(3.0, 53.0, 2.0)


def check_promises(offers: Offers, capacity: Array) -> None:
    """Raise where received + payment does not have the promised shape; name the curve and the point."""
    rows = np.arange(len(capacity))
    if len(rows) > MOST_CHECKED:
        rows = rows[:: -(-len(rows) // MOST_CHECKED)]
        offers, capacity = offers.take(rows), capacity[rows]
    if not len(rows) or (offers.shape == "unknown" and offers.refund is None):
        return
    with suppress(FedabmError):
        return _check(offers, capacity, rows, np.zeros(len(rows)))
    # What looks like a breach may be rounding of the larger numbers that the accuracy is a difference of.
    return _check(offers, capacity, rows, _LEAST * _amounts(offers.accuracy, capacity))


def _check(offers: Offers, capacity: Array, rows: Members, least: Array) -> None:
    """All promises of an offer; no amount of an owner counts as smaller than the `least`."""
    low, high = pieces(offers.kinks, capacity)
    looks = (low, high, rows, least)
    if offers.shape == "monotone":
        _check_growth(offers.benefit, *looks)
    for cap in offers.caps:
        _check_cap(offers.benefit, cap, *looks)
    if offers.shape == "concave":
        _check_concave(offers.benefit, *looks)
    if offers.refund is not None:
        _check_concave(offers.benefit - offers.refund, *looks)


def _amounts(accuracy: Curve, capacity: Array) -> Array:
    """How large the numbers are whose differences the accuracies are, told by the least step that these ever take.

    A difference of numbers around A changes by A / 2^53 or not at all.  But a function may go in steps anyway, so it is
    at most what an accuracy of this library's own families reaches with more data; of a user's own, 1.
    """
    x = _points(np.zeros((len(capacity), 1)), capacity[:, None])[:, 0]
    value, lower = accuracy.value(x), accuracy.value((x[..., None] * _BELOW).reshape(len(x), -1))
    ceiling = np.maximum(np.max(np.abs(value), axis=1), 1.0)
    known = np.flatnonzero(np.broadcast_to(accuracy.closed, len(capacity)))
    if len(known):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            far = np.abs(accuracy.take(known).value(capacity[known, None] * _FAR))
        ceiling[known] = np.max(np.where(np.isfinite(far), far, 0.0), axis=1)
    return np.minimum(2.0**53 * _usual_step(np.abs(value[..., None] - lower.reshape(*x.shape, -1))), ceiling)


def _usual_step(change: Array) -> Array:
    """The median over an owner's points (n, k, d) of the least change beside them; 0 if nothing ever changes."""
    least = np.sort(np.min(np.where(change > 0, change, np.inf), axis=2), axis=1)
    seen = np.isfinite(least).sum(axis=1)
    return np.where(seen > 0, least[np.arange(len(least)), (seen - 1) // 2], 0.0)


def _points(low: Array, high: Array) -> Array:
    """Where to look, (n, p, k), inside the pieces."""
    left, right = just_inside(low, high)
    x = left[..., None] + (right - left)[..., None] * _SHARES
    x[..., -1] = right
    return x


def _values(curve: Curve, x: Array, least: Array) -> tuple[Array, Array]:
    """A sum of curves at x (n, p, k), and the amounts added: the `least`, or a thousandth of the owner's largest."""
    parts = [part.value(x.reshape(len(x), -1)).reshape(x.shape) for part in leaves(curve)]
    size = np.sum(np.abs(parts), axis=0)
    floor = np.maximum(1e-3 * size.max(axis=(1, 2)), least)
    return np.sum(parts, axis=0), np.maximum(size, floor[:, None, None])


def _check_growth(curve: Curve, low: Array, high: Array, rows: Members, least: Array) -> None:
    inside = _points(low, high)
    x = np.concatenate([low[..., None], inside, high[..., None]], axis=2)
    value, size = _values(curve, x, least)
    falls = np.diff(value, axis=2) < -_ROUNDING * np.maximum(size[..., 1:], size[..., :-1])
    falls &= np.diff(x, axis=2) > 0
    if np.any(falls):
        owner, piece, point = np.argwhere(falls)[0]
        between = x[owner, piece, [point, point, point + 1]]
        who = _culprit(curve, owner, between, bend=False)
        raise InputError(
            f"{who} is promised never to fall in the own contribution, but that of owner {rows[owner]} falls between "
            f"{between[0]:g} and {between[2]:g}; promise shape 'unknown'"
        )


def _check_cap(curve: Curve, cap: Curve, low: Array, high: Array, rows: Members, least: Array) -> None:
    x = _points(low, high)
    value, size = _values(curve, x, least)
    above = value > cap.value(x.reshape(len(x), -1)).reshape(x.shape) + _ROUNDING * size
    if np.any(above):
        owner, piece, point = np.argwhere(above)[0]
        where = x[owner, piece, point]
        raise InputError(f"owner {rows[owner]} gets more at {where:g} than its offer's cap; mend the cap")


def _check_concave(curve: Curve, low: Array, high: Array, rows: Members, least: Array) -> None:
    x = _points(low, high)
    value, size = _values(curve, x, least)
    width = np.diff(x, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        chord = np.where(width > 0, np.diff(value, axis=2) / width, np.nan)
    bends = hollow(size, width, chord, _ROUNDING)
    if np.any(bends):
        owner, piece, point = np.argwhere(bends)[0]
        between = x[owner, piece, point : point + 3]
        raise InputError(
            f"{_culprit(curve, owner, between, bend=True)} is promised to be concave in the own contribution between "
            f"kinks, but that of owner {rows[owner]} bends up at {between[1]:g}; name its kinks, or promise shape "
            "'monotone' or 'unknown'"
        )
    _check_slopes(curve, x, value, size, rows)


def _check_slopes(curve: Curve, x: Array, value: Array, size: Array, rows: Members) -> None:
    """Where slopes count as beyond doubt: a concave function lies below its tangents."""
    closed = np.broadcast_to(curve.closed, len(x))
    slope = curve.slope(x.reshape(len(x), -1)).reshape(x.shape)
    for step in (1, -1):
        ahead, width = np.roll(value, -step, axis=2), np.roll(x, -step, axis=2) - x
        inside = np.s_[..., :-1] if step == 1 else np.s_[..., 1:]
        with np.errstate(invalid="ignore", over="ignore"):
            tangent = value + slope * width
            rounding = _ROUNDING * (np.maximum(size, np.roll(size, -step, axis=2)) + np.abs(slope * x) * 1e-6)
            above = (ahead > tangent + rounding) & closed[:, None, None]
        if np.any(above[inside]):
            owner, piece, point = np.argwhere(above[inside])[0]
            where = x[inside][owner, piece, point]
            who = _wrong_slope(curve, owner, np.array([where, where + width[inside][owner, piece, point]]))
            raise InputError(
                f"{who} has a slope at {where:g} that is not the derivative of its value there, for owner "
                f"{rows[owner]}; mend the slope"
            )


def _culprit(curve: Curve, owner: int, x: Array, *, bend: bool) -> str:
    """The name of the part of a sum that breaks its promise most between three points."""

    def breach(part: Curve) -> float:
        first, middle, last = part.take([owner]).value(x[None])[0]
        if not bend:
            return first - last
        share = (x[1] - x[0]) / (x[2] - x[0]) if x[2] > x[0] else 0.0
        return (1 - share) * first + share * last - middle

    return _name(max(leaves(curve), key=breach))


def _wrong_slope(curve: Curve, owner: int, x: Array) -> str:
    """The name of the part of a sum that rises most above its tangent from one point to another."""

    def breach(part: Curve) -> float:
        one = part.take([owner])
        (here, there), slope = one.value(x[None])[0], one.slope(x[None, :1])[0, 0]
        return there - here - slope * (x[1] - x[0])

    return _name(max(leaves(curve), key=breach))


def _name(curve: Curve) -> str:
    """What a user would call a curve."""
    parts = list(_sources(curve))
    return f"the accuracy {parts[-1]}" if len(parts) > 1 else f"the curve {parts[0]}"


def _sources(curve: Curve) -> Iterator[str]:
    """The class of a curve, and of the accuracy that it asks."""
    if isinstance(curve, Scaled):
        yield from _sources(curve.part)
        return
    yield type(curve).__name__
    asked = getattr(curve, "oracle", None) or getattr(getattr(curve, "function", None), "__self__", None)
    if asked is not None:
        yield type(asked).__name__
