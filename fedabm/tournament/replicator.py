"""Replicator dynamics: what earns more than the average spreads.

    dx_k/dt = x_k (f_k(x) - sum_j x_j f_j(x))          Taylor and Jonker 1978

Vertices never leave themselves, so that stability is seen from starts inside: a mixture that many of them lead to is
stable against small changes, and what is extinct there does not come back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import softmax

from fedabm.common.arrays import Array
from fedabm.tournament.empirical import EmpiricalGame, mixtures

__all__ = ["End", "ends", "inside", "trajectory", "velocity"]

#: how long mixtures change, in units of one over the range of payoffs
_TIME = 2000.0
#: the speed below which they stand still, if nothing earns more than the average by this share of the range
_REST = 1e-9
_GAIN = 1e-6


class End(NamedTuple):
    """Where mixtures end.

    The mixture, the share of starts that end there, its regret (0: a Nash equilibrium), and whether it stands still;
    if not, mixtures were still changing when the time was over, as in a cycle.
    """

    mixture: Array
    basin: float
    regret: float
    at_rest: bool


def velocity(game: EmpiricalGame, mixture: Any) -> Array:
    """dx/dt at one mixture (K,) or at many (b, K).

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    mixture : Any
        Shares of strategies, shape (strategies,) or (many, strategies).

    Returns
    -------
    Array
        dx/dt, of the same shape.
    """
    x = np.asarray(mixture, dtype=float)
    return x * _growth(game, x)


def _growth(game: EmpiricalGame, x: Array) -> Array:
    """d log x / dt: how much more than the average each strategy earns."""
    earned = game.ahead(x)
    earned = earned - np.max(earned, axis=-1, keepdims=True)  # a constant added to all payoffs changes nothing
    return earned - np.sum(x * earned, axis=-1, keepdims=True)


def trajectory(game: EmpiricalGame, start: Any, time: float = _TIME) -> Array:
    """The mixtures (t, K) that a start goes through.

    Followed are the logarithms of the shares, d log x_k / dt = f_k(x) - sum_j x_j f_j(x): shares stay positive and sum
    to one whatever the payoffs are, and what is rare for long can still come back.
    """
    first = np.asarray(start, dtype=float)
    played = first > 0

    def shares(logs: Array) -> Array:
        x = np.zeros((*logs.shape[:-1], len(first)))
        x[..., played] = softmax(logs, axis=-1)
        return x

    def change(_: float, logs: Array) -> Array:
        return _growth(game, shares(logs))[played] / game.scale

    def moving(time: float, logs: Array) -> float:
        growth = change(time, logs)
        return _unrest(shares(logs)[played], growth)

    moving.terminal = True  # type: ignore[attr-defined]
    logs = np.log(first[played])
    found = solve_ivp(change, (0.0, time), logs, "LSODA", events=moving, rtol=1e-9, atol=1e-10)
    return shares(found.y.T)


def _unrest(shares: Array, growth: Array) -> float:
    """Positive while a mixture moves, or something rare in it still grows."""
    return max(float(np.max(np.abs(shares * growth))) / _REST, float(np.max(growth)) / _GAIN) - 1.0


def _is_at_rest(game: EmpiricalGame, mixture: Array) -> bool:
    played = mixture > 0
    # the moment at which it comes to rest is found up to a rounding error
    return _unrest(mixture[played], _growth(game, mixture)[played] / game.scale) <= 1e-3


def inside(strategies: int, parts: int = 10) -> Array:
    """Starts (b, K) spread evenly over the inside of the simplex."""
    counts = mixtures(parts, strategies)
    return (counts + 1.0 / strategies) / (parts + 1.0)


def ends(game: EmpiricalGame, parts: int = 10, near: float = 0.02) -> list[End]:
    """Where starts inside the simplex end, most visited first; ends closer than `near` count as one.

    Shares sum to one, and a constant added to all payoffs leaves ends and basins as they are.

    Parameters
    ----------
    game : EmpiricalGame
        Owners, accuracy and mechanism.
    parts : int, optional
        Into how many parts an edge of the simplex is divided for starts.
    near : float, optional
        Ends closer than this count as one.

    Returns
    -------
    list[End]
        Ends with their basins, most visited first.
    """
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
    return [_end(game, group, len(group) / len(starts)) for group in found]


def _end(game: EmpiricalGame, group: list[Array], basin: float) -> End:
    at_rest = all(_is_at_rest(game, mixture) for mixture in group)
    return End(group[0], basin, float(game.regret(group[0])), at_rest)
