"""Shapley shares in many games at once, by looking at every coalition: for few owners who learn from a common total.

With A(s) = sum_i factor_i v(sum_j s_j) the share of owner i along its own contribution x is

    phi_i(x) = (sum_j factor_j) sum_X |X|! (n - |X| - 1)! / n! (v(s_X + x) - v(s_X)),     X any coalition without i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from fedabm.common.arrays import Array, Flags, Rows
from fedabm.games.accuracy.laws import Laws
from fedabm.games.accuracy.many import CurveTable
from fedabm.games.curves import Curve
from fedabm.shapley.enumeration import EveryCoalition

__all__ = ["MOST_OWNERS", "CoalitionRows", "row_curvatures", "row_curves"]

#: 2^9 coalitions of the others per owner: beyond that a game is large enough to be solved by itself
MOST_OWNERS = 10
#: numbers in one block of rows x trials x coalitions
_BLOCK = 2**18


@dataclass(frozen=True)
class CoalitionRows(Curve):
    """factor * sum_c chance_c (v(before_c + x) - v(before_c)); one row per owner of a game, with a curve each."""

    laws: Laws
    before: Array
    factor: Array
    chances: Array
    closed = True

    def value(self, x: Array) -> Array:
        def gained(laws: Laws, before: Array, point: Array) -> Array:
            return laws.value(before + point) - laws.value(before)

        return self._mean(gained, x)

    def slope(self, x: Array) -> Array:
        return self._mean(lambda laws, before, point: laws.slope(before + point), x)

    def take(self, rows: Rows) -> CoalitionRows:
        chosen = np.asarray(rows)
        return CoalitionRows(self.laws.take(chosen), self.before[chosen], self.factor[chosen], self.chances)

    def _mean(self, function: Callable[[Laws, Array, Array], Array], x: Array) -> Array:
        trials, found = x.reshape(len(x), -1), np.empty((len(x), x[:1].size))
        room = max(1, _BLOCK // max(trials.shape[1] * len(self.chances), 1))
        for first in range(0, len(x), room):
            rows = np.arange(first, min(first + room, len(x)))
            terms = function(self.laws.take(rows), self.before[rows][:, None, :], trials[rows][:, :, None])
            # Added up weighted, as in the definition, so that an owner without data has a share of exactly zero.
            found[rows] = self.factor[rows][:, None] * (terms * self.chances).sum(axis=-1)
        return found.reshape(x.shape)


@cache
def _coalitions(owners: int) -> tuple[Flags, Array]:
    """Who is in each coalition of the others, (owners, coalitions, owners), and how likely each comes before."""
    every = EveryCoalition(owners)
    return every.before(np.arange(owners)), every.weights


def row_curves(table: CurveTable, profiles: Array) -> CoalitionRows:
    """The shares of all owners of all games (games, owners), one game after the other."""
    games, owners = profiles.shape
    before, chances = _before(profiles)
    laws = table.laws.take(np.repeat(np.arange(games), owners))
    factor = np.repeat(table.factors.sum(axis=1), owners)
    return CoalitionRows(laws, before.reshape(games * owners, -1), factor, chances)


def row_curvatures(table: CurveTable, profiles: Array) -> Array:
    """d^2 phi_i / d s_i d s_j, (games, owners, owners)."""
    owners = profiles.shape[1]
    members, chances = _coalitions(owners)
    before, _ = _before(profiles)
    bend = table.laws.curvature(before + profiles[:, :, None]) * chances
    found = np.einsum("gic,icj->gij", bend, members.astype(float))
    np.einsum("gii->gi", found)[...] += bend.sum(axis=2)
    return found * table.factors.sum(axis=1)[:, None, None]


def _before(profiles: Array) -> tuple[Array, Array]:
    """What each coalition of the others has, (games, owners, coalitions)."""
    games, owners = profiles.shape
    members, chances = _coalitions(owners)
    return (profiles @ members.reshape(-1, owners).T.astype(float)).reshape(games, owners, -1), chances
