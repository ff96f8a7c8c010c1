"""Replicator dynamics: what earns more than the average spreads.

    dx_k/dt = x_k (f_k(x) - sum_j x_j f_j(x))          Taylor and Jonker 1978

Vertices never leave themselves, so that stability is seen from starts inside: a mixture that many of them lead to is
stable against small changes, and what is extinct there does not come back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from fedabm.common.arrays import Array
from fedabm.tournament.empirical import EmpiricalGame, mixtures

__all__ = ["End", "ends", "inside", "trajectory", "velocity"]

#: how long mixtures change, in units of one over the range of payoffs
_TIME = 2000.0
#: the speed below which they stand still
_REST = 1e-9


class End(NamedTuple):
    """Where mixtures end: the mixture, the share of starts that end there, and its regret (0: a Nash equilibrium)."""

    mixture: Array
    basin: float
    regret: float


def velocity(game: EmpiricalGame, mixture: Any) -> Array:
    """dx/dt at one mixture (K,) or at many (b, K)."""
    x = np.asarray(mixture, dtype=float)
    earned = game.fitness(x)
    return x * (earned - np.sum(x * earned, axis=-1, keepdims=True))


def trajectory(game: EmpiricalGame, start: Any, time: float = _TIME) -> Array:
    """The mixtures (t, K) that a start goes through."""
    scale = game.scale

    def change(_: float, x: Array) -> Array:
        # A trial step may leave the simplex, where powers of shares have no end.
        return velocity(game, np.clip(x, 0.0, 1.0)) / scale

    def at_rest(time: float, x: Array) -> float:
        return float(np.max(np.abs(change(time, x)))) - _REST

    at_rest.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(change, (0.0, time), start, "LSODA", events=at_rest, rtol=1e-8, atol=1e-12)
    path = np.maximum(found.y.T, 0.0)
    return path / path.sum(axis=1, keepdims=True)


def inside(strategies: int, parts: int = 10) -> Array:
    """Starts (b, K) spread evenly over the inside of the simplex."""
    counts = mixtures(parts, strategies)
    return (counts + 1.0 / strategies) / (parts + 1.0)


def ends(game: EmpiricalGame, parts: int = 10, near: float = 0.02) -> list[End]:
    """Where starts inside the simplex end, most visited first; ends closer than `near` count as one."""
    found: list[list[Array]] = []
    starts = inside(len(game.strategies), parts)
    for start in starts:
        last = trajectory(game, start)[-1]
        home = next((group for group in found if np.max(np.abs(group[0] - last)) < near), None)
        if home is None:
            found.append([last])
        else:
            home.append(last)
    found.sort(key=len, reverse=True)
    return [End(group[0], len(group) / len(starts), float(game.regret(group[0]))) for group in found]
