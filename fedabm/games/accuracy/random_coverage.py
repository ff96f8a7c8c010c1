"""Accuracy as the share of instances that somebody has seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.rowwise import product, sum_last
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.mixture import CERTAIN, Mixture
from fedabm.games.accuracy.random_discovery import check_width, probabilities
from fedabm.games.curves import Array, Curve, Rows

__all__ = ["RandomCoverage"]

#: the most numbers in one block of owners x trials x instances
_BLOCK = 2**18


@dataclass(frozen=True)
class RandomCoverage(Accuracy):
    """Owner i labels an instance right if anybody has sampled it, and guesses otherwise.

        a_i(s) = 1 - 1/2 sum_x q_ix prod_j (1 - q_jx)^(s_j)

    Row i of the table `q` (owners x instances) holds owner i's sampling probabilities, each in [0, 1].  Murhekar et al.
    2023, eq. (1), and Murhekar et al. 2025, eq. (13), after Blum et al. 2021.  Without data the accuracy is 1/2 if the
    row sums to one, and 1 - sum_x q_ix / 2 otherwise; it is never 0 as the theory of shares assumes.

    An owner with q_ix = 1 sees x with any positive contribution, so the accuracy jumps at s_i = 0, where it then has a
    kink.  Slopes there are those just above 0.

    >>> RandomCoverage([[0.5, 0.5], [0.0, 1.0]]).values(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]))
    array([[0.5  , 0.5  ], [0.75 , 0.75 ], [0.875, 1.   ]])

    Parameters
    ----------
    q : Any
        Shape (owners, instances): sampling probabilities of each owner, in [0, 1].
    """

    q: Any
    monotone = True
    concave = True
    of_exponentials = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", probabilities(self.q, most=1.0))

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.q)

    @property
    def table(self) -> Array:
        """q as an array, owners x instances."""
        return self.q.array

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """Which owners see which instance with any positive contribution (q = 1)."""
        return self.table == 1.0

    @cached_property
    def logs(self) -> Array:
        """log(1 - q), and 0 in place of minus infinity where q = 1, which `sure` takes care of."""
        return np.log1p(-np.where(self.sure, 0.0, self.table))

    def missed(self, profiles: Array) -> Array:
        """The probability prod_j (1 - q_jx)^(s_j) that nobody has sampled x, (k, n) -> (k, instances)."""
        check_width(profiles, self.owners)
        unseen = np.exp(product(profiles, self.logs))
        return np.where((profiles > 0).astype(float) @ self.sure > 0, 0.0, unseen) if self.sure.any() else unseen

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) at k profiles (k, n)."""
        return 1.0 - 0.5 * product(self.missed(np.asarray(profiles, dtype=float)), self.table.T)

    def marginals(self, profile: Array) -> Array:
        """d a_i / d s_j = -1/2 sum_x q_ix log(1 - q_jx) prod_k (1 - q_kx)^(s_k)."""
        missed = self.missed(np.asarray(profile, dtype=float)[None])[0]
        return -0.5 * (self.table * missed) @ self.logs.T

    def curves(self, profile: Array) -> Curve:
        """The exact sum of exponentials in the own contribution."""
        profile = np.asarray(profile, dtype=float)
        check_width(profile, self.owners)
        without = np.exp(profile @ self.logs - profile[:, None] * self.logs)
        if self.sure.any():
            seen = self.sure & (profile > 0)[:, None]
            without = np.where(seen.sum(axis=0) > seen, 0.0, without)
        return Coverage(0.5 * self.table * without, self.logs, self.sure)

    def kinks(self, profile: Array) -> Array:
        """0 for everyone whose first bit of data makes it jump."""
        return self.own_jumps(len(profile))

    def own_jumps(self, owners: int) -> Array:
        """0 for every owner that sees some instance for sure, none (infinity) for the others."""
        return np.where(self.sure.any(axis=1), 0.0, np.inf)[:, None] if self.sure.any() else np.empty((owners, 0))

    def exponentials(
        self, profile: Array, precision: float = 1e-15, reach: Array | None = None, order: int = 1
    ) -> Mixture:
        """One atom per instance."""
        rates = np.where(self.sure, CERTAIN, -self.logs).T
        points = len(rates)
        return Mixture(0.5 * self.table.sum(axis=0), np.ones(points), np.arange(points), rates)

    def restrict(self, rows: Rows) -> RandomCoverage:
        """The same instances with fewer owners."""
        return RandomCoverage(self.table[rows])


@dataclass(frozen=True)
class Coverage(Curve):
    """1 - sum_x weight_ix exp(rate_ix * s_i), where the terms marked `sure` vanish for any positive s_i."""

    weight: Array
    rate: Array
    sure: NDArray[np.bool_]
    closed = True

    def value(self, x: Array) -> Array:
        return 1.0 - self._total(self.weight, x)

    def slope(self, x: Array) -> Array:
        return self._total(-self.weight * self.rate, x)

    def take(self, rows: Rows) -> Coverage:
        return Coverage(self.weight[rows], self.rate[rows], self.sure[rows])

    def _total(self, weight: Array, x: Array) -> Array:
        """Some trials of every owner at a time: owners x trials x instances might not fit."""
        if x.ndim == 1:
            return self._total(weight, x[:, None])[:, 0]
        together = max(1, _BLOCK // max(1, weight.size))
        parts = [x[:, first : first + together, None] for first in range(0, x.shape[1], together)]
        return np.concatenate([self._part(weight[:, None], part) for part in parts], axis=1) if parts else x.copy()

    def _part(self, weight: Array, x: Array) -> Array:
        gone = self.sure[:, None] & (x > 0)
        return sum_last(np.where(gone, 0.0, weight * np.exp(self.rate[:, None] * x)))
