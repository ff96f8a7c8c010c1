"""Means of a curve over very many totals of coalitions, with few evaluations of the curve.

Totals T of coalitions and their chances are sorted and cut into narrow cells.  In a cell where v(T + x) is smooth, all
its totals are replaced by a few nodes with the same means of polynomials (Chebyshev interpolation, transposed):

    sum_{T in cell} chance_T v(T + x) = sum_m weight_m v(node_m + x)     up to the rounding of v

Only in the cell where v leaves zero (`viable`) every total is asked for itself.  Whether v is smooth enough is looked
at everywhere beyond that point, by the last coefficients of its Chebyshev series; if it is not, all totals are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import check_time
from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Exposure
from fedabm.games.curves import Array

__all__ = ["MANY", "Ruler", "TotalCells", "Totals", "cells_of", "ruler_of"]

#: from this many totals on cells are worth their making
MANY = 2**15
#: nodes of a cell, and the most totals in one
_NODES = 12
_MOST = 1024
#: numbers in one block
_BLOCK = 2**18
#: the largest coefficient that may be left out, as a share of the largest value
_ROUNDING = 4e-15
_ANGLES = (np.arange(_NODES) + 0.5) * np.pi / _NODES
_AT = np.cos(_ANGLES)
#: T_k at the nodes, (nodes, k)
_SERIES = np.cos(_ANGLES[:, None] * np.arange(_NODES))


@dataclass(frozen=True)
class Totals:
    """Totals of random coalitions and the chance of each."""

    total: Array
    chance: Array

    def mean(self, term: Callable[[Array], Array], x: Array) -> Array:
        """The mean of term(total + x) at each x (k,)."""
        together = max(1, _BLOCK // len(self.total))
        means = [np.empty(0)]
        for first in range(0, len(x), together):
            check_time()
            means.append(weighted_sum(term(x[first : first + together, None] + self.total), self.chance))
        return np.concatenate(means)


@dataclass(frozen=True)
class TotalCells:
    """The same in cells: `totals` in order, from `starts` (c + 1,) on; `nodes` and `weights` (c * m,).

    v leaves zero at `viable`; it is known to be smooth for x up to `reach`, and beyond that all totals are asked.
    """

    totals: Totals
    starts: NDArray[np.intp]
    nodes: Array
    weights: Array
    viable: float
    reach: float

    def mean(self, term: Callable[[Array], Array], x: Array) -> Array:
        """The mean of term(total + x) at each x (k,)."""
        far = x > self.reach * (1.0 + 1e-9)
        if np.any(far):
            found = np.empty(x.shape)
            found[far], found[~far] = self.totals.mean(term, x[far]), self.mean(term, x[~far])
            return found
        together = max(1, _BLOCK // len(self.nodes))
        parts = [self._mean(term, x[i : i + together]) for i in range(0, len(x), together)]
        return np.concatenate([np.empty(0), *parts])

    def _mean(self, term: Callable[[Array], Array], x: Array) -> Array:
        check_time()
        total, needed = self.totals.total, self.viable - x
        cell = np.searchsorted(total[self.starts[1:] - 1], needed)
        inside = cell < len(self.starts) - 1
        cell = np.minimum(cell, len(self.starts) - 2)
        split = inside & (total[self.starts[cell]] <= needed)
        whose = np.repeat(np.arange(len(self.starts) - 1), _NODES)
        weights = np.where(split[:, None] & (whose == cell[:, None]), 0.0, self.weights)
        found = weighted_sum(term(x[:, None] + self.nodes), weights)
        rows = np.flatnonzero(split)
        if len(rows):
            found[rows] += self._one_by_one(term, x[rows], cell[rows])
        return found

    def _one_by_one(self, term: Callable[[Array], Array], x: Array, cell: NDArray[np.intp]) -> Array:
        """The part of the totals in one cell per x."""
        place = self.starts[cell][:, None] + np.arange(_MOST)
        within = place < self.starts[cell + 1][:, None]
        place = np.where(within, place, 0)
        chance = np.where(within, self.totals.chance[place], 0.0)
        return weighted_sum(term(x[:, None] + self.totals.total[place]), chance)


def cells_of(totals: Totals, ruler: Ruler, viable: float) -> TotalCells:
    """Cells that are as wide as the ruler allows."""
    order = np.argsort(totals.total)
    total, chance = totals.total[order], totals.chance[order]
    edges = np.searchsorted(total, ruler.edges(float(total[-1])))
    starts = np.unique(np.concatenate([edges[edges < len(total)], np.arange(0, len(total), _MOST)]))
    ends = np.append(starts[1:], len(total))
    middle, half = 0.5 * (total[starts] + total[ends - 1]), 0.5 * (total[ends - 1] - total[starts])
    sizes = ends - starts
    place = (total - np.repeat(middle, sizes)) / np.repeat(np.where(half > 0, half, 1.0), sizes)
    moments, before, now = [np.add.reduceat(chance, starts)], np.ones_like(place), place
    for _ in range(1, _NODES):
        moments.append(2.0 * np.add.reduceat(chance * now, starts))
        before, now = now, 2.0 * place * now - before
    weights = np.column_stack(moments) @ _SERIES.T / _NODES
    nodes = middle[:, None] + half[:, None] * _AT
    starts = np.append(starts, len(total))
    return TotalCells(
        Totals(total, chance), starts, nodes.ravel(), weights.ravel(), viable, ruler.top - float(total[-1])
    )


@dataclass(frozen=True)
class Ruler:
    """Where cells may be cut: on [T, T + part * max(base, T)], and on all that lies beyond, v is smooth up to `top`."""

    base: float
    part: float
    top: float

    def edges(self, last: float) -> Array:
        """Cuts from 0 to beyond `last`."""
        far = np.log(max(last / self.base, 1.0)) / np.log1p(self.part)
        near = np.arange(0.0, self.base, self.part * self.base)
        return np.concatenate([near, self.base * (1.0 + self.part) ** np.arange(np.ceil(far) + 1.0)])


def ruler_of(accuracy: Exposure, top: float) -> Ruler | None:
    """How wide cells may be, if v and v' are polynomials on them up to rounding; None: they are not smooth enough."""
    low, even = max(accuracy.viable, 0.0), top / 4096.0
    # A curve that leaves zero long before the first cut bends in the first cells: they begin where it does.
    for base in (max(low, even), low) if 0.0 < low < even else (max(low, even),):
        for part in (1.0, 0.5, 0.25, 0.125, 0.0625):
            ruler = Ruler(base, part, top)
            starts = Ruler(base, 0.5 * part, top).edges(top)
            starts = np.concatenate([[low], starts[(starts > low) & (starts < top)]])
            if all(_is_smooth(curve, starts, ruler) for curve in (accuracy.curve, accuracy.curve_slope)):
                return ruler
    return None


def _is_smooth(curve: Callable[[Array], Array], starts: Array, ruler: Ruler) -> bool:
    half = 0.5 * ruler.part * np.maximum(starts, ruler.base)
    values = curve((starts + half)[:, None] + half[:, None] * _AT)
    last = np.abs(values @ _SERIES[:, -3:]) * (2.0 / _NODES)
    return bool(np.max(last) <= _ROUNDING * np.max(np.abs(values)))
