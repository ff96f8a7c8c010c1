"""Profiles that may be equilibria, the most promising ones first; the certified gap decides which are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedabm.games.curves import Array
from fedabm.solving.game import Game
from fedabm.solving.interior_point import interior_point, polished
from fedabm.solving.linear_model import DENSE
from fedabm.solving.newton import Ends, newton
from fedabm.solving.opening import is_smooth, opening
from fedabm.solving.potential import ascend, has_potential
from fedabm.solving.search import Path, damped, in_turn, starts
from fedabm.solving.table import OneGame

__all__ = ["SMALL", "attempts", "automatic", "by_newton", "path_of"]

#: best responses in turn evaluate the whole game once per owner, so only games of this size can afford them
SMALL = 24


def automatic(game: Game, origin: Array | None, rng: np.random.Generator) -> Iterator[Path]:
    """Newton first where offers are concave; then best responses from several starts, Newton from where they end."""
    offers, table = game.offers(np.zeros(game.owners)), OneGame(game)
    if is_smooth(table, offers)[0]:
        first = opening(table, offers)[0] if origin is None else origin
        yield from by_newton(game, first)
        if game.owners <= DENSE and has_potential(game):
            yield ascend(game, first)
        yield from by_interior_point(game, first)
    if origin is not None:
        yield from attempts(game, origin)
    for other in starts(game, rng, 5):
        yield from attempts(game, other)


def attempts(game: Game, origin: Array) -> Iterator[Path]:
    """Best responses from one start, and what Newton makes of where they led and of the start itself."""
    ends = [origin]
    for follow in (in_turn, damped) if game.owners <= SMALL else (damped,):
        path = follow(game, origin)
        yield path
        ends += [path.profile] if path.cycle is None else []
    for end in reversed(ends):
        yield from by_newton(game, end)
    if game.owners > SMALL:
        yield from by_interior_point(game, origin)


def by_newton(game: Game, origin: Array) -> Iterator[Path]:
    """Newton from one start, if slopes are finite there."""
    if np.all(np.isfinite(game.slopes(origin))):
        yield path_of(newton(OneGame(game), origin[None]), "newton")


def by_interior_point(game: Game, origin: Array) -> Iterator[Path]:
    """The interior point method from one start, polished by Newton, then as it is."""
    steady = interior_point(OneGame(game), origin[None])
    for ends in (polished(OneGame(game), steady), steady):
        yield path_of(ends, "interior point")


def path_of(ends: Ends, method: str) -> Path:
    """Where a method led in a table of one game."""
    return Path(ends.profiles[0], int(ends.iterations[0]), method)
