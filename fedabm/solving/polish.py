"""The last digits of an equilibrium that best responses have found.

At a smooth optimum utilities are flat: they tell only half of a contribution's digits, slopes tell all of them.
"""

from __future__ import annotations

import numpy as np

from fedabm.games.curves import Array
from fedabm.solving.clock import TimeUp
from fedabm.solving.game import Game
from fedabm.solving.newton import newton
from fedabm.solving.search import Path
from fedabm.solving.table import OneGame
from fedabm.solving.verdict import Equilibrium, certify, gain_found

__all__ = ["polish", "sharpened"]


def polish(game: Game, found: Equilibrium, tolerance: float) -> Equilibrium:
    """Sharpen what best responses found by Newton, if the gap does not grow; as it is, if time is up."""
    if not found.converged:
        return found
    try:
        near = sharpened(game, found)
    except TimeUp:
        return found
    if near is found:
        return found
    sharp = certify(game, near, tolerance)
    return sharp if sharp.gap <= found.gap + 1e-15 else found


def sharpened(game: Game, found: Equilibrium) -> Path | Equilibrium:
    """What Newton and best replies make of a result of best responses, if they stay close and nobody gains more."""
    if "best response" not in found.method or found.cycle is not None:
        return found
    sharp, least = found.profile, found.gain
    for follow in (_few_newton_steps, _settled):
        near = follow(game, sharp)
        if near is sharp or np.max(np.abs(near - found.profile)) > 1e-4 * np.max(found.profile):
            continue
        gain = gain_found(game, near)
        if gain <= least + 1e-15:
            sharp, least = near, gain
    return found if sharp is found.profile else Path(sharp, found.iterations, found.method)


def _few_newton_steps(game: Game, profile: Array) -> Array:
    return newton(OneGame(game), profile[None], limit=5).profiles[0]


def _settled(game: Game, profile: Array, limit: int = 60) -> Array:
    """Follow best replies as long as they come closer: along a ramp utilities hardly differ, but its end is sharp.

    Replies within a ten-millionth tell no more digits than Newton's method has.
    """
    if game.offers(profile).shape != "concave":
        return profile
    reply = game.best_responses(profile)
    size = np.max(np.abs(reply - profile))
    for _ in range(limit if size > 1e-7 * np.max(profile) else 0):
        further = game.best_responses(reply)
        closer = np.max(np.abs(further - reply))
        if not closer < 0.9 * size:
            break
        profile = reply
        reply = further
        size = closer
    return profile
