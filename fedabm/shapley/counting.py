"""Exact Shapley values when accuracy depends on the total only and few different contributions occur.

Coalitions that take equally many owners of each contribution level are worth the same, so a mean over coalitions is a
mean over counts.  With c_l others at level m_l and N others in all, an owner that adds x to k_l of each gains

    phi_i(x) = n sum_k  prod_l C(c_l, k_l) / ((N + 1) C(N, sum k))  [v(sum_l k_l m_l + x) - v(sum_l k_l m_l)].

For identical owners this is the sum over k = 0..n-1 of Karimireddy et al. 2022, Theorem VI (which starts at k = 1 by
mistake): 10,000 owners take 10,000 terms.  Owners that contribute nothing never change anything and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Exposure
from fedabm.games.curves import Array, Curve, Rows

__all__ = ["CountingCurve", "counting_curve", "is_short", "terms"]

#: more terms than this are left to sampling
MOST_TERMS = 2**22
_BLOCK = 2**20
#: so many owners are looked at before all are sorted
_FIRST = 256


def terms(profile: Array) -> float:
    """How many terms the sums of all distinct owners have."""
    levels, counts = np.unique(profile, return_counts=True)
    combinations = np.sum(np.log(counts + 1.0)[levels > 0])
    return len(levels) * float(np.exp(min(combinations, 700.0)))


def is_short(profile: Array) -> bool:
    """Whether the sums have few enough terms.  Each level doubles them at least, so that a few owners may tell."""
    levels = np.count_nonzero(np.unique(profile[:_FIRST]))
    return levels <= np.log2(MOST_TERMS) and terms(profile) <= MOST_TERMS


def counting_curve(accuracy: Exposure, profile: Array) -> CountingCurve:
    """phi_i as a function of the own contribution, the others at `profile`."""
    levels, kind, counts = np.unique(profile, return_inverse=True, return_counts=True)
    samples = tuple(_totals(levels, counts - (np.arange(len(levels)) == own)) for own in range(len(levels)))
    return CountingCurve(accuracy, len(profile), samples, kind.astype(np.intp))


@dataclass(frozen=True)
class CountingCurve(Curve):
    """n times the mean gain of an owner over the totals before it; one set of (totals, chances) per kind of owner."""

    accuracy: Exposure
    owners: int
    samples: tuple[tuple[Array, Array], ...]
    kind: NDArray[np.intp]
    closed = True

    def value(self, x: Array) -> Array:
        def gain(trial: Array, totals: Array) -> Array:
            return self.accuracy.curve(trial + totals) - self.accuracy.curve(totals)

        return self.owners * self._mean(gain, x)

    def slope(self, x: Array) -> Array:
        return self.owners * self._mean(lambda trial, totals: self.accuracy.curve_slope(trial + totals), x)

    def take(self, rows: Rows) -> CountingCurve:
        return CountingCurve(self.accuracy, self.owners, self.samples, self.kind[rows])

    def _mean(self, term: Callable[[Array, Array], Array], x: Array) -> Array:
        """The mean of term(x, total); equal owners with equal x are asked once."""
        result = np.empty(x.shape)
        for kind, (totals, chances) in enumerate(self.samples):
            rows = self.kind == kind
            trial, back = np.unique(x[rows], return_inverse=True)
            together = max(1, _BLOCK // len(totals))
            parts = [trial[i : i + together] for i in range(0, len(trial), together)]
            means = [weighted_sum(term(part[:, None], totals), chances) for part in parts]
            result[rows] = np.concatenate([np.empty(0), *means])[back].reshape(result[rows].shape)
        return result


def _totals(levels: Array, counts: NDArray[np.intp]) -> tuple[Array, Array]:
    """Totals of random coalitions of the others, and the chance of each."""
    levels, counts = levels[levels > 0], counts[levels > 0]
    table = _log_factorials(int(counts.sum()) + 1)
    total = np.zeros(1)
    size = np.zeros(1, dtype=np.intp)
    chance = np.zeros(1, dtype=np.longdouble)
    for level, count in zip(levels, counts, strict=True):
        k = np.arange(count + 1)
        total = np.add.outer(total, level * k).ravel()
        size = np.add.outer(size, k).ravel()
        chance = np.add.outer(chance, _log_choose(table, int(count), k)).ravel()
    everyone = int(counts.sum())
    chance = np.exp((chance - _log_choose(table, everyone, size)).astype(float)) / (everyone + 1)
    matters = chance > 1e-25
    return total[matters], chance[matters]


def _log_factorials(most: int) -> NDArray[np.longdouble]:
    """log k! for k = 0..most, in long precision: with thousands of owners their differences lose digits."""
    return np.concatenate([np.zeros(1), np.cumsum(np.log(np.arange(1, most + 1, dtype=np.longdouble)))])


def _log_choose(table: NDArray[np.longdouble], n: int, k: NDArray[np.intp]) -> NDArray[np.longdouble]:
    """log C(n, k)."""
    return table[n] - table[k] - table[n - k]
