"""Sums of accuracies that are a constant minus a mixture of falling exponentials.

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

from fedabm.games.curves import Array

__all__ = ["CERTAIN", "Atoms", "Groups", "Mixture", "PowerDensity", "lost"]

#: stands in for the infinite rate of an owner that covers a point with its first sample, however small capacities are
CERTAIN = 1e150


@dataclass(frozen=True)
class Groups:
    """Owners that learn from everybody's data in the same way.

    `patterns[g, j]` is what a unit of owner j's data is worth to each of the `counts[g]` owners of group g, and
    `members[i]` is the group of owner i.
    """

    patterns: Array
    counts: Array
    members: NDArray[np.intp]

    @classmethod
    def single(cls, owners: int) -> Groups:
        """One group, in which everybody's data are worth the same to everybody."""
        return cls(np.ones((1, owners)), np.array([float(owners)]), np.broadcast_to(np.intp(0), owners))

    @property
    def weights(self) -> Array:
        """(groups, groups) what a unit of one group's data is worth to another, as the first owner of each has it."""
        return self.patterns[:, np.unique(self.members, return_index=True)[1]]


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
    return np.where(rates < CERTAIN, rates, 0.0) * np.exp(-rates * contribution)


@dataclass(frozen=True)
class PowerDensity:
    """scale (offset + x)^-exponent as an integral over exponentials of x."""

    scale: float
    exponent: float
    offset: float

    def mixture(
        self, groups: Groups, profile: Array, precision: float = 1e-15, reach: Array | None = None, order: int = 1
    ) -> Mixture:
        """n_g scale (offset + x)^-b by nodes in ln z; in units of the offset, so that it becomes (1 + x)^-b."""
        patterns, counts = groups.patterns / self.offset, groups.counts
        exposure = patterns @ profile + (0.0 if reach is None else np.max(patterns * reach, axis=1))
        y, density = self._nodes(float(np.max(exposure)), precision, order)
        row = np.repeat(np.arange(len(counts)), len(y))
        return Mixture(np.outer(counts, density).ravel(), np.tile(np.exp(y), len(counts)), row, patterns)

    def atoms(self, owners: int, most: float, precision: float = 1e-15) -> Atoms:
        """The mixture of owners that all learn from the total, which is at most `most`."""
        y, density = self._nodes(most / self.offset, precision, order=1)
        return Atoms(owners * density, np.exp(y) / self.offset)

    def _nodes(self, exposure: float, precision: float, order: int) -> tuple[Array, Array]:
        """Nodes y = ln z, and what each adds to scale (offset + x)^-b."""
        from scipy.special import gammaln  # slow to import, and few accuracies need it

        y, step = _log_nodes(self.exponent, exposure, precision, order)
        density = np.exp(self.exponent * y - np.exp(y) - gammaln(self.exponent))
        density *= step * self.scale * self.offset**-self.exponent
        return y, density


def _log_nodes(exponent: float, exposure: float, precision: float, order: int) -> tuple[Array, float]:
    """Nodes y = ln z and their distance.

    What is integrated behaves as z^(b+1) for z below 1/(1 + exposure) and as z^(b+order) e^-z for large z, and is
    analytic for |Im y| < pi/2, so a step h errs by |Gamma(b + order + 2 pi i / h)| / Gamma(b + order).
    """
    from scipy.special import gammaln

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
