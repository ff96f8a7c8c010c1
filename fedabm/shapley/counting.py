"""Exact Shapley values when accuracy depends on the total only and few different contributions occur.

Coalitions that take equally many owners of each contribution level are worth the same, so a mean over coalitions is a
mean over counts.  With c_l others at level m_l and N others in all, an owner that adds x to k_l of each gains

    phi_i(x) = n sum_k  prod_l C(c_l, k_l) / ((N + 1) C(N, sum k))  [v(sum_l k_l m_l + x) - v(sum_l k_l m_l)].

For identical owners this is the sum over k = 0..n-1 of Karimireddy et al. 2022, Theorem VI (which starts at k = 1 by
mistake): 10,000 owners take 10,000 terms.  Owners that contribute nothing never change anything and are left out.
Up to 21 different contributions these are all subset sums, of which means are taken in cells (see `totals`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import check_time
from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Exposure
from fedabm.games.curves import Array, Curve, Rows
from fedabm.shapley.totals import MANY, TotalCells, Totals, cells_of, ruler_of

__all__ = ["MOST_TERMS", "CountingCurve", "counting_curve", "curvatures", "is_short", "shares", "terms"]

#: more coalitions than this are left to sampling
MOST_TERMS = 2**21
_BLOCK = 2**20
#: coalitions with less of a chance change no digit
_NEGLIGIBLE = 1e-25
#: this many owners are looked at before all are sorted
_FIRST = 256


def terms(profile: Array) -> float:
    """How many different coalitions there are, by how many owners of each level are in."""
    levels, counts = np.unique(profile, return_counts=True)
    combinations = np.sum(np.log(counts + 1.0)[levels > 0])
    return float(np.rint(np.exp(min(combinations, 700.0))))


def is_short(profile: Array) -> bool:
    """Whether the sums have few enough terms.  Each level doubles them at least, so that a few owners may tell."""
    levels = np.count_nonzero(np.unique(profile[:_FIRST]))
    return levels <= np.log2(MOST_TERMS) and (terms(profile) <= MOST_TERMS or _few_levels(profile))


def _few_levels(profile: Array) -> bool:
    """Whether the sums of all levels together have few terms."""
    return len(np.unique(profile)) * terms(profile) <= 2 * MOST_TERMS


def counting_curve(
    accuracy: Exposure, profile: Array, reach: Array | None = None, *, evenly: bool = False
) -> CountingCurve:
    """phi_i as a function of the own contribution, the others at `profile`.

    `reach` is the largest own contribution that will be asked for.  If coalitions come `evenly`, it is Banzhaf's index.
    """
    levels, kind, counts = np.unique(profile, return_inverse=True, return_counts=True)
    far = max(float(np.max(profile)), 0.0 if reach is None else float(np.max(reach)))
    samples = SampledTotals(accuracy, levels, counts, float(np.sum(profile)) + far, evenly)
    return CountingCurve(accuracy, len(profile), samples, kind.astype(np.intp))


@dataclass(frozen=True, eq=False)
class SampledTotals:
    """Totals of coalitions of the others, one set per level of the own contribution, each made when it is asked for."""

    accuracy: Exposure
    levels: Array
    counts: NDArray[np.intp]
    top: float
    evenly: bool = False
    _made: dict[int, Totals | TotalCells] = field(default_factory=dict)

    def of(self, level: int) -> Totals | TotalCells:
        """Those without one owner of this level."""
        if level not in self._made:
            check_time()
            others = self.counts - (np.arange(len(self.levels)) == level)
            totals = Totals(*_totals(self.levels, others, evenly=self.evenly))
            ruler = ruler_of(self.accuracy, self.top) if len(totals.total) >= MANY else None
            self._made[level] = totals if ruler is None else cells_of(totals, ruler, self.accuracy.viable)
        return self._made[level]


@dataclass(frozen=True)
class CountingCurve(Curve):
    """n times the mean gain of an owner over the totals before it; one set of (totals, chances) per kind of owner."""

    accuracy: Exposure
    owners: int
    samples: SampledTotals
    kind: NDArray[np.intp]
    closed = True

    def value(self, x: Array) -> Array:
        return self.owners * self._mean(self._gains, x)

    def slope(self, x: Array) -> Array:
        return self.owners * self._mean(self._slopes, x)

    def take(self, rows: Rows) -> CountingCurve:
        return CountingCurve(self.accuracy, self.owners, self.samples, self.kind[rows])

    def _gains(self, sample: Totals | TotalCells, x: Array) -> Array:
        if isinstance(sample, TotalCells):
            return sample.mean(self.accuracy.curve, x) - sample.mean(self.accuracy.curve, np.zeros(1))
        before, curve = sample.total, self.accuracy.curve
        return weighted_sum(curve(x[:, None] + before) - curve(before), sample.chance)

    def _slopes(self, sample: Totals | TotalCells, x: Array) -> Array:
        if isinstance(sample, TotalCells):
            return sample.mean(self.accuracy.curve_slope, x)
        return weighted_sum(self.accuracy.curve_slope(x[:, None] + sample.total), sample.chance)

    def _mean(self, question: Callable[[Totals | TotalCells, Array], Array], x: Array) -> Array:
        """Answers per kind of owner; equal owners with equal x are asked once."""
        result = np.empty(x.shape)
        for kind in np.unique(self.kind):
            sample, rows = self.samples.of(int(kind)), self.kind == kind
            trial, back = np.unique(x[rows], return_inverse=True)
            together = max(1, _BLOCK // (1 if isinstance(sample, TotalCells) else len(sample.total)))
            parts = []
            for first in range(0, len(trial), together):
                check_time()
                parts.append(question(sample, trial[first : first + together]))
            result[rows] = np.concatenate([np.empty(0), *parts])[back].reshape(result[rows].shape)
        return result


def shares(accuracy: Exposure, profile: Array) -> Array:
    """phi_i from what all subset sums of different contributions are worth: each is looked at once for all owners."""
    positive = np.flatnonzero(profile > 0)
    found = np.zeros(len(profile))
    worth = accuracy.curve(_subset_sums(profile[positive]))
    sizes = _subset_sums(np.ones(len(positive), dtype=np.uint8))
    chance = _before(len(positive) - 1)
    for place, owner in enumerate(positive):
        without, joined = worth.reshape(-1, 2, 2**place).transpose(1, 0, 2)
        others = sizes.reshape(-1, 2, 2**place)[:, 0]
        found[owner] = len(profile) * np.sum(chance[others] * (joined - without))
    return found


def curvatures(accuracy: Exposure, profile: Array) -> Array:
    """d(d phi_i / d s_i) / d s_j (n, n) between the kinks, from all subset sums of positive contributions."""
    owners = len(profile)
    sizes = _subset_sums(np.ones(owners, dtype=np.uint8))
    bend = owners * accuracy.curve_curvature(_subset_sums(profile))
    bend *= np.append(0.0, _before(owners - 1))[sizes]
    found = np.empty((owners, owners))
    for first in range(owners):
        check_time()
        with_first = np.ascontiguousarray(bend.reshape(-1, 2, 2**first)[:, 1]).ravel()
        found[first, first] = with_first.sum()
        for place, second in enumerate(np.delete(np.arange(owners), first)):
            found[first, second] = with_first.reshape(-1, 2, 2**place)[:, 1].sum()
    return found


def _subset_sums(numbers: NDArray) -> NDArray:
    """The sums of all subsets (2^n,); subset c has the numbers whose bits c has."""
    sums = np.zeros(1, dtype=numbers.dtype)
    for number in numbers:
        sums = np.concatenate([sums, sums + number])
    return sums


def _before(others: int) -> Array:
    """1 / ((N + 1) C(N, k)) for k = 0..N: the chance that k given ones of N others, and only these, come before."""
    table = _log_factorials(others)
    return np.exp(-_log_choose(table, others, np.arange(others + 1)).astype(float)) / (others + 1)


def _totals(levels: Array, counts: NDArray[np.intp], *, evenly: bool = False) -> tuple[Array, Array]:
    """Totals of random coalitions of the others, and the chance of each."""
    levels, counts = levels[levels > 0], counts[levels > 0]
    if np.all(counts <= 1):
        return _different(levels[counts == 1], evenly=evenly)
    table = _log_factorials(int(counts.sum()) + 1)
    total = np.zeros(1)
    size = np.zeros(1, dtype=np.intp)
    chance = np.zeros(1, dtype=np.longdouble)
    for level, count in zip(levels, counts, strict=True):
        k = _likely(int(count)) if evenly else np.arange(count + 1)
        total = np.add.outer(total, level * k).ravel()
        size = np.add.outer(size, k).ravel()
        chance = np.add.outer(chance, _log_choose(table, int(count), k)).ravel()
    everyone = int(counts.sum())
    if evenly:
        chance = np.exp((chance - everyone * np.log(np.longdouble(2))).astype(float))
    else:
        chance = np.exp((chance - _log_choose(table, everyone, size)).astype(float)) / (everyone + 1)
    matters = chance > _NEGLIGIBLE
    return total[matters], chance[matters]


def _likely(count: int) -> NDArray[np.intp]:
    """How many of `count` owners are in with a chance above the negligible, if each is with chance 1/2.

    By Hoeffding's inequality the chance of k is at most exp(-2 (k - count/2)^2 / count).
    """
    far = np.sqrt(-0.5 * count * np.log(_NEGLIGIBLE))
    return np.arange(max(int(0.5 * count - far), 0), min(int(0.5 * count + far) + 1, count) + 1)


def _different(levels: Array, *, evenly: bool) -> tuple[Array, Array]:
    """Totals and chances where no two of the others contribute the same."""
    total, size = np.zeros(1), np.zeros(1, dtype=np.uint8)
    for level in levels:
        total = np.add.outer(total, np.array([0.0, level])).ravel()
        size = np.add.outer(size, np.array([0, 1], dtype=np.uint8)).ravel()
    return total, np.full(len(total), 0.5 ** len(levels)) if evenly else _before(len(levels))[size]


@lru_cache(maxsize=8)
def _log_factorials(most: int) -> NDArray[np.longdouble]:
    """log k! for k = 0..most, in long precision: with thousands of owners their differences lose digits."""
    table = np.concatenate([np.zeros(1), np.cumsum(np.log(np.arange(1, most + 1, dtype=np.longdouble)))])
    table.flags.writeable = False
    return table


def _log_choose(table: NDArray[np.longdouble], n: int, k: NDArray[np.intp]) -> NDArray[np.longdouble]:
    """log C(n, k)."""
    return table[n] - table[k] - table[n - k]
