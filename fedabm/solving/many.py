"""The equilibria of many games at once: a thousand small games at the price of a few large ones.

Games that share mechanism, accuracy and number of owners are solved together as tables (games, owners), where the
mechanism can state its offers for tables (`stacks`) and these are smooth and concave: by the two methods of `newton`,
on all games at once.  As in `solve` no method is trusted: the certified gap of each game decides, and whatever is not
certified by then is given to `solve` by itself, like all other games.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import check_kind, check_positive
from fedabm.common.whose import all_ours
from fedabm.games.accuracy.base import Exposure
from fedabm.games.certificate import weigh
from fedabm.games.costs import PowerCost
from fedabm.games.intervals import Limits
from fedabm.games.offers import Offers
from fedabm.games.promises import MOST_CHECKED
from fedabm.mechanisms.base import balanced
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.views import Reports

__all__ = ["solve_many"]

#: the most entries of Jacobians that are made at once: few enough for memory
_ENTRIES = 2**22
#: more owners than this are solved one by one: a Jacobian by differences takes as many evaluations
_FEW = 48
#: keeps systems solvable where the Jacobian of the free owners is singular, as in `newton`
_DAMPING = 1e-11
_PRECISION = 1e-10

#: games, or iterations
Places = NDArray[np.intp]
#: where a method led in every game, and after how many iterations
_Ways = tuple[Array, Places]


def solve_many(
    games: Iterable[Game], tolerance: float = 1e-9, *, time_limit: float | None = None
) -> list[Equilibrium | Exception]:
    """One result per game, in order: its equilibrium as `solve` would certify it, or the error that solving it raised.

    `time_limit` is what a game may take that is solved by itself.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> games = [Game(PowerLaw(), [cost, 0.25], 100, NoPayments()) for cost in (0.1, 0.2)]
    >>> [found.profile.round(4).tolist() for found in solve_many(games)]
    [[2.1623, 0.0], [1.2361, 0.0]]
    """
    every = list(games)
    for game in every:
        check_kind("game", game, Game)
    check_positive("tolerance", tolerance)
    results: list[Equilibrium | Exception | None] = [None] * len(every)
    kinds: dict[Hashable, list[int]] = {}
    for place, game in enumerate(every):
        if _stackable(game):
            kinds.setdefault((game.owners, game.costs.linear, game.mechanism, game.accuracy), []).append(place)
    for places in kinds.values():
        room = max(2, _ENTRIES // every[places[0]].owners ** 2)
        for first in range(0, len(places), room):
            some = places[first : first + room]
            for place, found in zip(some, _together([every[place] for place in some], tolerance), strict=True):
                results[place] = found
    return [
        _alone(game, tolerance, time_limit) if found is None else found
        for game, found in zip(every, results, strict=True)
    ]


def _alone(game: Game, tolerance: float, time_limit: float | None) -> Equilibrium | Exception:
    """A game by itself; what goes wrong there is its result."""
    try:
        return solve(game, tolerance=tolerance, time_limit=time_limit)
    except Exception as error:  # also of mechanisms and accuracies of the user's own
        return error


def _stackable(game: Game) -> bool:
    """Whether a game can be told in a row of a table."""
    parts = (game.mechanism, game.accuracy)
    plain = type(game) is Game and isinstance(game.costs, PowerCost) and game.reported is None
    return plain and 0 < game.owners <= _FEW and all(all_ours(part) and part.stacks for part in parts)


def _together(games: Sequence[Game], tolerance: float) -> list[Equilibrium | None]:
    """The certified equilibria among games of one kind; None for all others."""
    if len(games) < 2:
        return [None] * len(games)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            table = _Table.of(games)
            smooth = np.flatnonzero(table.smooth())
            if not len(smooth):
                return [None] * len(games)
            found = _certified(table.take(smooth), tolerance)
    except Exception:  # it is told by the game that it comes from, when that is solved by itself
        return [None] * len(games)
    results: list[Equilibrium | None] = [None] * len(games)
    for place, one in zip(smooth.tolist(), found, strict=True):
        results[place] = one
    return results


@dataclass(frozen=True)
class _Table:
    """Games of one kind: costs and capacities of all owners, (games, owners)."""

    like: Game
    costs: PowerCost
    capacities: Array

    @classmethod
    def of(cls, games: Sequence[Game]) -> _Table:
        """One row per game."""
        columns = zip(*(game.costs.columns for game in games), strict=True)
        costs = PowerCost(
            *(np.array([np.broadcast_to(part, games[0].owners) for part in column]) for column in columns)
        )
        return cls(games[0], costs, np.array([game.capacities for game in games]))

    def take(self, rows: NDArray[np.intp]) -> _Table:
        """Some of the games."""
        return _Table(self.like, PowerCost(*(column[rows] for column in self.costs.columns)), self.capacities[rows])

    def offers(self, profiles: Array) -> Offers:
        """The curves that owners face, row by row of the flattened table."""
        rule = self.like.mechanism
        reports = Reports(profiles, self.capacities, self.costs if rule.asks_cost else None)
        places: Any = np.unravel_index(np.arange(profiles.size), profiles.shape)
        return rule.offers(self.like.accuracy, reports).take(places)

    def flat_costs(self) -> PowerCost:
        """The costs of all owners, one after the other."""
        return PowerCost(*(column.ravel() for column in self.costs.columns))

    def slopes(self, profiles: Array) -> Array:
        """d u_i / d s_i in every game."""
        x = profiles.ravel()
        return (self.offers(profiles).benefit.slope(x) - self.flat_costs().slope(x)).reshape(profiles.shape)

    def smooth(self) -> Flags:
        """In which games every owner's utility is smooth and concave, whatever the others do (see `is_smooth`)."""
        none, full = self.offers(np.zeros_like(self.capacities)), self.offers(self.capacities)
        costs, most = self.flat_costs(), self.capacities.ravel()[:, None]
        same = np.all(none.kinks == full.kinks, axis=-1) if none.kinks.shape == full.kinks.shape else np.zeros(1, bool)
        good = (none.shape == full.shape == "concave") & same & costs.convex
        good &= ~np.any(none.kinks < most, axis=1) & ~np.any(costs.kinks(len(most)) < most, axis=1)
        return np.all(np.broadcast_to(good, len(most)).reshape(self.capacities.shape), axis=1)

    def typical(self, profiles: Array) -> Array:
        """How large contributions are in every game, as `Game.typical` has it."""
        largest = profiles.max(axis=1)
        return np.where(largest > 0, largest, np.minimum(1.0, self.capacities.min(axis=1)))

    def jacobians(self, profiles: Array) -> Array:
        """d^2 u_i / d s_i d s_j in every game, (games, owners, owners)."""
        across = self._known_across(profiles)
        found = self._differences(profiles) if across is None else across
        return np.nan_to_num(found, posinf=1e200, neginf=-1e200)

    def _known_across(self, profiles: Array) -> Array | None:
        """The accuracies' own, with each owner's curvature by differences, where payments link nobody's slopes."""
        oracle, owners = self.like.accuracy, profiles.shape[1]
        if not isinstance(oracle, Exposure):
            return None
        bend = oracle.own_weights(owners) * oracle.curve_curvature(oracle.exposures(profiles))
        across = bend[:, :, None] * oracle.weight_matrix(owners)
        cost = PowerCost(*(column[0] for column in self.costs.columns)) if self.like.mechanism.asks_cost else None
        one = self.like.mechanism.jacobian(oracle, Reports(profiles[0], self.capacities[0], cost))
        apart = ~np.eye(owners, dtype=bool)
        if one is None or not np.allclose(one[apart], across[0][apart], rtol=1e-9, atol=0.0):
            return None
        everyone = np.arange(owners)
        across[:, everyone, everyone] = self._own_curvature(profiles)
        return across

    def _own_curvature(self, profiles: Array) -> Array:
        """d^2 u_i / d s_i^2 from each owner's own curve."""
        x = profiles.ravel()
        curve, cost = self.offers(profiles).benefit, self.flat_costs()
        step = 1e-5 * np.maximum(1e-3 * np.repeat(self.typical(profiles), profiles.shape[1]), x)
        low, high = np.maximum(x - step, 0.0), x + step
        rise = curve.slope(high) - cost.slope(high) - curve.slope(low) + cost.slope(low)
        return (rise / (high - low)).reshape(profiles.shape)

    def _differences(self, profiles: Array) -> Array:
        """By differences of the slopes, column by column."""
        games, owners = profiles.shape
        step = 1e-6 * np.maximum(1e-3 * self.typical(profiles)[:, None], np.abs(profiles))
        low = np.maximum(profiles - step, 0.0)
        high = profiles + step
        diagonal = np.eye(owners, dtype=bool)[:, None]
        moved = [np.where(diagonal, side, profiles).reshape(-1, owners) for side in (high, low)]
        repeated = self.take(np.tile(np.arange(games), owners))
        above, below = (repeated.slopes(part).reshape(owners, games, owners) for part in moved)
        columns = (above - below) / (high - low).T[:, :, None]
        return columns.transpose(1, 2, 0)


