"""The equilibria of many games at once: a thousand small games at the price of a few large ones.

Games with the same kind of mechanism and number of owners are solved together as tables (games, owners), each with a
curve and parameters of its own, where the mechanism can state its offers for tables (`tabled`) and these are smooth and
concave: by the methods by which `solve` begins, on all games at once; value shaping by its closed form.  As in `solve`
no method is trusted: the certified gap of each game decides, and whatever is not certified by then is given to `solve`
by itself, like all other games.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Places
from fedabm.common.errors import InputError, check_kind, check_positive, in_one_line
from fedabm.games.accuracy.many import common_curve
from fedabm.games.certificate import weigh
from fedabm.games.intervals import ProofLimits
from fedabm.games.promises import MOST_CHECKED
from fedabm.games.varied import sort_of
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.solving.interior_point import interior_point, polished
from fedabm.solving.linear_model import FEW
from fedabm.solving.newton import Ends, newton
from fedabm.solving.opening import is_smooth, opening
from fedabm.solving.table import StackedGameTable
from fedabm.solving.verdict import outcome

__all__ = ["solve_many"]


#: the most entries of Jacobians that are made at once: few enough for memory
_ENTRIES = 2**22


def solve_many(
    games: Iterable[Game],
    tolerance: float = 1e-9,
    *,
    starts: Sequence[Any] | None = None,
    time_limit: float | None = None,
) -> list[Equilibrium | Exception]:
    """One result per game, in order: its equilibrium as `solve` would certify it, or the error that solving it raised.

    `starts` are profiles to begin with, one per game; `time_limit` is what a game may take that is solved by itself.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> games = [Game(PowerLaw(), [cost, 0.25], 100, NoPayments()) for cost in (0.1, 0.2)]
    >>> [found.profile.round(4).tolist() for found in solve_many(games)]
    [[2.1623, 0.0], [1.2361, 0.0]]

    Parameters
    ----------
    games : Iterable[Game]
        The games; those of one kind are solved together.
    tolerance : float, optional
        The certified gap up to which a profile counts as an equilibrium.
    starts : Sequence[Any] | None, optional
        Profiles to begin with, one per game.
    time_limit : float | None, optional
        Seconds for a game that is solved by itself.

    Returns
    -------
    list[Equilibrium | Exception]
        One result per game, in order: its equilibrium, or the error that solving it raised.
    """
    every = list(games)
    for game in every:
        check_kind("game", game, Game)
    check_positive("tolerance", tolerance)
    origins = [None] * len(every) if starts is None else list(starts)
    if len(origins) != len(every):
        raise InputError(f"{len(origins)} starts but {len(every)} games; give one per game")
    results: list[Equilibrium | Exception | None] = [None] * len(every)
    kinds: dict[Hashable, list[int]] = {}
    for place, game in enumerate(every):
        if _stackable(game):
            kinds.setdefault((*_kind(game), origins[place] is None), []).append(place)
    for places in kinds.values():
        room = max(2, _ENTRIES // every[places[0]].owners ** 2)
        for first in range(0, len(places), room):
            some = places[first : first + room]
            alike = [every[place] for place in some], [origins[place] for place in some]
            for place, found in zip(some, _together(*alike, tolerance), strict=True):
                results[place] = found
    return [
        _alone(game, origin, tolerance, time_limit) if found is None else found
        for game, origin, found in zip(every, origins, results, strict=True)
    ]


def _alone(game: Game, start: Any, tolerance: float, time_limit: float | None) -> Equilibrium | Exception:
    """A game by itself; what goes wrong there is its result."""
    try:
        return solve(game, start, tolerance, time_limit=time_limit)
    except Exception as error:  # also of mechanisms and accuracies of the user's own
        return error


def _stackable(game: Game) -> bool:
    """Whether a game can be told in a row of a table; one with more than a few owners is large enough by itself."""
    plain = type(game) is Game and all(costs.traits.power for costs in (game.costs, game.stated_costs))
    if not (plain and 0 < game.owners <= FEW and game.mechanism.tabled(game.accuracy, game.owners)):
        return False
    return game.accuracy.traits.stacks or _has_a_law(game)


def _has_a_law(game: Game) -> bool:
    """Whether its accuracy can be a row of a table of curves."""
    curve = common_curve(game.accuracy)
    return curve is not None and curve.traits.stacks


def _kind(game: Game) -> tuple[Hashable, ...]:
    """Equal for games that can be told in one table."""
    rule, linear = game.mechanism, game.costs.linear and game.stated_costs.linear
    facts: Hashable = sort_of(rule) if linear else rule
    curve: Hashable = "a curve each" if _has_a_law(game) else game.accuracy
    return game.owners, linear, facts, curve


def _together(games: Sequence[Game], starts: Sequence[Any], tolerance: float) -> list[Equilibrium | None]:
    """The certified equilibria among games of one kind; None for all others."""
    results: list[Equilibrium | None] = [None] * len(games)
    if len(games) < 2:
        return results
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            table = StackedGameTable.of(games)
            smooth, found = _settled(table, games, starts, tolerance)
    except Exception as error:  # the game that it comes from raises it again, when that is solved by itself
        why = in_one_line(error)
        warnings.warn(f"{len(games)} games are solved one by one, which takes longer: {why}", stacklevel=3)
        return results
    for place, one in zip(smooth.tolist(), found, strict=True):
        results[place] = one
    return results


def _settled(
    table: StackedGameTable, games: Sequence[Game], starts: Sequence[Any], tolerance: float
) -> tuple[Places, list[Equilibrium | None]]:
    """Which games could be done together, and what came of them: where the rule knows, or where they are smooth."""
    every = np.arange(len(games))
    guess = table.mechanism.table_guess(table.accuracy, table.reports(np.zeros(table.capacities.shape)))
    if guess is not None:
        return every, _weighed(table, Ends.at(guess), "closed form", tolerance)
    offers = table.offers(np.zeros(table.capacities.shape))
    smooth = is_smooth(table, offers)
    found: list[Equilibrium | None] = [None] * len(games)
    kinked = ~smooth & (offers.shape == "concave")
    for some in (np.flatnonzero(smooth), np.flatnonzero(kinked)):
        if len(some):
            start = _profiles(games, starts, some)
            # Beside a kink Newton's method is no more than a guess, best made where models are worth something.
            start = 0.5 * table.capacities[some] if start is None and kinked[some[0]] else start
            for place, one in zip(some.tolist(), _certified(table.take(some), start, tolerance), strict=True):
                found[place] = one
    return every, found


def _interior_point(table: StackedGameTable, start: Array) -> Ends:
    return polished(table, interior_point(table, start))


def _profiles(games: Sequence[Game], starts: Sequence[Any], places: Places) -> Array | None:
    """The profiles to begin with, if any are given."""
    if starts[0] is None:
        return None
    return np.array([games[place].profile(starts[place]) for place in places.tolist()])


def _certified(table: StackedGameTable, given: Array | None, tolerance: float) -> list[Equilibrium | None]:
    """What Newton's method finds, else what the interior point method finds, where that is certified."""
    methods: dict[str, Callable[[StackedGameTable, Array], Ends]] = {
        "newton": newton,
        "interior point": _interior_point,
    }
    results: list[Equilibrium | None] = [None] * len(table.capacities)
    start = opening(table) if given is None else given
    for name, method in methods.items():
        rows = np.array([row for row, one in enumerate(results) if one is None], dtype=np.intp)
        if len(rows):
            some = table.take(rows)
            for row, one in zip(rows.tolist(), _weighed(some, method(some, start[rows]), name, tolerance), strict=True):
                results[row] = one
    return results


