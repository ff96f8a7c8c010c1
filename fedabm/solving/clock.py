"""A game that can be played until a time only."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from fedabm.common.deadline import TimeUp
from fedabm.games.offers import Offers
from fedabm.solving.game import Game

__all__ = ["TimeUp", "Timed", "timed"]

#: a limit is exceeded by this share of it at most, but for single steps that cannot be interrupted
_GRACE = 0.05
_LEAST_GRACE = 0.5


@dataclass(frozen=True, eq=False)
class Timed(Game):
    """Whatever a solver does, it asks for offers; after `until` (`time.perf_counter`) it gets none.

    In the seconds of `grace` after that what was found is looked at once more.
    """

    until: float = math.inf
    grace: float = 0.0

    @property
    def over(self) -> bool:
        """Whether time is up."""
        return time.perf_counter() > self.until

    @property
    def at_last(self) -> float:
        """When nothing may be looked at any more."""
        return self.until + self.grace

    def offers(self, contributions: Any) -> Offers:
        """The curves that owners face, while there is time."""
        if self.over:
            raise TimeUp
        return super().offers(contributions)


def timed(game: Game, seconds: float | None) -> Timed:
    """The game for this many seconds from now on, or as long as it may be played anyway."""
    until, grace = (game.until, game.grace) if isinstance(game, Timed) else (math.inf, math.inf)
    if seconds is not None and time.perf_counter() + seconds < until:
        until, grace = time.perf_counter() + seconds, max(_GRACE * seconds, _LEAST_GRACE)
    facts = game.accuracy, game.costs, game.capacities, game.mechanism, game.reported
    return Timed(*facts, until=until, grace=grace)
