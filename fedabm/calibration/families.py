"""Families of accuracy of the total of all data, as a pilot is fitted by them.

Sizes are divided by the largest of the pilot and parameters are fitted on scales on which they are of size one, since
raw parameters of one curve differ by ten powers of ten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedabm.calibration.fitting import fit_in_box
from fedabm.games.accuracy import Accuracy, PacBound, PowerLaw
from fedabm.games.curves import Array

__all__ = ["FAMILIES", "Bound", "Family", "Law"]

#: how many rough guesses are refined
_REFINED = 3


@dataclass(frozen=True)
class Family(ABC):
    """Curves of one kind for sizes up to `unit` and accuracies up to `most`; `theta` are its parameters as fitted."""

    unit: float
    most: float
    #: name in TOML, parameters in the order of columns, and how many
    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest values of theta."""

    @abstractmethod
    def height(self, theta: Array, sizes: Array) -> Array:
        """Accuracies at these sizes."""

    @abstractmethod
    def slopes(self, theta: Array, sizes: Array) -> Array:
        """d height / d theta, (sizes, parameters)."""

    @abstractmethod
    def guesses(self, sizes: Array, heights: Array) -> Array:
        """Rough fits, (many, parameters)."""

    @abstractmethod
    def accuracy(self, theta: Array) -> Accuracy:
        """The accuracy with these parameters, in the units of the pilot."""

    def fit(self, sizes: Array, heights: Array, start: Array | None = None) -> tuple[Array, float]:
        """Best theta and its sum of squared residuals, from one start or from the best rough guesses."""
        low, high = self.box
        starts = self._starts(sizes, heights) if start is None else start[None]
        return fit_in_box(
            lambda theta: self.height(theta, sizes) - heights,
            lambda theta: self.slopes(theta, sizes),
            starts,
            low,
            high,
        )

    def _starts(self, sizes: Array, heights: Array) -> Array:
        guesses = np.clip(self.guesses(sizes, heights), *self.box)
        lost = [float(np.sum((self.height(one, sizes) - heights) ** 2)) for one in guesses]
        return guesses[np.argsort(lost, kind="stable")[:_REFINED]]


@dataclass(frozen=True)
class Law(Family):
    """max(0, ceiling - scale (S + offset)^-exponent): theta = ceiling, logs of scale, exponent, offset of S/unit."""

    name = "power_law"
    columns = ("scale", "exponent", "offset", "ceiling")

    @property
    def box(self) -> tuple[Array, Array]:
        top = np.log(max(self.most, 1e-300))
        return np.array([0.0, top - 14.0, np.log(0.02), np.log(1e-4)]), np.array(
            [self.most, top + 6.0, np.log(8.0), np.log(5.0)]
        )

    def height(self, theta: Array, sizes: Array) -> Array:
        gap = np.exp(theta[1]) * (sizes / self.unit + np.exp(theta[3])) ** -np.exp(theta[2])
        return np.maximum(theta[0] - gap, 0.0)

    def slopes(self, theta: Array, sizes: Array) -> Array:
        power, offset = np.exp(theta[2]), np.exp(theta[3])
        base = sizes / self.unit + offset
        gap = np.exp(theta[1]) * base**-power
        found = np.stack([np.ones_like(gap), -gap, gap * power * np.log(base), gap * power / base * offset], axis=1)
        return found * (theta[0] > gap)[:, None]

    def guesses(self, sizes: Array, heights: Array) -> Array:
        """Exponents and offsets of a grid; the others by a straight line."""
        found, some = [], heights > 0
        for power in (0.1, 0.3, 0.6, 1.0, 2.0):
            for offset in (0.001, 0.01, 0.05, 0.3, 1.0):
                x = (sizes[some] / self.unit + offset) ** -power
                y = heights[some]
                fall = -float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
                fall = max(fall, 1e-6 * self.most)
                ceiling = min(float(y.mean() + fall * x.mean()), 0.999 * self.most)
                found.append([ceiling, np.log(fall), np.log(power), np.log(offset)])
        return np.array(found)

    def accuracy(self, theta: Array) -> PowerLaw:
        power = float(np.exp(theta[2]))
        scale = float(np.exp(theta[1] + power * np.log(self.unit)))
        return PowerLaw(scale, power, float(np.exp(theta[3]) * self.unit), float(theta[0]))


@dataclass(frozen=True)
class Bound(Family):
    """max(0, ceiling - (4 + sqrt(2 k (2 + log(S/k)))) / sqrt(S)) from S = k on: theta = ceiling, log k/unit."""

    name = "pac_bound"
    columns = ("ceiling", "complexity")

    @property
    def box(self) -> tuple[Array, Array]:
        return np.array([0.0, -14.0]), np.array([self.most, 2.0])

    def height(self, theta: Array, sizes: Array) -> Array:
        return self._parts(theta, sizes)[0]

    def slopes(self, theta: Array, sizes: Array) -> Array:
        height, log, width = self._parts(theta, sizes)
        k = self.unit * np.exp(theta[1])
        fall = -(1.0 + log) / width * k / np.sqrt(np.maximum(sizes, 1e-12))
        return np.stack([np.ones_like(fall), fall], axis=1) * (height > 0)[:, None]

    def _parts(self, theta: Array, sizes: Array) -> tuple[Array, Array, Array]:
        k = self.unit * np.exp(theta[1])
        enough = sizes >= k
        log = np.log(np.where(enough, sizes / k, 1.0))
        width = np.sqrt(2.0 * k * (2.0 + log))
        raw = theta[0] - (4.0 + width) / np.sqrt(np.maximum(sizes, 1e-12))
        return np.where(enough, np.maximum(raw, 0.0), 0.0), log, width

    def guesses(self, sizes: Array, heights: Array) -> Array:
        top = min(float(heights.max()) + 0.05, 0.999)
        return np.array([[top, log] for log in np.linspace(-12.0, -1.0, 12)])

    def accuracy(self, theta: Array) -> PacBound:
        return PacBound(float(theta[0]), float(self.unit * np.exp(theta[1])))


#: the families by their names in TOML
FAMILIES: dict[str, type[Family]] = {one.name: one for one in (Law, Bound)}
