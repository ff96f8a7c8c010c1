"""Accuracies whose sum is a constant minus a mixture of falling exponentials.

    A(s) = constant - sum_k weight_k exp(-sum_j rate_kj s_j),     weight_k, rate_kj >= 0

For such sums Owen's multilinear extension factorises over owners, which makes Shapley values exact for thousands of
them.  Two families have this form:

- power laws, by (1 + x)^-b = 1/Gamma(b) int_0^inf z^(b-1) e^(-z (1+x)) dz, with one atom per group and node z;
- random coverage, where the exponentials are the points of the domain.

The integral over z is taken by the trapezoidal rule in y = ln z, which converges exponentially fast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.power_law import PowerLaw
from fedabm.games.accuracy.random_coverage import RandomCoverage
from fedabm.games.curves import Array
from fedabm.shapley.groups import exposure_groups

__all__ = ["Atoms", "Mixture", "is_mixture", "lost", "mixture_of", "power_law_atoms"]

#: stands in for the infinite rate of an owner that covers a point with its first sample, however small capacities are
_CERTAIN = 1e150


@dataclass(frozen=True)
class Mixture:
    """Atoms k = 1..K with rate_kj = intensity_k * patterns[row_k, j]."""

    weight: Array
    intensity: Array
    row: NDArray[np.intp]
    patterns: Array

    def rates(self, atoms: slice) -> Array:
        """rate_kj of some atoms."""
        return self.intensity[atoms, None] * self.patterns[self.row[atoms]]


@dataclass(frozen=True)
class Atoms:
    """Atoms k = 1..K whose rate_k is the same for every owner."""

    weight: Array
    rate: Array


def lost(rates: Array, contribution: Array) -> Array:
    """-d/ds exp(-rate s) = rate exp(-rate s); 0 for an infinite rate, as just above s = 0."""
    return np.where(rates < _CERTAIN, rates, 0.0) * np.exp(-rates * contribution)


def is_mixture(accuracy: Accuracy) -> bool:
    """Whether `mixture_of` applies.

    A power law that is worth nothing below a minimum of data is cut off at zero and is no mixture of exponentials.
    """
    if isinstance(accuracy, PowerLaw):
        return accuracy.viable <= 1e-12 * accuracy.offset
    return isinstance(accuracy, RandomCoverage)


def mixture_of(
    accuracy: PowerLaw | RandomCoverage,
    profile: Array,
    precision: float = 1e-15,
    reach: Array | None = None,
    order: int = 1,
) -> Mixture:
    """The mixture of an accuracy, as precise as asked around a profile and for own contributions up to `reach`.

    `order` is the highest derivative that will be taken.
    """
    if isinstance(accuracy, PowerLaw):
        return _power_law(accuracy, profile, precision, reach, order)
    rates = np.where(accuracy.sure, _CERTAIN, -accuracy.logs).T
    points = len(rates)
    return Mixture(0.5 * accuracy.table.sum(axis=0), np.ones(points), np.arange(points), rates)


def _power_law(accuracy: PowerLaw, profile: Array, precision: float, reach: Array | None, order: int) -> Mixture:
    """n_g scale (offset + x)^-b by nodes in ln z; in units of the offset, so that it becomes (1 + x)^-b."""
    groups = exposure_groups(accuracy, len(profile))
    patterns, counts = groups.patterns / accuracy.offset, groups.counts
    exposure = patterns @ profile + (0.0 if reach is None else np.max(patterns * reach, axis=1))
    y, density = _density(accuracy, float(np.max(exposure)), precision, order)
    row = np.repeat(np.arange(len(counts)), len(y))
    return Mixture(np.outer(counts, density).ravel(), np.tile(np.exp(y), len(counts)), row, patterns)


def power_law_atoms(accuracy: PowerLaw, owners: int, most: float, precision: float = 1e-15) -> Atoms:
    """The mixture of owners that all learn from the total, which is at most `most`."""
    y, density = _density(accuracy, most / accuracy.offset, precision, order=1)
    return Atoms(owners * density, np.exp(y) / accuracy.offset)


def _density(accuracy: PowerLaw, exposure: float, precision: float, order: int) -> tuple[Array, Array]:
    """Nodes y = ln z, and what each adds to scale (offset + x)^-b."""
    y, step = _log_nodes(accuracy.exponent, exposure, precision, order)
    density = np.exp(accuracy.exponent * y - np.exp(y) - gammaln(accuracy.exponent))
    density *= step * accuracy.scale * accuracy.offset**-accuracy.exponent
    return y, density


def _log_nodes(exponent: float, exposure: float, precision: float, order: int) -> tuple[Array, float]:
    """Nodes y = ln z and their distance.

    What is integrated behaves as z^(b+1) for z below 1/(1 + exposure) and as z^(b+order) e^-z for large z, and is
    analytic for |Im y| < pi/2, so a step h errs by |Gamma(b + order + 2 pi i / h)| / Gamma(b + order).
    """
    digits, power = -np.log(precision), exponent + order
    low = -digits / (exponent + 1) - np.log1p(exposure)
    top = digits
    for _ in range(4):
        top = digits + max(power * np.log(top) - gammaln(power + 1), 0.0)
    # |Gamma(p + i w)| is about sqrt(2 pi) w^(p - 1/2) exp(-pi w / 2)
    frequency = digits
    for _ in range(8):
        frequency = 2 / np.pi * (digits + 0.92 + (power - 0.5) * np.log(frequency) - gammaln(power))
        frequency = max(frequency, 2 * digits / np.pi)
    nodes = int(np.ceil((np.log(top) - low) * frequency / (2 * np.pi))) + 1
    y, step = np.linspace(low, np.log(top), nodes, retstep=True)
    return y, float(step)
