"""Shapley values as merits of very many owners whose data are worth the same to all, by tables that all share.

For everybody but the largest contributor that one is the best rival, whose value phi_j falls as owner i contributes x
instead of s, and is known where it contributes what it does:

    phi_j(x) = phi_j + g(s, s) - g(x, s),     g(x, s) = sum_k taken_k(s) (1 - exp(-rate_k x))
    taken_k(s) = weight_k r_k(s_j) int t P_k(t) / ((1 - t r_k(s)) (1 - t r_k(s_j))) dt

with r_k and P_k as in `fedabm.shapley.shared`; the largest contributor has the second largest as its rival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedabm.common.arrays import select_rows
from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags, Rows, align_rows
from fedabm.mechanisms.proportional import Merits
from fedabm.shapley.shared import ROUNDING, Crowd, Shared, SharedCurve, crowd_of

__all__ = ["SharedMerits", "shared_merits"]


@dataclass(frozen=True)
class LossToOne:
    """g for a single owner, by the sum over all terms; all rows are that owner's."""

    crowd: Crowd
    weight: Array

    def value(self, x: Array, s: Array) -> Array:
        """g(x, s)."""
        return weighted_sum(-np.expm1(-x[..., None] * self.crowd.atoms.rate), self._coefficients(s))

    def slope(self, x: Array, s: Array) -> Array:
        """d g / d x."""
        rate = self.crowd.atoms.rate
        return weighted_sum(np.exp(-x[..., None] * rate), rate * self._coefficients(s))

    def _coefficients(self, s: Array) -> Array:
        """taken_k(s)."""
        reached = -np.expm1(-self.crowd.atoms.rate[:, None] * s[0])
        return np.sum(self.weight * self.crowd.mass / (1.0 - self.crowd.t * reached), axis=1)


@dataclass(frozen=True)
class Rival:
    """What a rival contributes, its value at what everybody does, and g: what it loses to any owner."""

    contribution: float
    value: float
    loss: Shared | LossToOne

    def values(self, x: Array, s: Array) -> Array:
        """Its value if an owner contributes x instead of s."""
        return self.value + (align_rows(self.loss.value(s, s), x) - self.loss.value(x, s))

    def slopes(self, x: Array, s: Array) -> Array:
        """The derivative in x."""
        return -self.loss.slope(x, s)


@dataclass(frozen=True)
class SharedMerits(Merits):
    """Shapley values of all, and of the best rival; for the owner that is `first` itself, of the next best."""

    own: SharedCurve
    first: Flags
    best: Rival
    next_best: Rival

    def value(self, x: Array) -> tuple[Array, Array]:
        if self._now(x):
            return self.own.value(self.own.own), self._rivals_now
        return self.own.value(x), self._rivals(Rival.values, x)

    def slope(self, x: Array) -> tuple[Array, Array]:
        x = self.own.own if self._now(x) else x
        return self.own.slope(x), self._rivals(Rival.slopes, x)

    def ratio(self, x: Array) -> Array:
        """1 for all who contribute as much as their best rival, as then they are worth as much."""
        if self._now(x):
            return super().ratio(x)
        rival = np.where(self.first, self.next_best.contribution, self.best.contribution)
        below = x < align_rows(rival, x)
        found = np.where(below, 0.0, 1.0)
        below &= x > 0
        rows = np.nonzero(below)[0]
        if len(rows):
            own, best = self.take(rows).value(x[below])
            found[below] = np.minimum(own / best, 1.0)
        return found

    def _now(self, x: Array) -> bool:
        """Whether everybody contributes what it does."""
        return x is self.own.own or np.array_equal(x, self.own.own)

    @property
    def _rivals_now(self) -> Array:
        found = np.full(len(self.first), self.best.value)
        found[self.first] = self.next_best.value
        return found

    def take(self, rows: Rows) -> SharedMerits:
        return SharedMerits(self.own.take(rows), select_rows(self.first, rows), self.best, self.next_best)

    def _rivals(self, question: Callable[[Rival, Array, Array], Array], x: Array) -> Array:
        """Ask about the best rival of each owner."""
        found = question(self.best, x, self.own.own)
        rows = np.flatnonzero(self.first)
        if len(rows):
            found[rows] = question(self.next_best, x[rows], self.own.own[rows])
        return found


def shared_merits(accuracy: Accuracy, profile: Array, rival: Array, reach: Array) -> SharedMerits | None:
    """The merits at a profile whose best `rival` contributes so much to each, for own contributions up to `reach`.

    None where no tables are known.
    """
    crowd = crowd_of(accuracy, profile, reach=reach)
    shares = None if crowd is None else crowd.shared(crowd.atoms.weight[:, None])
    if crowd is None or shares is None:
        return None
    first = int(np.argmax(profile))
    best, second = float(profile[first]), float(rival[first])
    value, next_value = (_value(shares, contribution) for contribution in (best, second))
    # The loss is as precise as the value from which it is taken.
    weight = _weight(crowd, best)
    most = float(np.sum(weight * crowd.mass))
    loss = crowd.shared(weight, ROUNDING * (value / most if most > 0 else 1.0))
    if loss is None:
        return None
    rivals = Rival(best, value, loss), Rival(second, next_value, LossToOne(crowd, _weight(crowd, second)))
    return SharedMerits(SharedCurve(shares, profile), np.arange(len(profile)) == first, *rivals)


def _value(shares: Shared, contribution: float) -> float:
    own = np.array([contribution])
    return float(shares.value(own, own)[0])


def _weight(crowd: Crowd, contribution: float) -> Array:
    """weight_k r_k(s_j) t / (1 - t r_k(s_j))."""
    reached = -np.expm1(-crowd.atoms.rate[:, None] * contribution)
    return crowd.atoms.weight[:, None] * reached * crowd.t / (1.0 - crowd.t * reached)
