"""A game that can be played until a time only."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from fedabm.games.offers import Offers
from fedabm.solving.game import Game

__all__ = ["TimeUp", "Timed", "timed"]


class TimeUp(Exception):
    """The time limit has passed."""


@dataclass(frozen=True, eq=False)
class Timed(Game):
    """Whatever a solver does, it asks for offers; after `until` (`time.perf_counter`) it gets none."""

    until: float = math.inf

    @property
    def over(self) -> bool:
        """Whether time is up."""
        return time.perf_counter() > self.until

    def offers(self, contributions: Any) -> Offers:
        """The curves that owners face, while there is time."""
        if self.over:
            raise TimeUp
        return super().offers(contributions)


def timed(game: Game, seconds: float | None) -> Timed:
    """The game for so many seconds from now on, or as long as it may be played anyway."""
    until = game.until if isinstance(game, Timed) else math.inf
    if seconds is not None:
        until = min(until, time.perf_counter() + seconds)
    return Timed(game.accuracy, game.costs, game.capacities, game.mechanism, game.reported, until=until)
