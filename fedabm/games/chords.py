"""A proven bound on a concave function from its values alone.

Between two neighbouring points a concave function lies below the chords of the two neighbouring pairs of points,
extended.  The points come closer and closer to where the top seems to be, so that there the bound is tight to rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.games.curves import Array, Flags
from fedabm.games.roots import just_inside

__all__ = ["concave_bound", "hollow"]

#: how far each point is from the top, as a share of the way to the end of the interval
_SHARES = 4.0 ** -np.arange(21.0)
#: values are taken to be right to the first of these shares, and those of a concave function to the second
_ROUNDING, _HOLLOW = 1e-13, 1e-10


def concave_bound(
    benefit: Callable[[Array], Array], cost: Callable[[Array], Array], low: Array, high: Array, top: Array
) -> Array:
    """An upper bound (n, p) on benefit - cost inside the intervals [low, high] (n, p), whose tops are near `top`.

    Infinite where the values are those of no concave function.
    """
    left, right = just_inside(low, high)
    top = np.clip(top, left, right)[..., None]
    before, after = top - left[..., None], right[..., None] - top
    x = np.concatenate([top - before * _SHARES, top, top + after * _SHARES[::-1]], axis=2)
    x[..., 0], x[..., -1] = left, right
    flat = x.reshape(len(low), -1)
    gained, spent = benefit(flat), cost(flat)
    u, size = (gained - spent).reshape(x.shape), (np.abs(gained) + np.abs(spent)).reshape(x.shape)
    width = np.diff(x, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        chord = np.where(width > 0, np.diff(u, axis=2) / width, np.nan)
    first = u[..., 0] + _steep(-chord) * (left - low)
    last = u[..., -1] + _steep(chord[..., ::-1]) * (high - right)
    bound = np.concatenate([first[..., None], _between(u, width, chord), last[..., None]], axis=2)
    rounding = _ROUNDING * np.maximum(size[..., 1:], size[..., :-1])
    bound += rounding[..., [0, *range(rounding.shape[2]), -1]]
    bends = np.any(hollow(size, width, chord, _HOLLOW), axis=2)
    return np.where(bends, np.inf, np.max(bound, axis=2))


def _between(u: Array, width: Array, chord: Array) -> Array:
    """The most that a concave function through these points can be between each two of them."""
    # Before the first and after the last chord nothing is known; points that coincide know nothing either.
    nothing = np.full((*chord.shape[:2], 1), np.nan)
    earlier, later = np.concatenate([nothing, chord[..., :-1]], 2), np.concatenate([chord[..., 1:], nothing], 2)
    ends = np.maximum(u[..., :-1], u[..., 1:])
    rising, falling = u[..., :-1] + earlier * width, u[..., 1:] - later * width
    bound = np.fmin(np.maximum(rising, ends), np.maximum(falling, ends))
    return np.where(np.isnan(bound), np.where(width > 0, np.inf, ends), bound)


def _steep(chord: Array) -> Array:
    """The first chord that is known, if it rises."""
    first = np.argmax(np.isfinite(chord), axis=2)[..., None]
    return np.nan_to_num(np.maximum(np.take_along_axis(chord, first, axis=2)[..., 0], 0.0))


def hollow(size: Array, width: Array, chord: Array, rounding: float) -> Flags:
    """Between which chords (n, p, k) the slope grows by more than rounding, a share of the amounts: not concave."""
    bend = (chord[..., 1:] - chord[..., :-1]) * np.minimum(width[..., 1:], width[..., :-1])
    around = np.maximum(np.maximum(size[..., :-2], size[..., 1:-1]), size[..., 2:])
    return bend > rounding * around + 1e-300
