"""Is it an equilibrium to tell the truth about one's cost?

Owners first report what their data cost; then the mechanism makes its offers, and they contribute what is best for them
by their true costs.  A lie states a multiple of the true cost.  What it gains over the truth, while the others are
truthful, is measured

- "settled": everybody contributes as in the equilibrium of the offers that follow from the reports;
- "standing": the others contribute as they would without the lie, and the liar what is then best for it.

Truth is an equilibrium *ex post* if no lie gains at the costs that owners really have, whatever they know of each
other; it is a *Bayesian* one if no lie gains on average over the others' costs, for any own cost (Harsanyi 1967,
Myerson 1981).  Gains are the largest found among the lies that are tried: that truth fails is certain, that it holds is
not proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fedabm.common.confidence import half_width
from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.best import best_response
from fedabm.games.costs import costs_of, replaced
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism
from fedabm.solving.equilibrium import Equilibrium
from fedabm.solving.game import Game
from fedabm.solving.many import solve_many

__all__ = ["LIES", "Truth", "bayesian_truth", "truth_ex_post"]

#: multiples of the true cost that liars state
LIES: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
After = Literal["settled", "standing"]
#: owners of games with lies that are looked at together: few enough for memory
_ROWS = 2**16
#: draws everybody's costs, one rate or `Cost` per owner
Draw = Callable[[np.random.Generator], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Truth:
    """The largest gain found for each owner, the multiple of its cost that gains it, and how uncertain the gain is.

    Where no lie gains anything, that is the truth: a gain of 0 by a multiple of 1.

    `errors` are half the widths of 95% intervals, 0 where nothing was sampled.  `holds` says that no gain beyond them
    exceeds the tolerance.

    Parameters
    ----------
    gains : Array
        The largest gain found for each owner by lying, shape (owners,).
    lies : Array
        The multiple of its cost that gains it.
    errors : Array
        Half the widths of 95% intervals; 0 where nothing was sampled.
    tolerance : float
        Gains up to this count as none.
    """

    gains: Array
    lies: Array
    errors: Array
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether nobody was found to gain by a lie."""
        return bool(np.all(self.gains - self.errors <= self.tolerance))


def truth_ex_post(game: Game, lies: Sequence[float] = LIES, after: After = "settled", tolerance: float = 1e-6) -> Truth:
    """Whether any owner gains by stating another cost, at the costs of this game.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import Clarke, CostSharing
    >>> [truth_ex_post(Game(PowerLaw(), [0.1, 0.25], 9, rule)).holds for rule in (Clarke(), CostSharing(0.5))]
    [True, False]

    Parameters
    ----------
    game : Game
        Owners, accuracy and mechanism.
    lies : Sequence[float], optional
        The multiples of its cost that an owner may state.
    after : After, optional
        When gains count: as soon as it is "settled", or in the next "equilibrium".
    tolerance : float, optional
        Gains up to this count as none.

    Returns
    -------
    Truth
        The largest gain of each owner.
    """
    check_kind("game", game, Game)
    _check(lies, after, tolerance)
    gains = _gains([game] * game.owners, list(range(game.owners)), lies, after)
    best = np.argmax(gains, axis=1)
    most = gains[np.arange(game.owners), best]
    stated = np.where(most > tolerance, np.asarray(lies, dtype=float)[best], 1.0)
    return Truth(np.maximum(most, 0.0), stated, np.zeros(game.owners), tolerance)


def bayesian_truth(
    accuracy: Accuracy,
    draw: Draw,
    capacities: Any,
    mechanism: Mechanism,
    *,
    samples: int = 40,
    types: int = 3,
    lies: Sequence[float] = LIES,
    after: After = "settled",
    tolerance: float = 1e-6,
    seed: int = 0,
) -> Truth:
    """Whether any owner gains on average over the others' costs, as `draw` has them, for one of `types` own costs.

    Own costs are drawn, too.  The lie that gains most is chosen on one half of the samples and its gain measured on the
    other half, so that the best of many is not mistaken for a good one.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    draw : Draw
        Makes the costs of all owners from a generator.
    capacities : Any
        How much data each owner has: one number per owner, or one for all.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    samples : int, optional
        How many costs of the others are drawn.
    types : int, optional
        How many own costs of each owner are tried.
    lies : Sequence[float], optional
        The multiples of its cost that an owner may state.
    after : After, optional
        When gains count: as soon as it is "settled", or in the next "equilibrium".
    tolerance : float, optional
        Gains up to this count as none.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.

    Returns
    -------
    Truth
        The largest mean gain of each owner, with its interval.
    """
    check_whole("samples", samples, 4)
    check_whole("types", types)
    _check(lies, after, tolerance)
    rng = np.random.default_rng(seed)
    others = [costs_of(list(draw(rng))) for _ in range(samples)]
    owners = others[0].owners or 1
    mine = [costs_of(list(draw(rng))) for _ in range(types)]
    room = finite_vector("capacities", capacities, owners)
    found = np.zeros((owners, types, 3))
    for owner, kind in np.ndindex(owners, types):
        row = np.array([owner])
        costs = [replaced(theirs, row, mine[kind].take(row)) for theirs in others]
        games = [Game(accuracy, one, room, mechanism) for one in costs]
        found[owner, kind] = _measured(_gains(games, [owner] * samples, lies, after), lies)
    worst = np.argmax(found[:, :, 0] - found[:, :, 2], axis=1)
    gain, lie, error = found[np.arange(owners), worst].T
    return Truth(gain, lie, error, tolerance)


