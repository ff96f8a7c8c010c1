"""Shapley shares as functions of the own contribution, the others' fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedabm.common.deadline import check_time
from fedabm.common.errors import check_pairs
from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.accuracy.mixture import Mixture, lost
from fedabm.games.curves import Array, Curve, Rows
from fedabm.shapley.quadrature import leave_one_out
from fedabm.shapley.worth import difference, worth

__all__ = [
    "CoalitionCurve",
    "Coalitions",
    "ExposureCurve",
    "MixtureCurve",
    "coalition_curve",
    "mixture_curve",
    "standard_errors",
]

#: numbers in one block of owners x trials x terms
_BLOCK = 2**17
#: flags of who is in a coalition in the room of one number
_FLAGS = 8


@dataclass(frozen=True)
class MixtureCurve(Curve):
    """phi_i(x) = sum_k weight_k M_ki (1 - exp(-rate_ki x)); `means` holds weight_k M_ki, (n, K)."""

    means: Array
    intensity: Array
    row: NDArray[np.intp]
    patterns: Array
    closed = True

    def value(self, x: Array) -> Array:
        return self._sum(lambda rates, trial: -np.expm1(-rates * trial), x)

    def slope(self, x: Array) -> Array:
        return self._sum(lost, x)

    def take(self, rows: Rows) -> MixtureCurve:
        return MixtureCurve(self.means[rows], self.intensity, self.row, self.patterns[rows])

    def _sum(self, term: Callable[[Array, Array], Array], x: Array) -> Array:
        trials = x.reshape(len(x), -1)
        result = np.empty(trials.shape)
        for rows in _chunks(len(x), trials.shape[1] * len(self.intensity)):
            check_time()
            rates = self.intensity * self.patterns[rows].take(self.row, axis=1)
            terms = term(rates[:, None, :], trials[rows][:, :, None])
            result[rows] = weighted_sum(terms, self.means[rows][:, None, :])
        return result.reshape(x.shape)


def mixture_curve(mixture: Mixture, profile: Array, precision: float = 1e-15) -> MixtureCurve:
    """The curves of an exponential mixture at a profile."""
    means = leave_one_out(mixture, profile, precision)
    return MixtureCurve(means, mixture.intensity, mixture.row, np.ascontiguousarray(mixture.patterns.T))


@dataclass(frozen=True)
class ExposureCurve(Curve):
    """phi_i(x) = sum_g counts_g sum_c chances_c [v(before_igc + own_ig x) - v(before_igc)].

    `before` (n, G, C) is what each group is exposed to before owner i comes, in each of C cases; `own` (n, G) is what a
    unit of owner i's data is worth to each group.
    """

    accuracy: Exposure
    counts: Array
    chances: Array
    before: Array
    own: Array
    sampled: bool = False
    closed = True

    def errors(self, x: Array) -> Array:
        """The standard error of a mean over cases that were drawn."""
        if not self.sampled:
            return np.zeros(x.shape)
        added = x[:, None] * self.own
        gains = self.accuracy.curve(self.before + added[..., None]) - self.accuracy.curve(self.before)
        return standard_errors(weighted_sum(np.moveaxis(gains, 1, -1), self.counts))

    def value(self, x: Array) -> Array:
        def gain(before: Array, added: Array) -> Array:
            return self.accuracy.curve(before + added) - self.accuracy.curve(before)

        return self._mean(gain, x, self.counts)

    def slope(self, x: Array) -> Array:
        return self._mean(lambda before, added: self.accuracy.curve_slope(before + added), x, self.counts * self.own)

    def take(self, rows: Rows) -> ExposureCurve:
        return replace(self, before=self.before[rows], own=self.own[rows])

    def _mean(self, term: Callable[[Array, Array], Array], x: Array, weights: Array) -> Array:
        trials, weights = x.reshape(len(x), -1), np.broadcast_to(weights, self.own.shape)
        result = np.empty(trials.shape)
        for rows in _chunks(len(x), trials.shape[1] * self.before[0].size):
            check_time()
            added = trials[rows][:, :, None] * self.own[rows][:, None, :]
            means = weighted_sum(term(self.before[rows][:, None], added[..., None]), self.chances)
            result[rows] = weighted_sum(means, weights[rows][:, None, :])
        return result.reshape(x.shape)


class Coalitions(Protocol):
    """Coalitions of the others for every owner, with their chances."""

    #: some were drawn; else these are all
    drawn: bool

    @property
    def weights(self) -> Array:
        """The chance of each coalition, (C,)."""

    def before(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Who is in each of them, (rows, C, n)."""


