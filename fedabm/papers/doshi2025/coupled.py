"""Games in which contributions and weights all disturb each other, with constants that are known exactly.

The rows on Theorem 1, Theorem 2 and Corollary 1 need them, the library does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedabm.common.state import Thing
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy import Accuracy
from fedabm.games.accuracy.training import Stepwise
from fedabm.games.curves import Array, Line

__all__ = ["CoupledQuadratic", "draw"]


@dataclass(frozen=True)
class CoupledQuadratic(Accuracy, Stepwise):
    """Quadratic accuracies of contributions and weights: an instance of the assumptions of Doshi et al. 2025.

        a_i(w, s) = s_i (b_i + sum_j B_ij s_j + M_i . w) - (w - target)' A_i (w - target) / 2

    B has no diagonal and is not symmetric, A_i is positive definite and not diagonal, M is any matrix.  `advance` is
    one step of gradient ascent on the mean accuracy, eq. (4); with `waits_for` the weights wait until the owners
    contribute that much (2P-UPBReD).
    """

    linear: FrozenArray
    mutual: FrozenArray
    mixed: FrozenArray
    bend: FrozenArray
    target: FrozenArray
    weights: FrozenArray
    rate: float
    waits_for: tuple[float, ...] | None = None
    concave = True
    changes: ClassVar = {"weights": Thing(FrozenArray)}

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.linear)

    @property
    def off(self) -> Array:
        """Weights minus target."""
        return self.weights.array - self.target.array

    @property
    def mean_bend(self) -> Array:
        """The mean of all A_i: minus the second derivative of the mean accuracy by w."""
        return self.bend.array.mean(axis=0)

    def slopes(self, profile: Array) -> Array:
        """d a_i / d s_i, which do not depend on s_i."""
        return self.linear.array + self.mutual.array @ profile + self.mixed.array @ self.weights.array

    def _lost(self) -> Array:
        return 0.5 * np.einsum("k,ikl,l->i", self.off, self.bend.array, self.off)

    def values(self, profiles: Array) -> Array:
        """Accuracies at k profiles."""
        return profiles * np.apply_along_axis(self.slopes, 1, profiles) - self._lost()

    def curves(self, profile: Array) -> Line:
        """Lines in the own contribution."""
        return Line(-self._lost(), self.slopes(np.asarray(profile, dtype=float)))

    def gradient(self, profile: Array) -> Array:
        """d(mean accuracy) / d w."""
        return self.mixed.array.T @ profile / self.owners - self.mean_bend @ self.off

    def best_weights(self, profile: Array) -> Array:
        """Where that is 0."""
        return self.target.array + np.linalg.solve(self.mean_bend, self.mixed.array.T @ profile / self.owners)

    def advance(self, profile: Array) -> CoupledQuadratic:
        """One step of training."""
        if self.waits_for is not None and np.any(np.asarray(profile) < self.waits_for):
            return self
        return replace(self, weights=FrozenArray(self.weights.array + self.rate * self.gradient(profile)))


def draw(rng: np.random.Generator, mutual: float, mixed: float) -> CoupledQuadratic:
    """One to three owners and weights, whose couplings have about these sizes; rate and waiting are still to be set."""
    owners, size = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    roots = rng.normal(size=(owners, size, size)) / np.sqrt(size)
    bend = 0.2 * np.einsum("ikm,ilm->ikl", roots, roots) + 0.6 * np.eye(size)
    others = mutual * rng.uniform(-1, 1, (owners, owners)) * (1 - np.eye(owners))
    return CoupledQuadratic(
        FrozenArray(rng.uniform(0.5, 1.5, owners)),
        FrozenArray(others),
        FrozenArray(mixed * rng.uniform(-1, 1, (owners, size))),
        FrozenArray(bend),
        FrozenArray(rng.uniform(-1, 1, size)),
        FrozenArray(np.zeros(size)),
        1.0,
    )