def _gains(games: Sequence[Game], liars: Sequence[int], lies: Sequence[float], after: After) -> Array:
    """What each lie of one owner of each game brings it more than the truth: nothing where nobody asks for costs."""
    gains = np.zeros((len(games), len(lies)))
    if not games[0].mechanism.asks_cost:
        return gains
    honest = _settled(dict.fromkeys(games))
    together = max(1, _ROWS // (games[0].owners * len(lies)))
    for first in range(0, len(games), together):
        some = slice(first, first + together)
        plays = [(game, owner, lie) for game, owner in zip(games[some], liars[some], strict=True) for lie in lies]
        truths = [honest[game] for game, _, _ in plays]
        most = _after_lies(plays, truths, after)
        before = [truth.utilities[owner] for truth, (_, owner, _) in zip(truths, plays, strict=True)]
        gains[some] = np.reshape(np.array(most) - np.array(before), gains[some].shape)
    return gains


def _after_lies(plays: list[tuple[Game, int, float]], truths: list[Equilibrium], after: After) -> list[float]:
    """What each liar has in the end."""
    lies = [_lying(*play) for play in plays]
    if after == "standing":
        each = zip(lies, truths, plays, strict=True)
        return [_best_against(lying, truth, owner) for lying, truth, (_, owner, _) in each]
    found = _settled(lies, [truth.profile for truth in truths])
    return [float(found[lying].utilities[owner]) for lying, (_, owner, _) in zip(lies, plays, strict=True)]


def _lying(game: Game, owner: int, factor: float) -> Game:
    """The game in which an owner states a multiple of its cost."""
    row = np.array([owner])
    return replace(game, reported=replaced(game.costs, row, game.costs.take(row).scaled(factor)))


def _best_against(lying: Game, honest: Equilibrium, owner: int) -> float:
    """The most that the liar can have while the others contribute as they would without the lie."""
    mine = lying.offers(honest.profile).take([owner])
    found = best_response(mine, lying.costs.take([owner]), lying.capacities[[owner]])
    return float(found.utility[0])


def _settled(games: Iterable[Game], starts: Sequence[Array] | None = None) -> dict[Game, Equilibrium]:
    """The equilibria in contributions of some games; a cycle is none."""
    every = list(games)
    settled = {}
    for game, found in zip(every, solve_many(every, starts=starts), strict=True):
        if isinstance(found, Exception):
            raise found
        if found.cycle is not None:
            raise InputError("owners' best replies run in a circle, so that no lie can be judged; use after='standing'")
        settled[game] = found
    return settled


def _measured(gains: Array, lies: Sequence[float]) -> tuple[float, float, float]:
    """The best lie by every other sample, and by the rest its mean gain and half the width of a 95% interval.

    Where none gains by the first half, the best is the truth, whose gain is 0, beside the interval of the best lie.
    """
    chosen = gains[::2].mean(axis=0)
    best = int(np.argmax(chosen))
    seen = gains[1::2, best]
    error = half_width(seen.std(ddof=1), len(seen))
    if chosen[best] <= 0:
        return 0.0, 1.0, float(error)
    return float(seen.mean()), float(lies[best]), float(error)


def _check(lies: Sequence[float], after: str, tolerance: float) -> None:
    check_positive("lies", finite_vector("lies", lies), zero=True)
    check_positive("tolerance", tolerance)
    if after not in ("settled", "standing"):
        raise InputError(f"after must be 'settled' or 'standing', got {after!r}; give one of them")