@dataclass(frozen=True)
class CoalitionCurve(Curve):
    """phi_i(x) = mean over coalitions X of the others of A(X + i at x) - A(X), by asking the oracle."""

    accuracy: Accuracy
    profile: Array
    coalitions: Coalitions
    rows: NDArray[np.intp]
    floor: Array

    @property
    def sampled(self) -> bool:  # type: ignore[override]
        """Whether coalitions were drawn."""
        return self.coalitions.drawn

    def errors(self, x: Array) -> Array:
        """The standard error of a mean over coalitions that were drawn."""
        if not self.sampled:
            return np.zeros(x.shape)
        found = np.empty(x.shape)
        for row, owner in enumerate(self.rows):
            before = self.coalitions.before(self.rows[row : row + 1])[0] * self.profile
            with_it, without = before.copy(), before.copy()
            with_it[:, owner], without[:, owner] = x[row], 0.0
            found[row] = standard_errors(worth(self.accuracy, with_it) - worth(self.accuracy, without))
        return found

    def value(self, x: Array) -> Array:
        return self._mean(x) - (self.floor if x.ndim == 1 else self.floor[:, None])

    def slope(self, x: Array) -> Array:
        return difference(self._mean, x)

    def take(self, rows: Rows) -> CoalitionCurve:
        return replace(self, rows=self.rows[rows], floor=self.floor[rows])

    def _mean(self, x: Array) -> Array:
        trials, weights = x.reshape(len(x), -1), self.coalitions.weights
        result = np.empty(trials.shape)
        for rows in _chunks(len(x), trials.shape[1] * len(weights) * len(self.profile)):
            check_time()
            owner = self.rows[rows]
            distinct, place = np.unique(owner, return_inverse=True)
            before = self.coalitions.before(distinct) * self.profile
            joined = before[np.repeat(place, trials.shape[1])].reshape(len(owner), -1, *before.shape[1:])
            joined[np.arange(len(owner)), :, :, owner] = trials[rows][:, :, None]
            result[rows] = weighted_sum(worth(self.accuracy, joined), weights)
        return result.reshape(x.shape)


def coalition_curve(accuracy: Accuracy, profile: Array, coalitions: Coalitions) -> Curve:
    """The curves over some coalitions of the others, for any oracle."""
    rows, known = np.arange(len(profile)), len(coalitions.weights)
    remedy = "take an accuracy whose shares are exact by quadrature (PowerLaw, RandomCoverage), or fewer owners"
    check_pairs(f"a mean over {known} coalitions", len(profile), remedy, each=-(-known // _FLAGS))
    exposure, groups = accuracy.as_exposure(), accuracy.exposure_groups(len(profile))
    if exposure is not None and groups is not None:
        before = (coalitions.before(rows) @ (groups.patterns * profile).T).transpose(0, 2, 1)
        return ExposureCurve(
            exposure, groups.counts, coalitions.weights, before, groups.patterns.T, sampled=coalitions.drawn
        )
    empty = CoalitionCurve(accuracy, profile, coalitions, rows, np.zeros(len(profile)))
    return replace(empty, floor=empty.value(np.zeros(len(profile))))


def standard_errors(gains: Array) -> Array:
    """Of the means over the last axis; infinite where there is one number only."""
    count = gains.shape[-1]
    return np.std(gains, axis=-1, ddof=1) / np.sqrt(count) if count > 1 else np.full(gains.shape[:-1], np.inf)


def _chunks(rows: int, numbers_per_row: int) -> list[slice]:
    """Slices of rows with a bounded number of numbers each."""
    together = max(1, _BLOCK // max(numbers_per_row, 1))
    return [slice(start, min(start + together, rows)) for start in range(0, rows, together)]
