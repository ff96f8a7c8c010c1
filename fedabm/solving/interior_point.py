"""An interior point method for the equilibrium conditions of games on a box, on all games of a table at once.

It follows the central path s_i z_i = (capacity_i - s_i) w_i = mu, F = w - z, to mu = 0 (Monteiro, Pang 1996).  It needs
more iterations than `newton`, but copes with singular Jacobians, such as the rank-one ones of payoffs of the total with
linear costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedabm.common.arrays import Array, Flags, Places
from fedabm.solving.linear_model import linearise
from fedabm.solving.newton import Ends, newton
from fedabm.solving.table import GameTable

__all__ = ["interior_point", "polished"]


class _Moves(NamedTuple):
    """How contributions and the forces at their bounds change."""

    contribution: Array
    at_low: Array
    at_high: Array


@dataclass(frozen=True)
class _Point:
    """Profiles inside the box, the slopes there, and the forces z and w that keep owners off its bounds.

    What is left to the capacity is tracked on its own: capacity - contribution would round to zero.
    """

    table: GameTable
    profiles: Array
    room: Array
    slopes: Array
    at_low: Array
    at_high: Array

    @classmethod
    def near(cls, table: GameTable, start: Array) -> _Point:
        """The start moved inside the box, with forces as large as slopes are."""
        top = table.capacities
        profiles = np.clip(start, 1e-3 * top, (1 - 1e-3) * top)
        slopes = table.slopes(profiles)
        mean = np.mean(np.abs(slopes), axis=1, keepdims=True)
        typical = np.where(mean == 0, 1e-12, 0.1 * mean)
        forces = np.maximum(-slopes, 0.0) + typical, np.maximum(slopes, 0.0) + typical
        return cls(table, profiles, top - profiles, slopes, *forces)

    def take(self, games: Places) -> _Point:
        """Some of the games."""
        if len(games) == len(self.profiles):
            return self
        if len(games) == len(self.profiles):
            return self
        columns = self.profiles, self.room, self.slopes, self.at_low, self.at_high
        return _Point(self.table.take(games), *(column[games] for column in columns))

    def sizes(self) -> Array:
        """mu of every game, (games, 1)."""
        return np.mean(self.profiles * self.at_low + self.room * self.at_high, axis=1, keepdims=True)

    def rests(self, precision: float) -> Flags:
        """In which games mu is down to the precision and forces are in balance."""
        steepest = np.max(np.abs(self.slopes) + self.table.cost_slopes(self.profiles), axis=1)
        left = np.max(np.abs(self.slopes + self.at_low - self.at_high), axis=1)
        return (self.sizes()[:, 0] < precision) & (left <= 1e-9 * steepest)

    def moves(self) -> _Moves:
        """Newton's step towards the path at a twentieth of mu."""
        target = 0.05 * self.sizes()
        low, high = self.at_low / self.profiles, self.at_high / self.room
        pull = self.slopes + target / self.profiles - target / self.room
        everyone = np.ones(pull.shape, dtype=bool)
        step = linearise(self.table, self.profiles, self.slopes).solve(everyone, low + high, pull)
        more_low = target / self.profiles - self.at_low - low * step
        more_high = target / self.room - self.at_high + high * step
        return _Moves(step, more_low, more_high)

    def moved(self) -> _Point:
        """One step further, as far as all stays positive."""
        move, more_low, more_high = self.moves()
        shares = -move / self.profiles, move / self.room, -more_low / self.at_low, -more_high / self.at_high
        farthest = np.max(np.concatenate(shares, axis=1), axis=1, keepdims=True)
        length = np.minimum(1.0, 0.995 / np.maximum(farthest, 1e-300))
        profiles = self.profiles + length * move
        forces = self.at_low + length * more_low, self.at_high + length * more_high
        return _Point(self.table, profiles, self.room - length * move, self.table.slopes(profiles), *forces)


def interior_point(table: GameTable, start: Array, *, limit: int = 80, precision: float = 1e-14) -> Ends:
    """Iterate until every owner's complementarity is below `precision`, from a start moved inside the box.

    Games that are done drop out, and so do games whose slopes are not finite one step further.
    """
    now = _Point.near(table, start)
    ends = Ends.at(now.profiles)
    going = np.arange(len(now.profiles))
    for turn in range(1, limit + 1):
        sizes = now.sizes()[:, 0]
        ends.put(going, now.profiles, turn, sizes)
        rows = np.flatnonzero(~now.rests(precision))
        if not len(rows):
            break
        ahead = now.take(rows).moved()
        usable = np.flatnonzero(np.all(np.isfinite(ahead.slopes), axis=1))
        if not len(usable):
            break
        going = going[rows][usable]
        sizes = sizes[rows][usable]
        now = ahead.take(usable)
        ends.put(going, now.profiles, turn, sizes)
    np.clip(ends.profiles, 0.0, table.capacities, out=ends.profiles)
    return ends


def polished(table: GameTable, ends: Ends) -> Ends:
    """The last digits, by Newton."""
    sharp = newton(table, ends.profiles, limit=10)
    return Ends(sharp.profiles, ends.iterations + sharp.iterations, sharp.residuals)
