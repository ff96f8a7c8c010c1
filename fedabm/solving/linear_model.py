"""The owners' slopes near a profile of every game of a table, as a linear model that Newton's method can solve.

    F(s + d) = F(s) + J d,      F_i = d u_i / d s_i,      J_ij = d F_i / d s_j

The Jacobian J is the mechanism's own where it knows one, is taken by differences for few owners (`Matrices`), and is
never formed otherwise: then products J d are differences of slopes along d, and systems are solved by GMRES
(`MatrixFree`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, gmres

from fedabm.common.arrays import Array, Flags, Places
from fedabm.solving.table import GameTable

__all__ = ["DENSE", "FEW", "LinearModel", "linearise"]

#: more owners than this have a Jacobian only where the mechanism knows it
FEW = 48
#: more owners than this never get a matrix
DENSE = 3000


class LinearModel(ABC):
    """J at one profile of every game."""

    #: |diag J| of every game, kept away from zero
    diagonal: Array
    #: how many systems a step may take
    systems: int

    @abstractmethod
    def apply(self, moves: Array) -> Array:
        """J d in every game."""

    @abstractmethod
    def solve(self, free: Flags, weight: Array, pull: Array) -> Array:
        """(diag(weight) - J) d = pull for the owners that are free; for the others d = 0."""

    @abstractmethod
    def take(self, games: Places) -> LinearModel:
        """Of some of the games."""

    @abstractmethod
    def renewed(self, games: Places, newer: LinearModel) -> LinearModel:
        """With newer models of some of the games."""


@dataclass(frozen=True)
class Matrices(LinearModel):
    """J as matrices (games, owners, owners)."""

    diagonal: Array
    matrices: Array
    systems: int = 12
    #: the last factorised system of a single game, for solving it again
    factors: dict[bytes, tuple[Array, NDArray[np.int32]]] = field(default_factory=dict)

    def apply(self, moves: Array) -> Array:
        """J d in every game."""
        return (self.matrices @ moves[..., None])[..., 0]

    def solve(self, free: Flags, weight: Array, pull: Array) -> Array:
        """All games at once; a single one by factors that serve again."""
        if len(free) == 1:
            moves = np.zeros(free.shape)
            moves[free] = self._solve_one(np.flatnonzero(free), weight[free], pull[free])
            return moves
        # Who is pinned has an equation of its own, d = 0, so that only rows need be cleared.
        system = np.where(free[:, :, None], -self.matrices, 0.0)
        np.einsum("gii->gi", system)[...] += np.where(free, weight, 1.0)
        return _solved(system, np.where(free, pull, 0.0))

    def _solve_one(self, rows: Places, weight: Array, pull: Array) -> Array:
        if not len(rows):
            return np.empty(0)
        key = rows.tobytes() + weight.tobytes()
        if key not in self.factors:
            self.factors.clear()
            system = -self.matrices[0][np.ix_(rows, rows)]
            system[np.diag_indices(len(rows))] += weight
            self.factors[key] = _factorise(system)
        return lapack.dgetrs(*self.factors[key], pull)[0]

    def take(self, games: Places) -> Matrices:
        """Of some of the games."""
        return Matrices(self.diagonal[games], self.matrices[games])

    def renewed(self, games: Places, newer: LinearModel) -> LinearModel:
        """With newer models of some of the games."""
        if len(games) == len(self.diagonal):
            return newer
        diagonal, matrices = self.diagonal.copy(), self.matrices.copy()
        diagonal[games], matrices[games] = newer.diagonal, cast(Matrices, newer).matrices
        return Matrices(diagonal, matrices)


@dataclass(frozen=True)
class MatrixFree(LinearModel):
    """J of a table of one game by its products: differences of slopes along a move."""

    table: GameTable
    profiles: Array
    slopes: Array
    diagonal: Array
    systems: int = 4

    def apply(self, moves: Array) -> Array:
        """J d by a difference of slopes along d."""
        length = float(np.max(np.abs(moves)))
        if length == 0:
            return np.zeros_like(moves)
        short = 1e-7 * float(self.table.typical(self.profiles)[0]) / length
        return (self.table.slopes(np.maximum(self.profiles + short * moves, 0.0)) - self.slopes) / short

    def solve(self, free: Flags, weight: Array, pull: Array) -> Array:
        """By GMRES, scaled by the diagonal; a rough answer is good enough for a Newton step."""
        moves = np.zeros(free.shape)
        weight, pull = weight[free], pull[free]
        if not len(pull):
            return moves
        scale = self.diagonal[free] + weight

        def times(part: Array) -> Array:
            moves[free] = part
            return (weight * part - self.apply(moves)[free]) / scale

        operator = LinearOperator((len(pull), len(pull)), matvec=times, dtype=float)
        moves[free] = gmres(operator, pull / scale, rtol=1e-5, restart=40, maxiter=1)[0]
        return moves

    def take(self, games: Places) -> MatrixFree:
        """There is only one game."""
        return self

    def renewed(self, games: Places, newer: LinearModel) -> LinearModel:
        """The newer one of the only game."""
        return newer if len(games) else self


def linearise(table: GameTable, profiles: Array, slopes: Array) -> LinearModel:
    """The linear model at profiles with these slopes; a table without matrices must be of one game."""
    matrices = _matrices(table, profiles)
    if matrices is None:
        own = _positive(_own_curvature(table, profiles), slopes, table.capacities)
        return MatrixFree(table, profiles, slopes, own)
    return Matrices(_positive(np.diagonal(matrices, axis1=1, axis2=2), slopes, table.capacities), matrices)


def _matrices(table: GameTable, profiles: Array) -> Array | None:
    """The Jacobians where they can be had cheaply."""
    owners = profiles.shape[1]
    if owners > DENSE:
        return None
    matrices = table.jacobians(profiles) if owners <= FEW else table.known_jacobians(profiles)
    return None if matrices is None else np.nan_to_num(matrices, posinf=1e200, neginf=-1e200)


def _positive(diagonal: Array, slopes: Array, capacities: Array) -> Array:
    """|diag J|, away from zero: where it vanishes, steps of a thousand times the whole range."""
    return np.maximum(np.abs(diagonal), np.maximum(1e-3 * np.abs(slopes) / capacities, 1e-100))


def _own_curvature(table: GameTable, profiles: Array) -> Array:
    """d^2 u_i / d s_i^2 from each owner's own curve."""
    curve, cost = table.offers(profiles).benefit, table.costs
    x, typical = profiles.ravel(), np.repeat(table.typical(profiles), profiles.shape[1])
    step = 1e-5 * np.maximum(1e-3 * typical, x)
    low, high = np.maximum(x - step, 0.0), x + step
    rise = curve.slope(high) - cost.slope(high) - curve.slope(low) + cost.slope(low)
    return (rise / (high - low)).reshape(profiles.shape)


def _solved(systems: Array, pulls: Array) -> Array:
    """Every system solved; where one is singular, each by itself."""
    try:
        return np.asarray(np.linalg.solve(systems, pulls[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.array([lapack.dgetrs(*_factorise(one), pull)[0] for one, pull in zip(systems, pulls, strict=True)])


def _factorise(system: Array) -> tuple[Array, NDArray[np.int32]]:
    """LU factors; a singular system is nudged until it is regular."""
    diagonal = np.diag_indices(len(system))
    factors, pivots, zero_pivot = lapack.dgetrf(system)
    size = max(float(np.max(np.abs(system))), 1e-100)
    for power in range(-12, 3):
        if not zero_pivot:
            break
        system[diagonal] += size * 10.0**power
        factors, pivots, zero_pivot = lapack.dgetrf(system)
    return factors, pivots
