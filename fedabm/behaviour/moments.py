"""What is compared of contributions: numbers that do not depend on which owner is which."""

from __future__ import annotations

import numpy as np

from fedabm.games.curves import Array

__all__ = ["moments"]

#: parts of the rounds over which owners are averaged
_PARTS = 4
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def moments(given: Array) -> Array:
    """Means and spreads over owners in the first round and in quarters of the rest, and how owners move.

    Of every owner: its mean, how often it gives nothing, how often it gives the same as before, how far it moves, how
    much it varies, and how its moves follow on the distance from its own mean.  Of these the means over owners and the
    quantiles: mixtures of types show in quantiles.

    >>> len(moments(np.ones((8, 3))))
    48
    """
    parts = [given[:1], *np.array_split(given[1:], _PARTS)]
    level = np.array([part.mean(axis=0) for part in parts if len(part)])
    moved = np.diff(given, axis=0)
    around = given - given.mean(axis=0)
    variance = (around**2).mean(axis=0)
    follows = (around[1:] * around[:-1]).mean(axis=0) / np.where(variance > 0, variance, 1.0)
    each = np.array(
        [
            given.mean(axis=0),
            (given <= 1e-9).mean(axis=0),
            (np.abs(moved) <= 1e-9).mean(axis=0),
            np.abs(moved).mean(axis=0),
            np.sqrt(variance),
            follows,
        ]
    )
    shape = [each.mean(axis=1), *(np.quantile(each, one, axis=1) for one in _QUANTILES)]
    shares = [(each[row] > half).mean() for row, half in ((1, 0.5), (2, 0.5))]
    return np.concatenate([level.mean(axis=1), level.std(axis=1), *shape, shares])
