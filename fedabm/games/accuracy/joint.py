"""Accuracy of a model whose weights are learned while the owners still decide what to contribute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedabm.common.errors import MOST, InputError, check_number, check_range, finite_vector
from fedabm.common.state import NUMBER, Each
from fedabm.games.accuracy.base import Exposure
from fedabm.games.accuracy.training import Stepwise
from fedabm.games.curves import Array, Rows

__all__ = ["JointQuadratic"]

#: squares of larger numbers, times costs, overflow
_LARGEST = 1e50


@dataclass(frozen=True)
class JointQuadratic(Exposure, Stepwise):
    """The same model for everyone, the better the closer its weights w are to the target and the more data it has.

        a_i(w, s) = 1 - |target - w|^2 / sum_j s_j

    Doshi et al. 2025, Example 1.  Between two steps w is frozen and only the total matters.  `advance` takes one step
    of training, w <- w + rate * (1/n) sum_i grad_w a_i(w, s), eq. (4); together with `GradientResponse` and
    simultaneous activation that is UPBReD, Algorithm 1.  Inside `Phased(..., full=capacities)`, which trains once
    everybody contributes all it has, it is 2P-UPBReD, Algorithm 2: phase 1 moves contributions only, phase 2 weights.

    As the total goes to 0 the accuracy falls without bound unless w is the target.  Below `least` it continues along
    its tangent instead, so it stays finite, smooth and concave; without any data nothing is learned.

    >>> model = JointQuadratic()
    >>> model.values(np.array([[5.0, 5.0]])), model.advance(np.array([5.0, 5.0])).weights
    (array([[0.5, 0.5]]), (0.05, 0.1))

    Parameters
    ----------
    target : tuple[float, ...], optional
        The best weights.
    weights : tuple[float, ...], optional
        The weights at the start.
    rate : float, optional
        Step size of training.
    least : float, optional
        Total of data below which the curve goes on as a straight line.
    """

    target: tuple[float, ...] = (1.0, 2.0)
    weights: tuple[float, ...] = (0.0, 0.0)
    rate: float = 0.25
    least: float = 1e-6
    monotone = True
    concave = True
    changes: ClassVar = {"weights": Each(NUMBER)}

    def __post_init__(self) -> None:
        for name in ("target", "weights"):
            object.__setattr__(self, name, tuple(finite_vector(name, getattr(self, name)).tolist()))
            check_range(f"largest {name}", float(np.max(np.abs(getattr(self, name)))), 0.0, _LARGEST)
        if len(self.weights) != len(self.target):
            raise InputError(f"{len(self.weights)} weights but a target of {len(self.target)}; give equally many")
        check_number("learning rate", self.rate)
        check_range("least total", self.least, 1.0 / MOST, MOST)

    @property
    def error(self) -> float:
        """|target - w|."""
        return float(np.linalg.norm(np.subtract(self.target, self.weights)))

    def curve(self, exposure: Array) -> Array:
        """1 - error^2 / x, along the tangent below `least`."""
        return 1.0 - self.error**2 * self._stake(exposure)

    def curve_slope(self, exposure: Array) -> Array:
        """error^2 / x^2."""
        return (self.error / np.maximum(exposure, self.least)) ** 2

    def curve_curvature(self, exposure: Array) -> Array:
        """-2 error^2 / x^3, none along the tangent."""
        total = np.maximum(exposure, self.least)
        return np.where(exposure >= self.least, -2.0 * self.error**2 / total**3, 0.0)

    def advance(self, profile: Array) -> JointQuadratic:
        """One step of training on these contributions; itself once nothing changes any more."""
        profile = np.asarray(profile, dtype=float)
        if profile.sum() <= 0:
            return self
        now = np.array(self.weights)
        trained = now + 2.0 * self.rate * self._stake(profile.sum()) * (np.array(self.target) - now)
        return self if np.array_equal(trained, now) else replace(self, weights=tuple(trained.tolist()))

    def restrict(self, rows: Rows) -> JointQuadratic:
        """Only the total matters, so fewer owners change nothing."""
        return self

    def _stake(self, exposure: Array) -> Array:
        """What a squared error of 1 costs: 1 / x, along the tangent below `least`."""
        return (1.0 + np.maximum(1.0 - exposure / self.least, 0.0)) / np.maximum(exposure, self.least)
