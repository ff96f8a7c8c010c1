"""A game in which contributions and weights disturb each other a little; the rows need it, the library does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.games.accuracy import Accuracy
from fedabm.games.curves import Array

__all__ = ["Coupled"]


@dataclass(frozen=True)
class Coupled(Accuracy):
    """Contributions and weights that disturb each other a little: an instance of Assumption 1 of Doshi et al. 2025.

        a_i(w, s) = s_i (1 + coupling * sum_k w_k) - sum_k curvature_k (w_k - target_k)^2 / 2

    `advance` is one step of gradient ascent on the mean accuracy, eq. (4); with `waits_for` the weights wait until the
    owners contribute that much (2P-UPBReD).
    """

    target: tuple[float, ...]
    curvature: tuple[float, ...]
    weights: tuple[float, ...]
    coupling: float
    rate: float
    waits_for: tuple[float, ...] | None = None
    concave = True

    @property
    def off(self) -> Array:
        """Weights minus target."""
        return np.subtract(self.weights, self.target)

    @property
    def shortfall(self) -> float:
        """How much accuracy is lost because the weights are not at the target (for coupling 0)."""
        return float(np.array(self.curvature) @ self.off**2 / 2)

    def values(self, profiles: Array) -> Array:
        """Accuracies at k profiles."""
        return profiles * (1.0 + self.coupling * sum(self.weights)) - self.shortfall

    def gradient(self, profile: Array) -> Array:
        """d(mean accuracy) / d w."""
        return self.coupling * np.mean(profile) - np.array(self.curvature) * self.off

    def advance(self, profile: Array) -> Coupled:
        """One step of training."""
        if self.waits_for is not None and np.any(np.asarray(profile) < self.waits_for):
            return self
        return replace(self, weights=tuple((np.array(self.weights) + self.rate * self.gradient(profile)).tolist()))
