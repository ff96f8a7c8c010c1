"""Games as a table: what Newton's methods ask of one game, or of many at once.

Profiles are (games, owners).  Curves and costs have one row per owner, one game after the other, so that the curves of
one game are those of a table of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Places
from fedabm.games.costs import Cost, PowerCost
from fedabm.games.offers import Offers
from fedabm.solving import jacobian
from fedabm.solving.game import Game
from fedabm.views import Reports

__all__ = ["GameTable", "OneGame", "StackedGameTable"]


class GameTable(ABC):
    """Games with the same number of owners."""

    #: (games, owners)
    capacities: Array
    #: of all owners, one game after the other
    costs: Cost

    @abstractmethod
    def take(self, games: Places) -> GameTable:
        """Some of the games."""

    @abstractmethod
    def offers(self, profiles: Array) -> Offers:
        """The curves that owners face, one game after the other."""

    @abstractmethod
    def known_jacobians(self, profiles: Array) -> Array | None:
        """d^2 u_i / d s_i d s_j, (games, owners, owners), where the mechanism knows it."""

    def slopes(self, profiles: Array) -> Array:
        """d u_i / d s_i in every game."""
        x = profiles.ravel()
        return (self.offers(profiles).benefit.slope(x) - self.costs.slope(x)).reshape(profiles.shape)

    def cost_slopes(self, profiles: Array) -> Array:
        """d c_i / d s_i in every game."""
        return self.costs.slope(profiles.ravel()).reshape(profiles.shape)

    def typical(self, profiles: Array) -> Array:
        """How large contributions are in every game, as `Game.typical` has it."""
        largest = profiles.max(axis=1)
        return np.where(largest > 0, largest, np.minimum(1.0, self.capacities.min(axis=1)))

    def jacobians(self, profiles: Array) -> Array:
        """The same where nobody knows it: by differences of the slopes."""
        exact = self.known_jacobians(profiles)
        return jacobian.by_differences(self.slopes, profiles, self.typical(profiles)) if exact is None else exact


@dataclass(frozen=True)
class OneGame(GameTable):
    """A table of one game, of any kind."""

    game: Game

    @property
    def capacities(self) -> Array:  # type: ignore[override]
        """Its only row."""
        return self.game.capacities[None]

    @property
    def costs(self) -> Cost:  # type: ignore[override]
        """The owners' costs."""
        return self.game.costs

    def take(self, games: Places) -> OneGame:
        """The game itself: there is nothing to choose."""
        return self

    def offers(self, profiles: Array) -> Offers:
        """The curves that owners face."""
        return self.game.offers(profiles[0])

    def known_jacobians(self, profiles: Array) -> Array | None:
        """That of the game."""
        exact = self.game.known_jacobian(profiles[0])
        return None if exact is None else exact[None]


@dataclass(frozen=True)
class StackedGameTable(GameTable):
    """Games that share mechanism and accuracy, where these take tables (`stacks`), with power costs in tables too.

    `stated` is what owners say their data cost: the truth, unless the games say otherwise.
    """

    like: Game
    cost_table: PowerCost
    stated: PowerCost
    capacities: Array

    @classmethod
    def of(cls, games: Sequence[Game]) -> StackedGameTable:
        """One row per game."""
        owners = games[0].owners
        costs = _stacked([game.costs for game in games], owners)
        lies = any(game.reported is not None for game in games)
        stated = _stacked([game.stated_costs for game in games], owners) if lies else costs
        return cls(games[0], costs, stated, np.array([game.capacities for game in games]))

    @cached_property
    def costs(self) -> PowerCost:  # type: ignore[override]
        """The costs of all owners, one game after the other."""
        return PowerCost(*(column.ravel() for column in self.cost_table.columns))

    def take(self, games: Places) -> StackedGameTable:
        """Some of the games."""
        costs, stated = (PowerCost(*(part[games] for part in one.columns)) for one in (self.cost_table, self.stated))
        return StackedGameTable(self.like, costs, stated, self.capacities[games])

    def reports(self, profiles: Array) -> Reports:
        """What all owners of all games report."""
        asked = self.like.mechanism.asks_cost
        return Reports(profiles, self.capacities, self.stated if asked else None)

    def offers(self, profiles: Array) -> Offers:
        """The curves that owners face, one game after the other."""
        places: Any = np.unravel_index(np.arange(profiles.size), profiles.shape)
        return self.like.mechanism.offers(self.like.accuracy, self.reports(profiles)).take(places)

    def known_jacobians(self, profiles: Array) -> Array | None:
        """Those that the mechanism knows."""
        facts = self.like.mechanism, self.like.accuracy, self.reports(profiles)
        return jacobian.known(*facts, self.cost_table, self.capacities)


def _stacked(costs: Sequence[Any], owners: int) -> PowerCost:
    """The costs of one game after the other as a table, one row per game."""
    columns = zip(*(one.columns for one in costs), strict=True)
    return PowerCost(*(np.array([np.broadcast_to(part, owners) for part in column]) for column in columns))
