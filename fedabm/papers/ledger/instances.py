"""Small games that the rows need and the library has no other use for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.games.accuracy import Accuracy, Custom, PowerLaw
from fedabm.games.curves import Array

__all__ = ["Coupled", "restless"]


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


def restless(gain: float = 0.45, taken: float = 0.3) -> tuple[Custom, PowerLaw]:
    """A feasible mechanism of the form max(0, nu_i) without pure equilibrium, and the full model's value v.

    Two owners get max(0, gain * min(m_i, 1) - t_i) with t_1 = taken * m_2 and t_2 = taken * (1 - m_1), m up to 1: nu_i
    is continuous, and concave in m_i.  Owner 1 is served worse the more owner 2 gives.  At cost 0.2 owner 1 gives 1
    if the other gives nothing and nothing if it gives 1; owner 2 does the opposite.
    """

    def taken_from(profiles: Array) -> Array:
        first, second = np.clip(profiles, 0.0, 1.0).T
        return taken * np.column_stack([second, 1.0 - first])

    def received(profiles: Array) -> Array:
        return np.maximum(gain * np.minimum(profiles, 1.0) - taken_from(profiles), 0.0)

    def kinks(profile: Array) -> Array:
        return np.column_stack([taken_from(profile[None])[0] / gain, np.ones(2)])

    return Custom(received, owners=2, concave=True, kinks=kinks), PowerLaw()
