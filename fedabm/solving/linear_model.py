"""The owners' slopes near a profile, as a linear model that Newton's method can solve.

    F(s + d) = F(s) + J d,      F_i = d u_i / d s_i,      J_ij = d F_i / d s_j

The Jacobian J is the mechanism's own where it knows one, is taken by differences for few owners, and is never formed
otherwise: then products J d are differences of slopes along d, and systems are solved by GMRES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, gmres

from fedabm.games.curves import Array
from fedabm.solving.game import Game

__all__ = ["LinearModel", "linearise"]

#: more owners than this have a Jacobian only where the mechanism knows it
FEW = 48
#: more owners than this never get a matrix
DENSE = 3000


@dataclass(frozen=True)
class LinearModel:
    """J at one profile: its matrix (or None), its products with a vector, and |diag J|, kept away from zero."""

    diagonal: Array
    apply: Callable[[Array], Array]
    matrix: Array | None
    #: the last factorised system, for solving it again
    factors: dict[bytes, tuple[Array, NDArray[np.int32]]] = field(default_factory=dict)

    def solve(self, rows: NDArray[np.intp], weight: Array, pull: Array) -> Array:
        """(diag(weight) - J) d = pull for the owners in `rows`, with one weight and pull each; the others rest."""
        if not len(rows):
            return np.empty(0)
        if self.matrix is None:
            return self._krylov(rows, weight, pull)
        key = rows.tobytes() + weight.tobytes()
        if key not in self.factors:
            self.factors.clear()
            self.factors[key] = _factorise(self.matrix, rows, weight)
        factors, pivots = self.factors[key]
        return lapack.dgetrs(factors, pivots, pull)[0]

    def _krylov(self, rows: NDArray[np.intp], weight: Array, pull: Array) -> Array:
        """The same without a matrix, scaled by the diagonal; a rough answer is good enough for a Newton step."""
        scale = self.diagonal[rows] + weight
        full = np.zeros(len(self.diagonal))

        def times(part: Array) -> Array:
            full[rows] = part
            return (weight * part - self.apply(full)[rows]) / scale

        operator = LinearOperator((len(rows), len(rows)), matvec=times, dtype=float)
        return gmres(operator, pull / scale, rtol=1e-5, restart=40, maxiter=1)[0]


def _factorise(matrix: Array, rows: NDArray[np.intp], weight: Array) -> tuple[Array, NDArray[np.int32]]:
    """LU factors of diag(weight) - J; a singular system is nudged until it is regular."""
    system = -matrix[np.ix_(rows, rows)]
    diagonal = np.diag_indices(len(rows))
    system[diagonal] += weight
    factors, pivots, zero_pivot = lapack.dgetrf(system)
    size = max(float(np.max(np.abs(system))), 1e-100)
    for power in range(-12, 3):
        if not zero_pivot:
            break
        system[diagonal] += size * 10.0**power
        factors, pivots, zero_pivot = lapack.dgetrf(system)
    return factors, pivots


def linearise(game: Game, profile: Array, slope: Array) -> LinearModel:
    """The linear model at a profile with these slopes."""
    matrix = _matrix(game, profile)
    if matrix is not None:
        return LinearModel(_positive(np.diagonal(matrix), slope, game.capacities), matrix.__matmul__, matrix)
    diagonal = _positive(_own_curvature(game, profile), slope, game.capacities)
    return LinearModel(diagonal, _directional(game, profile, slope), None)


def _matrix(game: Game, profile: Array) -> Array | None:
    """The Jacobian where it can be had cheaply."""
    if game.owners > DENSE:
        return None
    matrix = game.known_jacobian(profile)
    if matrix is None and game.owners <= FEW:
        matrix = game.jacobian(profile)
    return None if matrix is None else np.nan_to_num(matrix, posinf=1e200, neginf=-1e200)


def _positive(diagonal: Array, slope: Array, capacities: Array) -> Array:
    """|diag J|, away from zero: where it vanishes, steps of a thousand times the whole range."""
    return np.maximum(np.abs(diagonal), np.maximum(1e-3 * np.abs(slope) / capacities, 1e-100))


def _own_curvature(game: Game, profile: Array) -> Array:
    """d^2 u_i / d s_i^2 from each owner's own curve."""
    curve, cost = game.offers(profile).benefit, game.costs
    step = 1e-5 * np.maximum(1e-3 * game.typical(profile), profile)
    low, high = np.maximum(profile - step, 0.0), profile + step
    rise = curve.slope(high) - cost.slope(high) - curve.slope(low) + cost.slope(low)
    return rise / (high - low)


def _directional(game: Game, profile: Array, slope: Array) -> Callable[[Array], Array]:
    """J d by a difference of slopes along d."""

    def apply(move: Array) -> Array:
        length = float(np.max(np.abs(move)))
        if length == 0:
            return np.zeros_like(move)
        short = 1e-7 * game.typical(profile) / length
        return (game.slopes(np.maximum(profile + short * move, 0.0)) - slope) / short

    return apply
