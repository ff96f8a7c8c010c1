"""Accuracy that is linear in everybody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_positive
from fedabm.common.rowwise import product
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Exposure
from fedabm.games.curves import Array, Rows

__all__ = ["RandomDiscovery"]

#: larger rates of discovery find everything at once, and their products overflow
_MOST = 1e12


@dataclass(frozen=True)
class RandomDiscovery(Exposure):
    """Owner i earns q_ix each time anybody samples instance x: a_i(s) = (Q Q^T s)_i.

    Row i of the table `q` (owners x instances) holds owner i's sampling probabilities.  Murhekar et al. 2023, Section
    2.1, and Murhekar et al. 2025, Example 5, after Blum et al. 2021.  The accuracy grows without bound, and the
    diagonal of Q Q^T is sum_x q_ix^2, not 1 as printed.

    >>> RandomDiscovery([[1.0, 0.0], [0.5, 0.5]]).values(np.array([[2.0, 4.0]]))
    array([[4., 3.]])

    Parameters
    ----------
    q : Any
        Shape (owners, instances): sampling probabilities of each owner, in [0, 1].
    """

    q: Any
    monotone = True
    concave = True
    of_total = False
    linear_in_all = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", probabilities(self.q))

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.q)

    @property
    def table(self) -> Array:
        """Q as an array, owners x instances."""
        return self.q.array

    def curve(self, exposure: Array) -> Array:
        """The exposure itself."""
        return exposure

    def curve_slope(self, exposure: Array) -> Array:
        """One."""
        return np.ones(np.shape(exposure))

    def curve_curvature(self, exposure: Array) -> Array:
        """Zero."""
        return np.zeros(np.shape(exposure))

    def exposures(self, profiles: Array) -> Array:
        """Q (Q^T s), without forming the matrix of all pairs of owners."""
        check_width(profiles, self.owners)
        return product(product(profiles, self.table), self.table.T)

    def own_weights(self, owners: int) -> Array:
        """sum_x q_ix^2."""
        return (self.table**2).sum(axis=1)

    def weight_matrix(self, owners: int) -> Array:
        """Q Q^T."""
        return self.table @ self.table.T

    def restrict(self, rows: Rows) -> RandomDiscovery:
        """The same instances with fewer owners."""
        return RandomDiscovery(self.table[rows])


def probabilities(q: Any, most: float = _MOST) -> FrozenArray:
    """A table owners x instances of numbers between 0 and `most`, or an error."""
    table = q if isinstance(q, FrozenArray) else FrozenArray(q, "table of sampling probabilities")
    if table.array.ndim != 2 or table.array.size == 0:
        shape = table.array.shape
        raise InputError(f"sampling probabilities must be owners x instances, got shape {shape}; give a row per owner")
    check_positive("sampling probabilities", table.array, zero=True)
    if np.any(table.array > most):
        raise InputError(f"sampling probabilities must be at most {most:g}, got {table.array.max():g}; scale them down")
    return FrozenArray(table.array.astype(float))


def check_width(profiles: Array, owners: int) -> None:
    """Raise unless every profile has one contribution per owner."""
    if profiles.shape[-1] != owners:
        raise InputError(f"{profiles.shape[-1]} contributions but {owners} owners; give one contribution per owner")
