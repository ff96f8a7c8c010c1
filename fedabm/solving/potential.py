"""Shapley shares as a potential game: one function that every owner climbs.

With P the potential of the coalition game (`fedabm.shapley.shapley_potential`), d P / d s_i = d phi_i / d s_i.  So
under M^Shap every owner's utility changes with its own contribution exactly as

    Phi(s) = P(s) - sum_i c_i(s_i)

does: the game is an exact potential game (Monderer and Shapley 1996), and whatever maximises Phi is an equilibrium.

S. Hart, A. Mas-Colell (1989), Potential, value, and consistency, Econometrica 57(3).
D. Monderer, L. S. Shapley (1996), Potential games, Games and Economic Behavior 14(1).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.shapley import choose_method, shapley_potential
from fedabm.solving.game import Game
from fedabm.solving.search import Path

__all__ = ["ascend", "has_potential", "potential"]

#: the least share of the promised rise that a step must bring (Armijo)
_RISE = 1e-4


def has_potential(game: Game) -> bool:
    """Whether the game is M^Shap with exact shares for which the potential can be computed."""
    if not game.mechanism.traits.potential:
        return False
    return choose_method(game.accuracy, np.ones(game.owners)) in ("linear", "quadrature", "enumeration")


def potential(game: Game, profile: Array) -> float:
    """Phi(s), up to a constant; under M^Shap with exact shares."""
    if not has_potential(game):
        got = f"{game.mechanism!r} with {type(game.accuracy).__name__}"
        raise InputError(f"only exact Shapley shares have a potential here, got {got}; take another method")
    return shapley_potential(game.accuracy, profile) - float(np.sum(game.costs.value(profile)))


def ascend(game: Game, start: Array, limit: int = 200, precision: float = 1e-11) -> Path:
    """Climb Phi by a projected Newton method whose every step rises (Bertsekas 1982), until nobody moves.

    Where Phi is concave this ends in its maximum from every start.
    """
    profile = np.clip(start, 0.0, game.capacities)
    height = potential(game, profile)
    for turn in range(limit):
        slope = game.slopes(profile)
        move = _direction(game, profile, slope)
        reach = np.clip(profile + move, 0.0, game.capacities) - profile
        if np.max(np.abs(reach)) <= precision * float(np.max(profile)):
            return Path(profile, turn, "potential")
        profile, height = _risen(game, profile, height, slope, move)
    return Path(profile, limit, "potential")


def _direction(game: Game, profile: Array, slope: Array) -> Array:
    """Newton's step for owners that are free to move, and none for those whom their bounds hold."""
    held = ((profile <= 0) & (slope <= 0)) | ((profile >= game.capacities) & (slope >= 0))
    free = np.flatnonzero(~held)
    move = np.zeros(game.owners)
    if len(free):
        bend = -game.jacobian(profile)[np.ix_(free, free)]
        move[free] = _solved(0.5 * (bend + bend.T), slope[free])
    return move


def _solved(bend: Array, slope: Array) -> Array:
    """Solve `bend` x = slope, with as much added to the diagonal as makes `bend` positive definite."""
    size = max(float(np.max(np.abs(np.diagonal(bend)))), 1e-12)
    for added in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3):
        try:
            return cho_solve(cho_factor(bend + added * size * np.eye(len(bend))), slope)
        except np.linalg.LinAlgError:
            continue
    return slope / size


def _risen(game: Game, profile: Array, height: float, slope: Array, move: Array) -> tuple[Array, float]:
    """The first of ever shorter steps that brings its share of the rise; the last one tried if rounding hides it."""
    for halving in range(40):
        trial = np.clip(profile + 0.5**halving * move, 0.0, game.capacities)
        there = potential(game, trial)
        if there - height >= _RISE * float(slope @ (trial - profile)) - 1e-15 * abs(height):
            break
    return trial, there