def _certified(table: _Table, tolerance: float) -> list[Equilibrium | None]:
    """What Newton's method finds, else what the interior point method finds, where that is certified."""
    results: list[Equilibrium | None] = [None] * len(table.capacities)
    start = _opening(table)
    methods: tuple[tuple[str, Callable[[_Table, Array], _Ways]], ...] = (
        ("newton", _newton),
        ("interior point", _interior_point),
    )
    for name, method in methods:
        rows = np.array([row for row, one in enumerate(results) if one is None], dtype=np.intp)
        if len(rows):
            some = table.take(rows)
            for row, one in zip(
                rows.tolist(), _weighed(some, *method(some, start[rows]), name, tolerance), strict=True
            ):
                results[row] = one
    return results


def _weighed(table: _Table, profiles: Array, turns: Places, method: str, tolerance: float) -> list[Equilibrium | None]:
    """The profiles that are certified."""
    gains, bounds = _gains(table, profiles, tolerance)
    offers, x = table.offers(profiles), profiles.ravel()
    payments, accuracies, full = (
        curve.value(x).reshape(profiles.shape) for curve in (offers.payment, offers.received, offers.accuracy)
    )
    utilities = accuracies + payments - table.flat_costs().value(x).reshape(profiles.shape)
    paid = balanced(table.like.mechanism, payments, full, table.like.accuracy)
    results: list[Equilibrium | None] = [None] * len(profiles)
    for row in np.flatnonzero(bounds <= tolerance).tolist():
        results[row] = Equilibrium(
            profiles[row].copy(),
            utilities[row].copy(),
            paid[row].copy(),
            accuracies[row].copy(),
            float(bounds[row]),
            float(gains[row]),
            "certified",
            int(turns[row]),
            method,
        )
    return results


