"""A semismooth Newton method for the equilibrium conditions of a game on a box.

At an equilibrium every owner's slope F_i = d u_i / d s_i vanishes, or points out of [0, capacity] at a bound.  Each
iteration solves the linearised conditions

    d_i in [-s_i, capacity_i - s_i],   F + (J - damping D) d  complementary to these bounds,   D = |diag J|

by a primal-dual active set method (Hintermueller, Ito, Kunisch 2002).  The damping is that of pseudo-transient
continuation (Kelley, Keyes 1998): large damping follows the owners' gradient dynamics, which monotone games
converge by, none is Newton's method.  So singular Jacobians, such as the rank-one ones of payoffs of the total with
linear costs, need no case of their own.  A Jacobian that served well is used again.

Whether the result is an equilibrium is not decided here but by the certified gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from fedabm.curves import Array
from fedabm.game import Game

__all__ = ["Newton", "newton"]

_FLOOR = 1e-11
_FEW = 48


@dataclass(frozen=True)
class Newton:
    """The last profile, how many iterations led to it and its natural residual, |s - clip(s + F/D)|."""

    profile: Array
    iterations: int
    residual: float


def newton(game: Game, start: Array, *, limit: int = 100, precision: float = 1e-11) -> Newton:
    """Iterate from `start` until the residual is below `precision` of the largest contribution, or progress ends."""
    profile = np.clip(start, 0.0, game.capacities)
    slope = game.slopes(profile)
    damping, fresh, turn, size = _FLOOR, False, 0, np.inf
    model = linearise(game, profile, slope)
    for turn in range(1, limit + 1):
        size = model.residual(profile, slope)
        if size <= precision * max(1e-3, float(np.max(profile))) or damping > 1e6:
            break
        trial = np.clip(profile + model.step(profile, slope, damping), 0.0, game.capacities)
        seen = game.slopes(trial)
        ratio = model.residual(trial, seen) / size if np.all(np.isfinite(seen)) else np.inf
        accepted = ratio <= 1.5
        damping = max(damping * max(ratio, 1e-3), _FLOOR) if accepted else max(10 * damping, 1e-2)
        if accepted:
            profile, slope = trial, seen
        if ratio > 0.1 and (accepted or not fresh):
            model, fresh = linearise(game, profile, slope), True
        else:
            fresh = fresh and not accepted
    return Newton(profile, turn, size)


@dataclass(frozen=True)
class Model:
    """The slopes' linear model at one profile."""

    diagonal: Array
    apply: Callable[[Array], Array]
    matrix: Array | None
    capacities: Array

    def residual(self, profile: Array, slope: Array) -> float:
        """How far the owners would move by their own diagonal Newton steps."""
        return float(np.linalg.norm(np.clip(profile + slope / self.diagonal, 0.0, self.capacities) - profile))

    def step(self, profile: Array, slope: Array, damping: float, rounds: int = 40) -> Array:
        """Solve the linearised conditions; the last guess if the active set keeps changing."""
        low, high = -profile, self.capacities - profile
        wish = slope / self.diagonal
        at_low, at_high = wish <= low, wish >= high
        for _ in range(rounds if self.matrix is not None else 6):
            move = np.where(at_low, low, np.where(at_high, high, 0.0))
            free = np.flatnonzero(~(at_low | at_high))
            move[free] = self._solve(free, slope + self.apply(move), damping)
            wish = move + (slope + self.apply(move)) / self.diagonal - damping * move
            was_low, was_high, at_low, at_high = at_low, at_high, wish <= low, wish >= high
            if np.array_equal(was_low, at_low) and np.array_equal(was_high, at_high):
                break
        return np.clip(move, low, high)

    def _solve(self, free: np.ndarray, pull: Array, damping: float) -> Array:
        """(damping D - J) d = pull for the free owners."""
        if not len(free):
            return np.empty(0)
        if self.matrix is None:
            return self._krylov(free, pull[free], damping)
        system = -self.matrix[np.ix_(free, free)]
        system[np.diag_indices(len(free))] += damping * self.diagonal[free]
        try:
            return np.linalg.solve(system, pull[free])
        except np.linalg.LinAlgError:
            return np.linalg.lstsq(system, pull[free])[0]

    def _krylov(self, free: np.ndarray, pull: Array, damping: float) -> Array:
        """The same without a matrix: GMRES, scaled by the diagonal."""
        scale = self.diagonal[free] * (1.0 + damping)

        def times(part: Array) -> Array:
            full = np.zeros(len(self.diagonal))
            full[free] = part
            return (damping * self.diagonal[free] * part - self.apply(full)[free]) / scale

        operator = LinearOperator((len(free), len(free)), matvec=times, dtype=float)
        answer, _ = gmres(operator, pull / scale, rtol=1e-5, restart=40, maxiter=1)
        return answer


def linearise(game: Game, profile: Array, slope: Array, dense: int = 3000) -> Model:
    """The linear model: an exact Jacobian where one is known, differences of slopes for few owners, else none at all.

    Without a matrix, products J d are differences of slopes along d.
    """
    few = game.owners <= _FEW
    exact = game.owners <= dense and game.mechanism.jacobian(game.accuracy, game.reports(profile)) is not None
    if few or exact:
        matrix = np.nan_to_num(game.jacobian(profile), posinf=1e200, neginf=-1e200)
        diagonal = np.diagonal(matrix)
        return Model(_positive(diagonal, slope, game.capacities), matrix.__matmul__, matrix, game.capacities)
    diagonal = _positive(_own_curvature(game, profile), slope, game.capacities)
    return Model(diagonal, _directional(game, profile, slope), None, game.capacities)


def _positive(diagonal: Array, slope: Array, capacities: Array) -> Array:
    """|diag J|, away from zero: at the least so that a step crosses the whole range a thousand times."""
    return np.maximum(np.abs(diagonal), np.maximum(1e-3 * np.abs(slope) / capacities, 1e-100))


def _own_curvature(game: Game, profile: Array) -> Array:
    """d^2 u_i / d s_i^2 from each owner's own curve."""
    curve, cost = game.offers(profile).benefit, game.costs
    step = 1e-5 * np.maximum(1e-3, profile)
    low, high = np.maximum(profile - step, 0.0), profile + step
    rise = curve.slope(high) - cost.slope(high) - curve.slope(low) + cost.slope(low)
    return rise / (high - low)


def _directional(game: Game, profile: Array, slope: Array) -> Callable[[Array], Array]:
    """J d by a difference of slopes along d."""

    def apply(move: Array) -> Array:
        length = float(np.max(np.abs(move)))
        if length == 0:
            return np.zeros_like(move)
        short = 1e-7 * max(1e-3, float(np.max(profile))) / length
        return (game.slopes(np.maximum(profile + short * move, 0.0)) - slope) / short

    return apply
