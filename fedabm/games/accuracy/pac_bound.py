"""Accuracy that a generalisation bound guarantees for the data of all owners together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedabm.common.errors import MOST, check_number, check_positive, check_range
from fedabm.games.accuracy.base import Exposure
from fedabm.games.curves import Array, Rows

__all__ = ["PacBound"]


@dataclass(frozen=True)
class PacBound(Exposure):
    """The same model for everyone, as accurate as its PAC bound for m = sum_j s_j samples guarantees.

        v(m) = max(0, b(m)) for m >= k and 0 below,
        b(m) = ceiling - (4 + sqrt(2 k (2 + log(m / k)))) / sqrt(m)

    Karimireddy et al. 2022, eq. (1) and Figures 2 and 4, with k = `complexity`; Mohri et al. 2018, Theorem 11.8.
    The printed formula has no restriction to m >= k; without it b is positive once more near m = k e^-2 if k > 131.
    From m = k on b increases and is concave, so v is concave beyond its zero `viable`.

    >>> round(PacBound().viable, 4)
    62.3649

    Parameters
    ----------
    ceiling : float, optional
        Accuracy of unlimited data.
    complexity : float, optional
        k, how much data the class of models needs.
    """

    ceiling: float = 0.95
    complexity: float = 1.0
    monotone = True
    concave = True
    stacks = True
    columns = ("ceiling", "complexity")
    derives = ("viable",)

    def __post_init__(self) -> None:
        check_positive("accuracy ceiling", self.ceiling)
        check_range("accuracy ceiling", self.ceiling, 1e-50, 1.0)
        check_number("complexity", self.complexity)
        check_range("complexity", self.complexity, 1.0 / MOST, MOST)

    @cached_property
    def viable(self) -> float:
        """The total below which the model is worth nothing: the zero of b.  It lies above k because b(k) < 0."""
        from scipy.optimize import brentq  # slow to import, and few accuracies need it

        high = 2.0 * self.complexity
        while self._bound(np.array(high)) <= 0:
            high *= 2.0
        return float(brentq(lambda m: float(self._bound(np.array(m))), high / 2, high, xtol=1e-300, rtol=1e-15))

    def curve(self, exposure: Array) -> Array:
        """max(0, b(m)) beyond the viable total."""
        raw = self._bound(np.maximum(exposure, self.viable))
        return np.where(exposure > self.viable, np.maximum(raw, 0.0), 0.0)

    def curve_slope(self, exposure: Array) -> Array:
        """b'(m) = m^(-3/2) ((4 + g)/2 - k/g) with g = sqrt(2 k (2 + log(m/k))), where the accuracy is positive."""
        total = np.maximum(exposure, self.viable)
        width = self._width(total)
        steep = total**-1.5 * (2.0 + 0.5 * width - self.complexity / width)
        return np.where(exposure >= self.viable, steep, 0.0)

    def curve_curvature(self, exposure: Array) -> Array:
        """b''(m) = m^(-5/2) (-3 - 3 g/4 + 2 k/g + k^2/g^3), where the accuracy is positive."""
        total = np.maximum(exposure, self.viable)
        width = self._width(total)
        part = self.complexity / width
        bend = total**-2.5 * (-3.0 - 0.75 * width + 2.0 * part + part * part / width)
        return np.where(exposure >= self.viable, bend, 0.0)

    def restrict(self, rows: Rows) -> PacBound:
        """Only the total matters, so fewer owners change nothing."""
        return self

    def _width(self, total: Array) -> Array:
        return np.sqrt(2.0 * self.complexity * (2.0 + np.log(total / self.complexity)))

    def _bound(self, total: Array) -> Array:
        return self.ceiling - (4.0 + self._width(total)) / np.sqrt(total)