def _gains(table: _Table, profiles: Array, tolerance: float) -> tuple[Array, Array]:
    """The largest gain found in each game, and the largest bound."""
    games, owners = profiles.shape
    found, bound = np.empty(games), np.empty(games)
    room = max(1, MOST_CHECKED // owners)
    for first in range(0, games, room):
        some = table.take(np.arange(first, min(first + room, games)))
        part = profiles[first : first + room]
        largest = np.repeat(part.max(axis=1), owners)
        facts = some.offers(part), some.flat_costs(), some.capacities.ravel(), part.ravel()
        gains = weigh(*facts, Limits(0.1 * tolerance), largest)
        found[first : first + room], bound[first : first + room] = (
            column.reshape(-1, owners).max(axis=1) for column in gains
        )
    return found, bound


def _opening(table: _Table, rounds: int = 5) -> Array:
    """Where to begin: as `search.opening`, in every game."""
    alone = _each_alone(table)
    owners = alone.shape[1]
    low, high = np.full(len(alone), np.log(0.25 / owners)), np.zeros(len(alone))
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        rises = np.sum(alone * table.slopes(np.exp(middle)[:, None] * alone), axis=1) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.exp(0.5 * (low + high))[:, None] * alone


def _each_alone(table: _Table, rounds: int = 8) -> Array:
    """Roughly what each owner would contribute if nobody else did."""
    curve, costs = table.offers(np.zeros_like(table.capacities)).benefit, table.flat_costs()
    high = np.log(table.capacities.ravel())
    low = least = high + np.log(1e-6)
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        rises = curve.slope(np.exp(middle)) > costs.slope(np.exp(middle))
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(low > least, np.exp(0.5 * (low + high)), 0.0).reshape(table.capacities.shape)


def _newton(table: _Table, start: Array, limit: int = 60) -> _Ways:
    """Where Newton's method leads in every game (see `newton`), and after how many iterations; games drop out."""
    profiles = np.clip(start, 0.0, table.capacities)
    turns = np.zeros(len(profiles), dtype=np.intp)
    going = np.flatnonzero(np.all(np.isfinite(table.slopes(profiles)), axis=1))
    best, record = np.full(len(profiles), np.inf), np.zeros(len(profiles), dtype=np.intp)
    for turn in range(limit + 1):
        some, here = table.take(going), profiles[going]
        slope = some.slopes(here)
        jacobian = some.jacobians(here)
        size = np.maximum(np.abs(np.diagonal(jacobian, axis1=1, axis2=2)), 1e-3 * np.abs(slope) / some.capacities)
        diagonal = np.maximum(size, 1e-100)
        residual = np.linalg.norm(np.clip(here + slope / diagonal, 0.0, some.capacities) - here, axis=1)
        better = residual < 0.5 * best[going]
        best[going[better]] = residual[better]
        record[going[better]] = turn
        left = residual > _PRECISION * here.max(axis=1)
        left &= turn < record[going] + 12
        rows = np.flatnonzero(left)
        going = going[rows]
        if not len(going) or turn == limit:
            break
        some = table.take(going)
        move = _active_set_step(some, here[rows], slope[rows], jacobian[rows], diagonal[rows])
        profiles[going] = _advanced(some, here[rows], move)
        turns[going] = turn + 1
    return profiles, turns


def _interior_point(table: _Table, start: Array, limit: int = 80) -> _Ways:
    """Where the central path leads in every game (see `newton.interior_point`), polished by Newton; games drop out."""
    top = table.capacities
    profiles = np.clip(start, 1e-3 * top, (1 - 1e-3) * top)
    slope = table.slopes(profiles)
    mean = np.mean(np.abs(slope), axis=1, keepdims=True)
    typical = np.where(mean > 0, 0.1 * mean, 1e-12)
    at_low, at_high = np.maximum(-slope, 0.0) + typical, np.maximum(slope, 0.0) + typical
    room = top - profiles
    turns = np.zeros(len(profiles), dtype=np.intp)
    going = np.arange(len(profiles))
    everyone = np.arange(profiles.shape[1])
    for turn in range(limit):
        here, left, force, low, high = (part[going] for part in (profiles, room, slope, at_low, at_high))
        size = np.mean(here * low + left * high, axis=1, keepdims=True)
        costs = table.take(going).flat_costs().slope(here.ravel()).reshape(here.shape)
        steepest = np.max(np.abs(force) + costs, axis=1)
        done = (size[:, 0] < 1e-14) & (np.max(np.abs(force + low - high), axis=1) <= 1e-9 * steepest)
        turns[going] = turn + 1
        rows = np.flatnonzero(~done)
        if not len(rows):
            break
        going, some = going[rows], table.take(going[rows])
        here, left, force, low, high, size = (part[rows] for part in (here, left, force, low, high, size))
        target = 0.05 * size
        system = -some.jacobians(here)
        system[:, everyone, everyone] += low / here + high / left
        move = _solved(system, force + target / here - target / left)
        more_low = target / here - low - low / here * move
        more_high = target / left - high + high / left * move
        shorter = np.concatenate([-move / here, move / left, -more_low / low, -more_high / high], axis=1)
        length = np.minimum(1.0, 0.995 / np.maximum(np.max(shorter, axis=1), 1e-300))[:, None]
        ahead = some.slopes(here + length * move)
        sound = np.all(np.isfinite(ahead), axis=1)
        going = going[sound]
        for column, value in (
            (profiles, here + length * move),
            (room, left - length * move),
            (slope, ahead),
            (at_low, low + length * more_low),
            (at_high, high + length * more_high),
        ):
            column[going] = value[sound]
        if not len(going):
            break
    polished, more = _newton(table, np.clip(profiles, 0.0, top), limit=10)
    return polished, turns + more


def _active_set_step(table: _Table, profiles: Array, slope: Array, jacobian: Array, diagonal: Array) -> Array:
    """The steps to the solutions of the linearised conditions, as in `newton`, with owners at a bound pinned there."""
    low, high = -profiles, table.capacities - profiles
    wish = slope / diagonal
    at_low, at_high = wish <= low, wish >= high
    everyone = np.arange(profiles.shape[1])
    for _ in range(12):
        move = np.where(at_low, low, np.where(at_high, high, 0.0))
        free = ~(at_low | at_high)
        system = np.where(free[:, :, None] & free[:, None, :], -jacobian, 0.0)
        system[:, everyone, everyone] += np.where(free, _DAMPING * diagonal, 1.0)
        pull = np.where(free, slope + _times(jacobian, move), 0.0)
        move = np.where(free, _solved(system, pull), move)
        wish = move + (slope + _times(jacobian, move)) / diagonal
        was = at_low, at_high
        at_low, at_high = wish <= low, wish >= high
        if np.array_equal(was[0], at_low) and np.array_equal(was[1], at_high):
            break
    return np.clip(move, low, high)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.einsum("gij,gj->gi", matrices, vectors)


def _solved(systems: Array, pulls: Array) -> Array:
    """Every system solved; nan in games whose system is singular."""
    try:
        return np.asarray(np.linalg.solve(systems, pulls[:, :, None])[:, :, 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.array([_one_solved(system, pull) for system, pull in zip(systems, pulls, strict=True)])


def _one_solved(system: Array, pull: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(system, pull), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(pull), np.nan)


def _advanced(table: _Table, profiles: Array, move: Array) -> Array:
    """Move; less far where slopes are not finite there, and not at all where there is no step."""
    move = np.where(np.isfinite(move), move, 0.0)
    trial = np.clip(profiles + move, 0.0, table.capacities)
    for _ in range(60):
        wild = np.flatnonzero(~np.all(np.isfinite(table.slopes(trial)), axis=1))
        if not len(wild):
            break
        move[wild] *= 0.5
        trial[wild] = np.clip(profiles[wild] + move[wild], 0.0, table.capacities[wild])
    return trial
