"""Shapley values as merits, by quadrature, where the sum of all accuracies is a mixture of exponentials.

With 1 - q_k(x) = 1 - exp(-rate_ki x), what owner i takes of atom k, its own value and those of its rivals j are

    phi_i(x) = sum_k weight_k M_ki (1 - q_k(x)),          phi_j(x) = rest_ij - sum_k taken_kij (1 - q_k(x)),

sums of as many terms as there are atoms, however many coalitions there are (see `fedabm.shapley.quadrature`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.mixture import lost
from fedabm.games.curves import Array, Rows
from fedabm.mechanisms.proportional import Merits
from fedabm.shapley.quadrature import leave_one_out, leave_two_out

__all__ = ["MixedMerits", "mixed_merits"]

#: the most numbers in a table of owners x rivals x atoms, and in one block of owners x trials x atoms
_MOST, _BLOCK = 2**24, 2**18


@dataclass(frozen=True)
class MixedMerits(Merits):
    """Rates (n, K), what makes the own value (n, K), and rest (n, r) and taken (n, r, K) of the rivals' values.

    `rows` says whose merits these are: proofs ask about one owner at thousands of points, without copies of its tables.
    """

    rates: Array
    own: Array
    rest: Array
    taken: Array
    rows: NDArray[np.intp]

    def value(self, x: Array) -> tuple[Array, Array]:
        return self._pair(x, slopes=False)

    def slope(self, x: Array) -> tuple[Array, Array]:
        return self._pair(x, slopes=True)

    def take(self, rows: Rows) -> MixedMerits:
        return replace(self, rows=self.rows[rows])

    def _pair(self, x: Array, *, slopes: bool) -> tuple[Array, Array]:
        """Own and best rival's value or slope, some rows at a time."""
        trials = x.reshape(len(x), -1)
        atoms, rivals = self.rates.shape[1], self.rest.shape[1]
        together = max(1, _BLOCK // (atoms * max(trials.shape[1], rivals)))
        parts = [slice(start, start + together) for start in range(0, max(len(x), 1), together)]
        answers = [self._block(self.rows[part], trials[part], slopes) for part in parts]
        own, rival = (np.concatenate(column).reshape(x.shape) for column in zip(*answers, strict=True))
        return own, rival

    def _block(self, rows: NDArray[np.intp], x: Array, slopes: bool) -> tuple[Array, Array]:
        rates, point = self.rates[rows][:, None, :], x[:, :, None]
        own, taken = self.own[rows][:, :, None], self.taken[rows].transpose(0, 2, 1)
        gone = -np.expm1(-rates * point)
        rivals = self.rest[rows][:, None, :] - gone @ taken
        if not slopes:
            return (gone @ own)[..., 0], rivals.max(axis=2)
        falling, best = lost(rates, point), np.argmax(rivals, axis=2)[..., None]
        return (falling @ own)[..., 0], np.take_along_axis(-(falling @ taken), best, axis=2)[..., 0]


def mixed_merits(accuracy: Accuracy, profile: Array, reach: Array) -> MixedMerits | None:
    """The merits at a profile, for own contributions up to `reach`; None if their table would be too large."""
    mixture = accuracy.exponentials(profile, reach=reach)
    rivals = _best_rival(profile) if accuracy.traits.of_total else _everybody_else(len(profile))
    if rivals.size * len(mixture.weight) > _MOST:
        return None
    rest, taken = leave_two_out(mixture, profile, rivals)
    rates, everybody = np.ascontiguousarray(mixture.rates(slice(None)).T), np.arange(len(profile))
    return MixedMerits(rates, leave_one_out(mixture, profile), rest, taken, everybody)


def _best_rival(profile: Array) -> NDArray[np.intp]:
    """Whoever of the others contributes most has the largest value, whatever the owner itself does, (n, 1)."""
    *_, second, first = np.argsort(profile, kind="stable")
    return np.where(np.arange(len(profile)) == first, second, first)[:, None]


def _everybody_else(owners: int) -> NDArray[np.intp]:
    """Row i lists all owners but i, (n, n - 1)."""
    return np.arange(owners - 1)[None] + (np.arange(owners - 1)[None] >= np.arange(owners)[:, None])
