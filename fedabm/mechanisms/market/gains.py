"""What imported data are worth to an owner: a concave function of all data that its model has seen.

With V the worth of data and N_i the own data, an owner that imports models trained on x samples gains
g_i(x) = V_i(N_i + x) - V_i(N_i).  iPFL 2025, Definition 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_positive
from fedabm.games.curves import Array

__all__ = ["Gain", "LogarithmicGain", "SquareRootGain"]

# The total data before an import are sought within these multiples of the imported data.
_LEAST, _MOST = 1e-18, 1e18


class Gain(ABC):
    """The worth V of data, concave and increasing; all methods work elementwise on arrays that broadcast.

    A subclass states `value`; what one more model adds and up to where that is worth a price follow from it.
    """

    @abstractmethod
    def value(self, total: Array, eagerness: Array) -> Array:
        """V(total), up to a constant."""

    def added(self, total: Array, more: Array, eagerness: Array) -> Array:
        """V(total + more) - V(total): what `more` samples add to `total` ones."""
        return self.value(total + more, eagerness) - self.value(total, eagerness)

    def room(self, more: Array, eagerness: Array, price: Array) -> Array:
        """Up to how many samples in total, before the import, it is worth its price.

        The solution of added(total, more) = price, which falls as the total grows: by bisection on its logarithm.
        """
        shape = np.broadcast_shapes(np.shape(more), np.shape(eagerness), np.shape(price))
        low, high = np.full(shape, np.log(_LEAST)), np.full(shape, np.log(_MOST))
        for _ in range(64):
            middle = (low + high) / 2
            worth = self.added(more * np.exp(middle), more, eagerness) > price
            low, high = np.where(worth, middle, low), np.where(worth, high, middle)
        return more * np.exp((low + high) / 2)


@dataclass(frozen=True)
class SquareRootGain(Gain):
    """V(n) = -sqrt(K / n), so that g_i(x) = sqrt(K_i / N_i) - sqrt(K_i / (N_i + x)).  iPFL 2025, eq. (2).

    >>> gain, K = SquareRootGain(), np.array(2e4)
    >>> round(float(gain.added(np.array(200.0), np.array(1000.0), K)), 4)
    5.9175
    """

    def value(self, total: Array, eagerness: Array) -> Array:
        return -np.sqrt(eagerness / total)

    def added(self, total: Array, more: Array, eagerness: Array) -> Array:
        # Subtracting the two roots would lose all digits where `more` is small.
        before, after = np.sqrt(total), np.sqrt(total + more)
        return np.sqrt(eagerness) * (more / (before + after)) / (before * after)

    def room(self, more: Array, eagerness: Array, price: Array) -> Array:
        """In closed form.  With u = total / more and s = price sqrt(more / K) it is u^(-1/2) - (u + 1)^(-1/2) = s.

        For the sum y = u^(-1/2) + (u + 1)^(-1/2) that is y^4 - 2 s^2 y^2 - 16 s y + s^4 = 0, whose resolvent cubic
        m^3 - 2 s^2 m^2 - 32 s^2 = 0 has one positive root (Cardano); then u = 4 / (y + s)^2.  No term cancels.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steep = price * np.sqrt(more) / np.sqrt(eagerness)
            # The bounds keep s^4 from overflowing and s from vanishing, where u is as good as zero or infinite.
            s = np.clip(steep, 1e-300, 1e70)
            square = s * s
            third = 2.0 * np.cbrt(s + s * np.sqrt(1.0 + square * square / 27.0)) ** 2
            m = (2.0 / 3.0) * square + third + (4.0 / 9.0) * square * (square / third)
            w = np.sqrt(m * m + 16.0)
            y = np.sqrt(0.5 * m) + 2.0 * np.sqrt(m / w * (1.0 - 2.0 / w))
            return more * (2.0 / (y + steep)) ** 2


@dataclass(frozen=True)
class LogarithmicGain(Gain):
    """V(n) = K log(n / scale): every doubling of the data is worth the same.

    Parameters
    ----------
    scale : float, optional
        The amount of data that is worth nothing.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def value(self, total: Array, eagerness: Array) -> Array:
        return eagerness * np.log(total / self.scale)

    def added(self, total: Array, more: Array, eagerness: Array) -> Array:
        return eagerness * np.log1p(more / total)
