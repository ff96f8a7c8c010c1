"""Mixtures in which no strategy would earn more than those that are played: symmetric Nash equilibria.

For every set of strategies that could be played, their payoffs must be equal and no other one larger.  Payoffs among N
owners are polynomials of the mixture, so that on an edge all roots between neighbouring points of a grid are found, and
inside larger faces those that Newton's method reaches from many starts.  Of two owners `nashpy` would find the same;
it knows no larger symmetric games.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import brentq, root

from fedabm.common.arrays import Array
from fedabm.tournament.empirical import EmpiricalGame
from fedabm.tournament.replicator import inside

__all__ = ["symmetric_equilibria"]


def symmetric_equilibria(game: EmpiricalGame, tolerance: float = 1e-7, most: int | None = None) -> list[Array]:
    """The mixtures (K,) with a regret of at most the tolerance times the range of payoffs, fewest strategies first.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    tolerance : float, optional
        The largest regret, as a share of the range of payoffs.
    most : int | None, optional
        Mixtures of at most this many strategies; None: of any number, of which there are soon too many to look at.

    Returns
    -------
    list[Array]
        Mixtures, each of shape (strategies,).
    """
    kinds = len(game.strategies)
    found: list[Array] = []
    for many in range(1, min(most or kinds, kinds) + 1):
        for support in combinations(range(kinds), many):
            for mixture in _indifferent(game, support):
                fair = game.regret(mixture) <= tolerance * game.scale
                if fair and all(np.max(np.abs(mixture - one)) > 1e-4 for one in found):
                    found.append(mixture)
    return found


def _indifferent(game: EmpiricalGame, support: tuple[int, ...]) -> list[Array]:
    """Mixtures of just these strategies that earn the same."""
    if len(support) == 1:
        return [_spread(game, support, np.ones(1))]
    if len(support) == 2:
        return [_spread(game, support, np.array([x, 1.0 - x])) for x in _roots_on_edge(game, support)]

    def gaps(free: Array) -> Any:
        inner = np.append(free, 1.0 - free.sum())
        earned = game.ahead(_spread(game, support, inner))[list(support)]
        return (earned[1:] - earned[0]) / game.scale

    answers = (root(gaps, start[:-1], tol=1e-12) for start in inside(len(support), 5))
    mixed = [np.append(one.x, 1.0 - one.x.sum()) for one in answers if one.success]
    return [_spread(game, support, inner) for inner in mixed if np.all(inner > 1e-6)]


def _roots_on_edge(game: EmpiricalGame, support: tuple[int, ...]) -> list[float]:
    def gap(x: float) -> float:
        earned = game.ahead(_spread(game, support, np.array([x, 1.0 - x])))
        return float(earned[support[0]] - earned[support[1]])

    points = np.linspace(0.0, 1.0, 257)
    seen = np.array([gap(x) for x in points])
    turns = np.flatnonzero(np.sign(seen[:-1]) * np.sign(seen[1:]) < 0)
    return [float(brentq(gap, points[k], points[k + 1])) for k in turns] + points[1:-1][seen[1:-1] == 0].tolist()


def _spread(game: EmpiricalGame, support: tuple[int, ...], inner: Array) -> Array:
    mixture = np.zeros(len(game.strategies))
    mixture[list(support)] = inner
    return mixture
