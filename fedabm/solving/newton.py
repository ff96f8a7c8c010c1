"""Newton's method for the equilibrium conditions of games on a box, on all games of a table at once.

At an equilibrium every owner's slope F_i = d u_i / d s_i vanishes, or points out of [0, capacity] at a bound:

    s_i = clip(s_i + F_i(s) / D_i, 0, capacity_i)      for any D_i > 0.

This is a semismooth Newton method with a primal-dual active set (Hintermueller, Ito, Kunisch 2002): each iteration
solves the linearised conditions.  It needs few where the Jacobian is regular, as under Shapley shares; where it is
singular, see `interior_point`.  Neither decides whether its result is an equilibrium: the certified gap does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Places
from fedabm.solving.linear_model import LinearModel, linearise
from fedabm.solving.table import GameTable

__all__ = ["Ends", "newton"]

# Keeps systems solvable where the Jacobian of the free owners is singular.
_DAMPING = 1e-11
Sides = NDArray[np.int8]
#: this many iterations must halve the residual
_PATIENCE = 12


@dataclass(frozen=True)
class Ends:
    """Of every game the last profile, how many iterations led to it, and how far it is from the conditions."""

    profiles: Array
    iterations: Places
    residuals: Array

    @classmethod
    def at(cls, profiles: Array) -> Ends:
        """Before the first iteration."""
        return cls(profiles.copy(), np.zeros(len(profiles), dtype=np.intp), np.full(len(profiles), np.inf))

    def put(self, games: Places, profiles: Array, iterations: int, residuals: Array) -> None:
        """What has come of some of the games by now."""
        self.profiles[games] = profiles
        self.iterations[games] = iterations
        self.residuals[games] = residuals


@dataclass(frozen=True)
class _Point:
    """Profiles of some games, the slopes there, and a model of slopes around them or around earlier profiles."""

    table: GameTable
    profiles: Array
    slopes: Array
    model: LinearModel

    def take(self, games: Places) -> _Point:
        """Some of the games."""
        if len(games) == len(self.profiles):
            return self
        return _Point(self.table.take(games), self.profiles[games], self.slopes[games], self.model.take(games))

    def renewed(self, games: Places) -> _Point:
        """With the models of some games at their present profiles."""
        here = self.take(games)
        newer = linearise(here.table, here.profiles, here.slopes)
        return replace(self, model=self.model.renewed(games, newer))

    def residuals(self) -> Array:
        """How far owners would move by their own diagonal Newton steps."""
        wish = np.clip(self.profiles + self.slopes / self.model.diagonal, 0.0, self.table.capacities)
        return np.linalg.norm(wish - self.profiles, axis=1)


def newton(table: GameTable, start: Array, *, limit: int = 60, precision: float = 1e-10) -> Ends:
    """Iterate until the residual is below `precision` of the largest contribution, or has not halved for long.

    A Jacobian that reduced the residual tenfold is used again.  Games that are done drop out.
    """
    profiles = np.clip(start, 0.0, table.capacities)
    slopes = table.slopes(profiles)
    ends = Ends.at(profiles)
    going = np.flatnonzero(np.all(np.isfinite(slopes), axis=1))
    if not len(going):
        return ends
    table = table.take(going)
    profiles, slopes = profiles[going], slopes[going]
    now = _Point(table, profiles, slopes, linearise(table, profiles, slopes))
    sizes = best = now.residuals()
    record = np.zeros(len(going), dtype=np.intp)
    for turn in range(limit + 1):
        ends.put(going, now.profiles, turn, sizes)
        left = (sizes > precision * now.profiles.max(axis=1)) & (turn < record + _PATIENCE)
        rows = np.flatnonzero(left)
        if not len(rows) or turn == limit:
            break
        going, before = going[rows], sizes[rows]
        best, record = best[rows], record[rows]
        now = _advanced(now.take(rows))
        sizes = now.residuals()
        better = sizes < 0.5 * best
        best, record = np.where(better, sizes, best), np.where(better, turn + 1, record)
        stale = np.flatnonzero(sizes > 0.1 * before)
        if len(stale):
            now = now.renewed(stale)
            sizes = now.residuals()
    return ends


def _advanced(now: _Point) -> _Point:
    """One step further; less far in games where slopes are not finite there, and not at all where there is no step."""
    moves = _active_set_steps(now)
    moves[np.isnan(moves)] = 0.0
    table, top = now.table, now.table.capacities
    profiles = np.clip(now.profiles + moves, 0.0, top)
    slopes = table.slopes(profiles)
    for _ in range(60):
        wild = np.flatnonzero(~np.all(np.isfinite(slopes), axis=1))
        if not len(wild):
            break
        moves[wild] *= 0.5
        profiles[wild] = np.clip(now.profiles[wild] + moves[wild], 0.0, top[wild])
        slopes[wild] = table.take(wild).slopes(profiles[wild])
    return replace(now, profiles=profiles, slopes=slopes)


def _active_set_steps(now: _Point) -> Array:
    """The steps to the solutions of the linearised conditions; the last guess where the active set keeps changing.

    From a set that comes back the guesses repeat, so that the last one is known; one that stays comes back at once.
    """
    guesses = now.model.systems
    steps = np.zeros(now.profiles.shape)
    going = np.arange(len(steps))
    tried = _sides(now, now.slopes / now.model.diagonal)[None]
    moves = np.empty((0, *steps.shape))
    for turn in range(guesses):
        move, wish = _pinned_steps(now, tried[-1])
        after = _sides(now, wish)
        moves = np.concatenate([moves, move[None]])
        known = np.all(tried == after, axis=2)
        returns, first = np.any(known, axis=0), np.argmax(known, axis=0)
        last = np.where(returns, first + (guesses - 1 - first) % (turn + 1 - first), turn)
        steps[going] = moves[last, np.arange(len(going))]
        rows = np.flatnonzero(~returns)
        if not len(rows):
            break
        tried = np.concatenate([tried, after[None]])
        if len(rows) < len(going):
            going, now = going[rows], now.take(rows)
            tried, moves = tried[:, rows], moves[:, rows]
    return steps


def _sides(now: _Point, wish: Array) -> Sides:
    """Whom which bound would stop: -1 at zero, 1 at the capacity, 0 for those who are free."""
    above = wish >= now.table.capacities - now.profiles
    return np.subtract(above, wish <= -now.profiles, dtype=np.int8)


def _pinned_steps(now: _Point, sides: Sides) -> tuple[Array, Array]:
    """The steps with some owners pinned to their bounds, and where owners would go from there by themselves."""
    model, slopes = now.model, now.slopes
    low, high = -now.profiles, now.table.capacities - now.profiles
    moves = np.where(sides < 0, low, np.where(sides > 0, high, 0.0))
    free = sides == 0
    if np.any(free):
        pull = slopes + model.apply(moves)
        moves = np.where(free, model.solve(free, _DAMPING * model.diagonal, pull), moves)
    return np.clip(moves, low, high), moves + (slopes + model.apply(moves)) / model.diagonal