def _weighed(table: StackedGameTable, ends: Ends, method: str, tolerance: float) -> list[Equilibrium | None]:
    """The profiles that are certified."""
    gains, bounds = _gains(table, ends.profiles, tolerance)
    facts = table.mechanism, table.accuracy, table.offers(ends.profiles), table.costs
    utilities, payments, accuracies = outcome(*facts, ends.profiles)
    results: list[Equilibrium | None] = [None] * len(ends.profiles)
    for row in np.flatnonzero(bounds <= tolerance).tolist():
        results[row] = Equilibrium(
            ends.profiles[row].copy(),
            utilities[row].copy(),
            payments[row].copy(),
            accuracies[row].copy(),
            float(bounds[row]),
            float(gains[row]),
            "certified",
            int(ends.iterations[row]),
            method,
        )
    return results


def _gains(table: StackedGameTable, profiles: Array, tolerance: float) -> tuple[Array, Array]:
    """The largest gain found in each game, and the largest bound."""
    games, owners = profiles.shape
    found, bound = np.empty(games), np.empty(games)
    room = max(1, MOST_CHECKED // owners)
    for first in range(0, games, room):
        some = table.take(np.arange(first, min(first + room, games)))
        part = profiles[first : first + room]
        largest = np.repeat(part.max(axis=1), owners)
        facts = some.offers(part), some.costs, some.capacities.ravel(), part.ravel()
        gains = weigh(*facts, ProofLimits(0.1 * tolerance), largest)
        found[first : first + room], bound[first : first + room] = (
            column.reshape(-1, owners).max(axis=1) for column in gains
        )
    return found, bound
