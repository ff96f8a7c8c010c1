"""Games as a table: what Newton's methods ask of one game, or of many at once.

Profiles are (games, owners).  Curves and costs have one row per owner, one game after the other, so that the curves of
one game are those of a table of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Places
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.many import CurveTable
from fedabm.games.costs import Cost, PowerCost
from fedabm.games.offers import Offers
from fedabm.games.varied import joined, rows_of
from fedabm.mechanisms.base import Mechanism
from fedabm.solving import jacobian
from fedabm.solving.game import Game
from fedabm.views import Reports, TermsCache

__all__ = ["GameTable", "OneGame", "StackedGameTable"]

#: this many numbers of shifted profiles are one table, more would cost memory
_AT_ONCE = 1_000_000


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


class _Standing(TermsCache):
    """What a rule computes from types, which never change in a table: once."""

    def __init__(self) -> None:
        self._known: Any = None

    def terms(self, compute: Callable[[Any, Reports], Any], accuracy: Any, reports: Reports) -> Any:
        """What it computes from these types."""
        if self._known is None:
            self._known = compute(accuracy, reports.types)
        return self._known

    @property
    def used(self) -> bool:
        """Whether a rule has computed anything."""
        return self._known is not None


@dataclass(frozen=True)
class StackedGameTable(GameTable):
    """Games whose mechanisms and accuracies stand in tables, and their power costs too.

    Accuracies are one for all, or a `CurveTable`; the mechanism is one for all, or has columns of parameters.  `stated`
    is what owners say their data cost: the truth, unless the games say otherwise.
    """

    mechanism: Mechanism
    accuracy: Accuracy
    cost_table: PowerCost
    stated: PowerCost
    capacities: Array
    cache: _Standing = field(default_factory=_Standing, repr=False)

    @classmethod
    def of(cls, games: Sequence[Game]) -> StackedGameTable:
        """One row per game."""
        owners = games[0].owners
        costs = _stacked([game.costs for game in games], owners)
        lies = any(game.reported is not None for game in games)
        stated = _stacked([game.stated_costs for game in games], owners) if lies else costs
        capacities = np.array([game.capacities for game in games])
        return cls(joined([game.mechanism for game in games]), _accuracies(games), costs, stated, capacities)

    @cached_property
    def costs(self) -> PowerCost:  # type: ignore[override]
        """The costs of all owners, one game after the other."""
        return PowerCost(*(column.ravel() for column in self.cost_table.columns))

    def take(self, games: Places) -> StackedGameTable:
        """Some of the games."""
        costs, stated = (PowerCost(*(part[games] for part in one.columns)) for one in (self.cost_table, self.stated))
        accuracy = self.accuracy.take_games(games)
        return StackedGameTable(rows_of(self.mechanism, games), accuracy, costs, stated, self.capacities[games])

    def reports(self, profiles: Array) -> Reports:
        """What all owners of all games report."""
        asked = self.mechanism.asks_cost
        return Reports(profiles, self.capacities, self.stated if asked else None, cache=self.cache)

    def offers(self, profiles: Array) -> Offers:
        """The curves that owners face, one game after the other."""
        return self.mechanism.table_offers(self.accuracy, self.reports(profiles))

    def jacobians(self, profiles: Array) -> Array:
        """As of every table; differences of all columns at once, but for rules that compute much from types."""
        games, owners = profiles.shape
        exact = self.known_jacobians(profiles)
        if exact is not None:
            return exact
        if self.cache.used or 2 * games * owners**2 > _AT_ONCE:
            return jacobian.by_differences(self.slopes, profiles, self.typical(profiles))
        return jacobian.by_differences_at_once(self._columns.slopes, profiles, self.typical(profiles))

    @cached_property
    def _columns(self) -> StackedGameTable:
        """Every game once for each column of its Jacobian and each side."""
        games, owners = self.capacities.shape
        return self.take(np.tile(np.arange(games), 2 * owners))

    def known_jacobians(self, profiles: Array) -> Array | None:
        """Those that the mechanism knows."""
        benefit = self.mechanism.table_jacobian(self.accuracy, self.reports(profiles))
        return jacobian.less_costs(benefit, profiles, self.cost_table, self.capacities)


def _accuracies(games: Sequence[Game]) -> Accuracy:
    """One accuracy for all where they share it and the rule takes it so, else a table of curves."""
    first = games[0]
    shared = first.mechanism.traits.stacks and first.accuracy.traits.stacks
    if shared and all(game.accuracy is first.accuracy or game.accuracy == first.accuracy for game in games):
        return first.accuracy
    return CurveTable.of([game.accuracy for game in games], first.owners)


def _stacked(costs: Sequence[Any], owners: int) -> PowerCost:
    """The costs of one game after the other as a table, one row per game."""
    columns = zip(*(one.columns for one in costs), strict=True)
    return PowerCost(*(np.array([np.broadcast_to(part, owners) for part in column]) for column in columns))
