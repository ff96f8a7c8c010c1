"""Where to look for equilibria: starting points, and best-response paths until they rest or repeat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fedabm.games.curves import Array
from fedabm.solving.clock import TimeUp
from fedabm.solving.dynamics import replies, sequential_best_response
from fedabm.solving.game import Game

#: moves below this share of the largest contribution may be rounding, or the width of the grid that found a reply
_NOISE = 1e-6
#: this many rounds must make such moves smaller than the same number before did
_STIRRING = 3

__all__ = ["Path", "damped", "in_turn", "starts", "until_repeat"]


@dataclass(frozen=True)
class Path:
    """Where a method led, after how many iterations, and the profiles that it repeats for ever (None: it rests)."""

    profile: Array
    iterations: int
    method: str
    cycle: Array | None = None


def starts(game: Game, rng: np.random.Generator, count: int) -> Iterator[Array]:
    """Everyone at capacity, nobody, everyone as if alone, then `count` random profiles, half with idle owners."""
    yield game.capacities.copy()
    yield np.zeros(game.owners)
    yield game.best_responses(np.zeros(game.owners))
    for turn in range(count):
        drawn = game.capacities * rng.random(game.owners) ** (1 + 2 * (turn % 3))
        yield drawn * (rng.random(game.owners) < 0.5) if turn % 2 else drawn


def in_turn(game: Game, start: Array, rounds: int = 100) -> Path:
    """Exact best replies, one owner after the other, until they rest or repeat."""
    moves = sequential_best_response(game, start)
    return until_repeat(moves, "sequential best response", game.owners, rounds * game.owners)


def until_repeat(moves: Iterator[Array], method: str, period: int, limit: int) -> Path:
    """Follow a path of profiles until one comes back, seen at the same turn of `period`; or for `limit` moves, or time.

    Profiles are compared to 12 digits.  A path that comes back without having moved in between is at rest, and so is
    one that only stirs: best replies are not always known to 12 digits.
    """
    seen: dict[tuple[int, bytes], int] = {}
    trail: list[Array] = []
    with suppress(TimeUp):
        for turn, profile in enumerate(moves):
            trail.append(profile)
            state = (turn % period, _digits(profile))
            if state in seen:
                return Path(profile, turn, method, _members(trail[seen[state] :]))
            if turn >= limit or _stirs(trail, period):
                break
            seen[state] = turn
    return Path(trail[-1], len(trail) - 1, method)


def _digits(profile: Array) -> bytes:
    """The profile to 12 digits of (the next power of two above) its largest entry."""
    top = float(np.max(profile))
    scale = 2.0 ** np.ceil(np.log2(top)) if top > 0 else 1.0
    return (np.round(profile / scale, 12) + 0.0).tobytes()


def _members(trail: list[Array]) -> Array | None:
    """The distinct profiles of a closed path, without rounding noise; None if there is only one."""
    width = _NOISE * float(np.max(trail))
    distinct = [now for before, now in pairwise(trail) if np.max(np.abs(now - before)) > width]
    return np.array(distinct) if len(distinct) > 1 else None


def _stirs(trail: list[Array], period: int) -> bool:
    """Whether moves are down to noise, relative to the contributions, and some rounds have not made them smaller."""
    if len(trail) <= 2 * _STIRRING * period or (len(trail) - 1) % period:
        return False
    moves = np.max(np.abs(np.diff(trail[-2 * _STIRRING * period - 1 :], axis=0)), axis=1)
    before, after = (float(np.max(half)) for half in np.split(moves, 2))
    return 0.9 * before < after <= _NOISE * float(np.max(trail[-1]))


def damped(game: Game, start: Array, limit: int = 300, precision: float = 1e-13) -> Path:
    """Everyone moves towards its best reply at once, less far whenever that stops bringing the profile closer.

    It gives up where the distance to the best replies has not halved for 40 moves.
    """
    profile = start
    everyone = np.arange(game.owners)
    damping = 1.0
    before = least = np.inf
    turn = record = 0
    while turn < min(limit, record + 40):
        turn += 1
        reply = replies(game, profile, everyone)
        move = reply - profile
        size = float(np.linalg.norm(move))
        if size <= precision * float(np.max(profile)):
            # Where a cost jumps, next to the best reply is not good enough.
            profile = reply if game.costs.kinks(game.owners).shape[1] else profile
            break
        if size < 0.5 * least:
            least, record = size, turn
        damping = min(1.0, 1.1 * damping) if size < 0.98 * before else 0.5 * damping
        profile, before = profile + damping * move, size
    return Path(profile, turn, "damped best response")
