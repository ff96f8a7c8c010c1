"""Owners that look for a rule: costs, data and what a model is worth to them, in draws of what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError
from fedabm.common.random import generator
from fedabm.comparison.written import Written, drawn_curves
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.many import common_curve
from fedabm.games.accuracy.valued import LinearPayoff, Valued
from fedabm.games.costs import Cost
from fedabm.games.individual import individual_optimum
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.solving.game import Game
from fedabm.specs.uncertain import likely_numbers, middle_of

__all__ = ["Consortium"]


@dataclass(frozen=True, eq=False)
class Consortium:
    """A game per draw of what is not known, and what owners have outside; row 0 is what is most likely.

    Parameters
    ----------
    names
        Of the owners.
    games
        One per draw, all of the same owners.
    central
        The game with every number in the middle of what it may be.
    stated_outside
        What each owner has if it stays away, (draws, owners); nan: the best that it can do alone.
    unknown
        What is not known, in words.
    """

    names: tuple[str, ...]
    games: tuple[Game, ...]
    central: Game
    stated_outside: Array
    unknown: tuple[str, ...] = ()

    @classmethod
    def of_game(cls, game: Game, names: Sequence[str] = ()) -> Consortium:
        """Of a game in which everything is known."""
        called = tuple(names) or tuple(f"owner {one}" for one in range(game.owners))
        return cls(called, (game,), game, np.full((1, game.owners), np.nan))

    @classmethod
    def of_study(cls, written: Written, draws: int = 100, seed: int = 0) -> Consortium:
        """Of a study: `draws` draws of what is not known, one if everything is known."""
        names, costs, data, values, outside = _listed(written)
        curve: Any = written.accuracy
        if not isinstance(curve, Accuracy) or common_curve(curve) is None:
            raise InputError(
                "a recommendation needs an accuracy of the total of all data, such as power_law or a calibrated curve; "
                "fit one with fedabm calibrate"
            )
        rng = generator(seed, "population")
        curves = drawn_curves(curve)
        several = draws if written.unknown else 1
        rows = [[likely_numbers(one, several, rng) for one in column] for column in (data, outside)]
        cost_rows = [_cost_draws(one, several, rng) for one in costs]
        value_rows = [likely_numbers(one, several, rng) for one in values]
        picked = _picked(curves, several, rng) if curves else [curve] * several
        games = [
            Game(
                _worth(picked[d], [one[d] for one in value_rows]),
                [one[d] for one in cost_rows],
                [one[d] for one in rows[0]],
                NoPayments(),
            )
            for d in range(several)
        ]
        middle = Game(
            _worth(curve, [middle_of(one) for one in values]),
            [middle_of(one) for one in costs],
            [middle_of(one) for one in data],
            NoPayments(),
        )
        return cls(tuple(names), tuple(games), middle, np.array(rows[1]).T, tuple(written.unknown))

    @property
    def owners(self) -> int:
        """How many there are."""
        return len(self.names)

    @property
    def draws(self) -> int:
        """How many draws of what is not known."""
        return len(self.games)

    def under(self, rule: Mechanism, places: Sequence[int]) -> list[Game]:
        """The games of some draws under a rule."""
        return [self.games[place].under(rule) for place in places]

    @cached_property
    def outside(self) -> Array:
        """What each owner has if it stays away, (draws, owners)."""
        alone = np.array([individual_optimum(one.accuracy, one.costs, one.capacities)[1] for one in self.games])
        return np.where(np.isnan(self.stated_outside), alone, self.stated_outside)

    @cached_property
    def unit_costs(self) -> Array:
        """Marginal costs at the capacities, (draws, owners)."""
        return np.array([one.costs.slope(one.capacities) for one in self.games])

    @cached_property
    def factors(self) -> Array:
        """What a unit of accuracy is worth to each owner, (draws, owners)."""
        known = [one.accuracy.as_common(one.owners) for one in self.games]
        return np.array([one[1] for one in known if one is not None])

    @cached_property
    def stakes(self) -> Array:
        """What the model of all data is worth to an owner on average, (draws,)."""
        return np.array([float(np.mean(one.accuracy.values(one.capacities[None])[0])) for one in self.games])


def _listed(written: Written) -> tuple[list[str], list[Any], list[Any], list[Any], list[Any]]:
    """Names, costs, data, values and outside options of all owners, members of groups among them."""
    names = [one.name for one in written.owners]
    costs: list[Any] = [one.cost for one in written.owners]
    data: list[Any] = [one.data for one in written.owners]
    outside: list[Any] = [np.nan if one.outside is None else one.outside for one in written.owners]
    for group in written.groups:
        width = len(str(group.count))
        names += [f"{group.name} {k + 1:0{width}}" for k in range(group.count)]
        costs += [group.cost] * group.count
        data += [group.data] * group.count
        outside += [np.nan] * group.count
    return names, costs, data, written.values, outside


def _cost_draws(given: Any, count: int, rng: np.random.Generator) -> Sequence[float | Cost]:
    """A cost per draw: a number is a rate."""
    return [given] * count if isinstance(given, Cost) else likely_numbers(given, count, rng).tolist()


def _picked(curves: Sequence[Any], count: int, rng: np.random.Generator) -> list[Any]:
    """`count` of the curves, each as often as the next, in random order."""
    order = np.concatenate([rng.permutation(len(curves)) for _ in range(-(-count // len(curves)))])[:count]
    return [curves[one] for one in order.tolist()]


def _worth(curve: Accuracy, values: Sequence[Any]) -> Accuracy:
    return Valued(curve, LinearPayoff([float(one) for one in values])) if values else curve
