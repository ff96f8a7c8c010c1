"""All equilibria of a game that can be found, which of them `solve` returns, and whether there are others.

Data gain, accuracy gain and reciprocity of a mechanism are minima and maxima over all its equilibria (Murhekar et al.
2025, Section 3.1), so one is not enough.  `solve_all` begins with what `solve` returns.  If that is proven to be the
only one (see `uniqueness`), it stops there; else it looks from many starts and says how many it found.

Which one `solve` returns, where there are several, depends on what owners are offered:

    smooth and concave           the one that Newton's method reaches from where slopes cancel on the ray from nobody to
                                 everyone as if alone: as even as the weights allow, seldom the one with the most data;
                                 owners that are indifferent share as they do alone.  No payments, subsidy, cost sharing
                                 and partial reciprocity; Shapley shares have one equilibrium only where the sum of
                                 accuracies is concave
    with kinks or S-shapes       what best responses in turn reach from everyone at capacity (of more than 24 owners: in
                                 steps of all together): the one with the most data wherever best responses rise with
                                 the others' data.  Value shaping and screening; every mechanism under minimum viability
    proportional to data, value  the same path; whole intervals are equilibria, and this need not be their end
    or Shapley shares

What a path does not certify is left for the next one, so that games at the edge may end elsewhere; `method` says how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from fedabm.common.deadline import deadline
from fedabm.common.errors import InputError, check_kind, check_positive, check_whole
from fedabm.games.curves import Array
from fedabm.solving import search
from fedabm.solving.candidates import SMALL, by_newton
from fedabm.solving.clock import Timed, TimeUp, timed
from fedabm.solving.equilibrium import Equilibrium, certify, polish, solve
from fedabm.solving.game import Game
from fedabm.solving.opening import is_smooth
from fedabm.solving.search import Path
from fedabm.solving.table import OneGame
from fedabm.solving.uniqueness import Uniqueness, index, uniqueness

__all__ = ["Equilibria", "equilibria", "solve_all"]

Answer = TypeVar("Answer")

#: owners times random starts unless the caller says otherwise: this takes seconds
_WORK = 240
#: all patterns of idle owners are tried up to this many owners
_PATTERNS = 5
#: this many tell that there are many
_ENOUGH = 12
#: after this many rounds of best responses Newton's method takes over
_ROUNDS = 6
#: between this many equilibria others are looked for
_SOME = 5


@dataclass(frozen=True, eq=False)
class Equilibria:
    """What was found: `answer` as `solve` gives it, `every` distinct certified equilibrium, most data first.

    `unique` is True if a proof says that there is no other, False if others were found or a proof says that there are,
    None if nothing is known; `reason` says it in one line.

    Parameters
    ----------
    answer : Equilibrium
        The equilibrium that `solve` gives.
    every : tuple[Equilibrium, ...]
        Every distinct certified equilibrium that was found, most data first.
    unique : bool | None
        True or False where that is proven, else None.
    reason : str
        Why, in one line.
    """

    answer: Equilibrium
    every: tuple[Equilibrium, ...]
    unique: bool | None
    reason: str

    @property
    def profiles(self) -> Array:
        """(k, n): as metrics over all equilibria take them; the answer alone if nothing was certified."""
        return np.array([one.profile for one in self._known])

    @property
    def accuracies(self) -> Array:
        """What owners receive in each, (k, n)."""
        return np.array([one.accuracies for one in self._known])

    @property
    def payments(self) -> Array:
        """What owners are paid in each, (k, n)."""
        return np.array([one.payments for one in self._known])

    @property
    def _known(self) -> tuple[Equilibrium, ...]:
        return self.every or (self.answer,)

    def is_answer(self, one: Equilibrium) -> bool:
        """Whether this is the equilibrium that `solve` returns."""
        return one is self.answer

    def as_dict(self) -> dict[str, Any]:
        """The answer, whether it is the only one, and the others; ready for JSON."""
        others = [one.as_dict() for one in self.every if one is not self.answer]
        return {**self.answer.as_dict(), "unique": self.unique, "reason": self.reason, "others": others}


def solve_all(
    game: Game,
    tolerance: float = 1e-9,
    starts: int | None = None,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> Equilibria:
    """The equilibrium that `solve` returns, a proof that it is the only one, or all that many starts lead to.

    `starts` random profiles are tried beside the fixed ones; 0 leaves it at what is proven, which is the default for
    more than 240 owners.  After `time_limit` seconds what was found until then is returned.

    >>> from fedabm.games.accuracy import GroupWeighted
    >>> from fedabm.mechanisms import NoPayments, ShapleyShare
    >>> weights = GroupWeighted(((1, 3), (3, 1)), (0, 1))
    >>> found = solve_all(Game(weights, [0.05, 0.05], 100, NoPayments()))
    >>> [round(float(one.profile.sum()), 2) for one in found.every], found.unique
    ([3.47, 3.47, 1.74], False)
    >>> solve_all(Game(weights, [0.05, 0.05], 100, ShapleyShare())).unique
    True

    Parameters
    ----------
    game : Game
        Owners, accuracy and mechanism.
    tolerance : float, optional
        The certified gap up to which a profile counts as an equilibrium.
    starts : int | None, optional
        How many random profiles to begin at beside the fixed ones.
    rng : np.random.Generator | None, optional
        The generator that draws them.
    time_limit : float | None, optional
        Seconds after which what was found is returned.

    Returns
    -------
    Equilibria
        The equilibrium of `solve`, all others that were found, and whether that is all.
    """
    check_kind("game", game, Game)
    if starts is not None:
        check_whole("starts", starts, 0)
    if time_limit is not None:
        check_positive("time limit", time_limit)
    limited = timed(game, time_limit)
    answer = solve(limited, tolerance=tolerance)
    if not answer.converged:
        return Equilibria(answer, (), None, "nothing was certified")
    known = _in_time(limited, lambda: uniqueness(game, answer.profile), Uniqueness(None, "time was up"))
    random = min(16, _WORK // game.owners) if starts is None else starts
    if known.unique or random == 0:
        return Equilibria(answer, (answer,), known.unique, known.reason)
    every = _gathered(limited, [answer], _origins(game, random, rng or np.random.default_rng(0)), tolerance)
    if len(every) > 1 and sum(sign or 0 for sign in _signs(limited, every)) != 1:
        every = _gathered(limited, every, _between(every), tolerance)
    unique, reason = _verdict(limited, every, known)
    return Equilibria(answer, tuple(every), unique, f"{reason}; time was up" if limited.over else reason)


def _in_time(game: Timed, work: Callable[[], Answer], otherwise: Answer) -> Answer:
    """What the work gives, or what there is otherwise if time is up before."""
    try:
        with deadline(game.at_last):
            return work()
    except TimeUp:
        return otherwise


def _verdict(game: Timed, every: list[Equilibrium], known: Uniqueness) -> tuple[bool | None, str]:
    """Whether there is more than one, and how that is known."""
    if len(every) == 1:
        nothing = "no other was found from many starts" if known.unique is None else "none of the others was found"
        return known.unique, f"{nothing} ({known.reason})"
    many = "or more " if len(every) >= _ENOUGH else ""
    return False, f"{len(every)} {many}were found; {_completeness(_signs(game, every))}"


def _signs(game: Timed, every: list[Equilibrium]) -> list[int | None]:
    """The index of each equilibrium; nothing is known of them if time is up."""
    unknown: list[int | None] = [None] * len(every)
    # A game that may still be played: what was found is looked at while grace lasts.
    plain = Game(game.accuracy, game.costs, game.capacities, game.mechanism, game.reported)
    return _in_time(game, lambda: [index(plain, one.profile) for one in every], unknown)


def _completeness(indices: list[int | None]) -> str:
    """What the indices of those found tell about others: over all equilibria they add up to 1."""
    total = sum(sign for sign in indices if sign is not None)
    if None in indices:
        return "there may be more"
    return (
        "their indices add up to 1, as those of all do" if total == 1 else f"indices add up to {total}: there are more"
    )


def _origins(game: Game, random: int, rng: np.random.Generator) -> Iterator[Array]:
    """Everyone, nobody and as if alone; random profiles; of few owners every pattern of idle ones; each start once."""
    seen: set[bytes] = set()
    for origin in _all_origins(game, random, rng):
        if origin.tobytes() not in seen:
            yield origin
        seen.add(origin.tobytes())


def _all_origins(game: Game, random: int, rng: np.random.Generator) -> Iterator[Array]:
    alone = game.best_responses(np.zeros(game.owners))
    yield from search.starts(game, rng, random)
    if game.owners <= _PATTERNS:
        for pattern in range(1, 2**game.owners - 1):
            yield alone * ((pattern >> np.arange(game.owners)) & 1)


def _between(every: list[Equilibrium]) -> Iterator[Array]:
    """Points on the lines between equilibria: best responses run away from those with index -1, which lie there."""
    for one, other in combinations(every[:_SOME], 2):
        for share in (0.5, 0.25, 0.75):
            yield share * one.profile + (1 - share) * other.profile


def equilibria(
    game: Game,
    starts: int = 16,
    rng: np.random.Generator | None = None,
    tolerance: float = 1e-9,
    select: str | None = None,
) -> list[Equilibrium]:
    """All distinct certified equilibria found from many starts, most data first.

    Starts are everyone at capacity, nobody, everyone as if alone, and `starts` random profiles.  With `select` "most
    data" or "most utility" only that one is returned (an empty list if none certifies).
    """
    check_kind("game", game, Game)
    check_positive("tolerance", tolerance)
    check_whole("starts", starts, 0)
    if select not in (None, "most data", "most utility"):
        raise InputError(f"unknown selection {select!r}; choose 'most data' or 'most utility', or None for all")
    distinct = _gathered(game, [], search.starts(game, rng or np.random.default_rng(0), starts), tolerance)
    if select == "most utility":
        distinct.sort(key=lambda one: float(one.utilities.sum()), reverse=True)
    return distinct[:1] if select else distinct


def _gathered(game: Game, known: list[Equilibrium], origins: Iterator[Array], tolerance: float) -> list[Equilibrium]:
    """What is known and all that these starts lead to, most data first."""
    distinct = list(known)
    with suppress(TimeUp), deadline(getattr(game, "until", math.inf)):
        smooth = is_smooth(OneGame(game))[0]
        for origin in origins:
            if len(distinct) >= _ENOUGH:
                break
            for path in _smooth_paths(game, origin) if smooth else _replies(game, origin):
                if not _is_new(path.profile, distinct):
                    continue
                seen = polish(game, certify(game, path, tolerance), tolerance)
                distinct += [seen] if seen.converged and _is_new(seen.profile, distinct) else []
    return sorted(distinct, key=lambda one: float(one.profile.sum()), reverse=True)


def _smooth_paths(game: Game, origin: Array) -> Iterator[Path]:
    """Newton's method from one start, and from where a few best responses in turn lead."""
    yield from by_newton(game, origin)
    if game.owners <= SMALL:
        yield from by_newton(game, search.in_turn(game, origin, rounds=_ROUNDS).profile)


def _replies(game: Game, origin: Array) -> Iterator[Path]:
    """Best responses from one start: where offers have kinks, Newton's method is slow and seldom of use."""
    yield search.in_turn(game, origin) if game.owners <= SMALL else search.damped(game, origin)


def _is_new(profile: Array, known: list[Equilibrium]) -> bool:
    """Whether a profile differs from all known ones by more than rounding, relative to the larger of the two."""
    return all(
        np.max(np.abs(profile - one.profile)) > 1e-6 * max(np.max(profile), np.max(one.profile)) for one in known
    )
