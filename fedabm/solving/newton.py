"""Two Newton methods for the equilibrium conditions of a game on a box.

At an equilibrium every owner's slope F_i = d u_i / d s_i vanishes, or points out of [0, capacity] at a bound:

    s_i = clip(s_i + F_i(s) / D_i, 0, capacity_i)      for any D_i > 0.

- `newton` is a semismooth Newton method with a primal-dual active set (Hintermueller, Ito, Kunisch 2002): each
  iteration solves the linearised conditions.  It needs few where the Jacobian is regular, as under Shapley shares.
- `interior_point` follows the central path s_i z_i = (capacity_i - s_i) w_i = mu, F = w - z, to mu = 0 (Monteiro, Pang
  1996).  It needs more iterations, but copes with singular Jacobians, such as the rank-one ones of payoffs of the total
  with linear costs.

Neither decides whether its result is an equilibrium: the certified gap does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.games.curves import Array
from fedabm.solving.game import Game
from fedabm.solving.linear_model import LinearModel, linearise

__all__ = ["Newton", "interior_point", "newton"]

# Keeps systems solvable where the Jacobian of the free owners is singular.
_DAMPING = 1e-11


@dataclass(frozen=True)
class Newton:
    """The last profile, how many iterations led to it, and how far it is from the conditions."""

    profile: Array
    iterations: int
    residual: float


def newton(game: Game, start: Array, *, limit: int = 60, precision: float = 1e-10) -> Newton:
    """Iterate until the residual is below `precision` of the largest contribution, or has not halved for long.

    A Jacobian that reduced the residual tenfold is used again.
    """
    profile = np.clip(start, 0.0, game.capacities)
    slope = game.slopes(profile)
    if not np.all(np.isfinite(slope)):
        return Newton(profile, 0, np.inf)
    model = linearise(game, profile, slope)
    size = best = _residual(game, model, profile, slope)
    turn, record = 0, 0
    while size > precision * float(np.max(profile)) and turn < min(limit, record + 12):
        turn += 1
        profile, slope = _advance(game, profile, _active_set_step(game, model, profile, slope))
        before, size = size, _residual(game, model, profile, slope)
        if size < 0.5 * best:
            best, record = size, turn
        if size > 0.1 * before:
            model = linearise(game, profile, slope)
            size = _residual(game, model, profile, slope)
    return Newton(profile, turn, size)


def _residual(game: Game, model: LinearModel, profile: Array, slope: Array) -> float:
    """How far owners would move by their own diagonal Newton steps."""
    return float(np.linalg.norm(np.clip(profile + slope / model.diagonal, 0.0, game.capacities) - profile))


def _advance(game: Game, profile: Array, move: Array) -> tuple[Array, Array]:
    """Move; less far if slopes are not finite there."""
    for _ in range(60):
        trial = np.clip(profile + move, 0.0, game.capacities)
        slope = game.slopes(trial)
        if np.all(np.isfinite(slope)):
            break
        move = 0.5 * move
    return trial, slope


def _active_set_step(game: Game, model: LinearModel, profile: Array, slope: Array) -> Array:
    """The step to the solution of the linearised conditions; the last guess if the active set keeps changing."""
    low, high = -profile, game.capacities - profile
    wish = slope / model.diagonal
    at_low, at_high = wish <= low, wish >= high
    for _ in range(12 if model.matrix is not None else 4):
        move = np.where(at_low, low, np.where(at_high, high, 0.0))
        free = np.flatnonzero(~(at_low | at_high))
        pinned = slope + model.apply(move)
        move[free] = model.solve(free, _DAMPING * model.diagonal[free], pinned[free])
        wish = move + (slope + model.apply(move)) / model.diagonal
        was_low = at_low
        was_high = at_high
        at_low = wish <= low
        at_high = wish >= high
        if np.array_equal(was_low, at_low) and np.array_equal(was_high, at_high):
            break
    return np.clip(move, low, high)


def interior_point(game: Game, start: Array, *, limit: int = 80, precision: float = 1e-14) -> Newton:
    """Iterate until every owner's complementarity is below `precision`, from a start moved inside the box."""
    top = game.capacities
    profile = np.clip(start, 1e-3 * top, (1 - 1e-3) * top)
    slope = game.slopes(profile)
    typical = 0.1 * float(np.mean(np.abs(slope))) or 1e-12
    at_low, at_high = np.maximum(-slope, 0.0) + typical, np.maximum(slope, 0.0) + typical
    # What is left to the capacity is tracked on its own: top - profile would round to zero.
    room = top - profile
    everyone = np.arange(game.owners)
    turn = 0
    size = np.inf
    while turn < limit:
        turn += 1
        size = float(np.mean(profile * at_low + room * at_high))
        steepest = float(np.max(np.abs(slope) + game.costs.slope(profile)))
        if size < precision and np.max(np.abs(slope + at_low - at_high)) <= 1e-9 * steepest:
            break
        target = 0.05 * size
        model = linearise(game, profile, slope)
        weight = at_low / profile + at_high / room
        move = model.solve(everyone, weight, slope + target / profile - target / room)
        more_low = target / profile - at_low - at_low / profile * move
        more_high = target / room - at_high + at_high / room * move
        shorter = np.concatenate([-move / profile, move / room, -more_low / at_low, -more_high / at_high])
        length = min(1.0, 0.995 / max(float(np.max(shorter)), 1e-300))
        ahead = game.slopes(profile + length * move)
        if not np.all(np.isfinite(ahead)):
            break
        profile = profile + length * move
        room = room - length * move
        slope = ahead
        at_low, at_high = at_low + length * more_low, at_high + length * more_high
    return Newton(np.clip(profile, 0.0, top), turn, size)
