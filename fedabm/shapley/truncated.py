"""Shapley values by orders that are drawn in a guided way and broken off where nothing is left to gain (GTG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_positive, check_range, check_whole
from fedabm.games.curves import Array
from fedabm.shapley.of_values import coalitions_of, shapley_of_values

__all__ = ["Truncated", "Truncation", "truncated_shapley"]

#: what coalitions (k, n) are worth, (k,)
Value = Callable[[NDArray[np.bool_]], Array]


@dataclass(frozen=True)
class Truncation:
    """When to break off.

    Parameters
    ----------
    between : float, optional
        A game in which all together gain no more than this over nobody is not looked at: all values are 0.
    within : float, optional
        An order ends where those who came are within this of all together: the others add 0.
    least : int, optional
        Orders that are drawn at least.
    change : float, optional
        Drawing ends when the values have moved by less than this, relative to their mean size, in a batch.
    most : int, optional
        Orders that are drawn at most.
    """

    between: float = 0.001
    within: float = 0.001
    least: int = 30
    change: float = 0.05
    most: int = 500

    def __post_init__(self) -> None:
        check_positive("truncation between rounds", self.between, zero=True)
        check_positive("truncation within a round", self.within, zero=True)
        check_whole("orders drawn at least", self.least)
        check_whole("orders drawn at most", self.most)
        check_range("change of the values", self.change, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Truncated:
    """The values (n,), how many orders were drawn, and how many coalitions were asked for."""

    values: Array
    orders: int
    evaluations: int


def truncated_shapley(
    value: Value, players: int, rng: np.random.Generator, truncation: Truncation | None = None
) -> Truncated:
    """GTG-Shapley: the mean over guided orders of what each player adds, orders broken off early.

    In a batch of orders every player comes first in equally many ("guided"), since the first places decide most.  All
    orders of a batch are walked at once, so that each place is one question to `value`; a coalition is asked for once.
    Liu et al. 2022, Algorithm 1, with its two truncations; there orders are walked one by one.  Where orders have met
    all coalitions, values are exact.

    Parameters
    ----------
    value
        What coalitions (k, n) are worth, (k,).
    players
        How many there are.
    rng
        Where orders are drawn from.
    truncation
        When to break off (default: as the authors' code does).

    Returns
    -------
    Truncated
        The values, and what they cost.
    """
    rule, game = truncation or Truncation(), _Asked(value)
    everybody = np.ones(players, dtype=bool)
    nobody, together = game(np.stack([~everybody, everybody]))
    if not players or abs(together - nobody) <= rule.between:
        return Truncated(np.zeros(players), 0, len(game.known))
    batch = players * max(1, -(-rule.least // players))
    total, drawn = np.zeros(players), 0
    while True:
        orders = _guided(players, batch, rng)
        before = total / max(drawn, 1)
        total = total + _walked(orders, game, nobody, together, rule.within)
        drawn += batch
        now = total / drawn
        settled = np.abs(now - before).mean() <= rule.change * np.abs(now).mean() and drawn > batch
        if len(game.known) == 2**players:
            return Truncated(shapley_of_values(game(coalitions_of(players))), drawn, len(game.known))
        if settled or drawn >= rule.most:
            return Truncated(now, drawn, len(game.known))


def _guided(players: int, batch: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Orders (batch, players) in which every player comes first in equally many."""
    orders = np.tile(np.arange(players), (batch, 1))
    rest = rng.permuted(orders[:, 1:], axis=1)
    first = np.arange(batch) % players
    # `rest` permutes 1, ..., n - 1; counted on from whoever is first it has everybody else.
    return (np.column_stack([np.zeros(batch, dtype=np.intp), rest]) + first[:, None]) % players


def _walked(orders: NDArray[np.intp], game: _Asked, nobody: float, together: float, within: float) -> Array:
    """What each player adds in all these orders together, (n,)."""
    members = np.zeros(orders.shape, dtype=bool)
    reached = np.full(len(orders), nobody)
    total = np.zeros(orders.shape[1])
    for place in range(orders.shape[1]):
        going = np.flatnonzero(np.abs(together - reached) > within)
        if not len(going):
            break
        who = orders[going, place]
        members[going, who] = True
        now = game(members[going])
        np.add.at(total, who, now - reached[going])
        reached[going] = now
    return total


class _Asked:
    """A game whose coalitions are asked for once each."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self.known: dict[bytes, float] = {}

    def __call__(self, members: NDArray[np.bool_]) -> Array:
        names = [row.tobytes() for row in np.packbits(members, axis=1)]
        new = {name: row for row, name in enumerate(names) if name not in self.known}
        if new:
            found = self._value(members[list(new.values())])
            self.known |= dict(zip(new, map(float, found), strict=True))
        return np.array([self.known[name] for name in names])
