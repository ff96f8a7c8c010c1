"""Solve a game of contributions, and prove how good the solution is.

`solve` never trusts the method that found a profile: the certified gap, the largest gain that any owner could make by a
unilateral change over its whole range, decides.  `converged` means gap <= tolerance, nothing else.  Where that cannot
be proven, because a mechanism promises no shape or because time is up, the verdict says what a search found.

The default method is Newton's on the equilibrium conditions (see `newton`) where offers are concave, and exact
best responses from several starts, polished by Newton, where they have kinks (minimum viability, value shaping).  From
everyone at capacity, where owners' best responses increase in the others' data, these find the largest equilibrium.
A game may have several equilibria: `several` says which one this is, finds others, or proves that there are none.
A game in which nothing certifies because best responses in turn run in a circle is reported with that circle.

Under Shapley shares "potential" climbs the one function that all owners climb (see `potential`).
The papers' dynamics (see `fedabm.solving.dynamics`) are methods too: "projected gradient", "stochastic gradient",
"best response" and "sequential best response".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fedabm.common.deadline import deadline
from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, nearest
from fedabm.games.curves import Array
from fedabm.solving import dynamics, search
from fedabm.solving.candidates import automatic, path_of
from fedabm.solving.clock import Timed, TimeUp, timed
from fedabm.solving.game import Game
from fedabm.solving.interior_point import interior_point
from fedabm.solving.linear_model import DENSE
from fedabm.solving.newton import newton
from fedabm.solving.opening import opening
from fedabm.solving.polish import polish, sharpened
from fedabm.solving.potential import ascend
from fedabm.solving.search import Path
from fedabm.solving.table import OneGame
from fedabm.solving.verdict import Equilibrium, certify, unseen

__all__ = ["METHODS", "Equilibrium", "Game", "certify", "polish", "solve"]

#: contributions of this share of capacity, where slopes at the start are infinite
_INSIDE = 1e-3

METHODS = (
    "auto",
    "newton",
    "interior point",
    "potential",
    "projected gradient",
    "stochastic gradient",
    "best response",
    "sequential best response",
)


def solve(
    game: Game,
    start: Any = None,
    tolerance: float = 1e-9,
    method: str = "auto",
    *,
    step: dynamics.Step | None = None,
    active: int | None = None,
    rng: np.random.Generator | None = None,
    limit: int | None = None,
    time_limit: float | None = None,
) -> Equilibrium:
    """Find an equilibrium whose certified gap is at most `tolerance`; else return the best profile, not converged.

    `step`, `active` (owners per step, of the stochastic gradient), `rng` and `limit` (iterations) serve the papers'
    dynamics; a random generator also draws further starts for games with kinks (default: always the same ones).
    After `time_limit` seconds the best profile so far is returned, with what could be proven of it until then: at most
    a tenth of the limit later (or half a second), unless a single question to a user's own class takes longer.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> found = solve(Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()))
    >>> found.profile.round(8), found.verdict, found.method
    (array([2.16227766, 0.        ]), 'certified', 'newton')

    Parameters
    ----------
    game : Game
        Owners, accuracy and mechanism.
    start : Any, optional
        The profile to begin at.
    tolerance : float, optional
        The certified gap up to which a profile counts as an equilibrium.
    method : str, optional
        "auto", or one of the solver's methods by name.
    step : dynamics.Step | None, optional
        The step size of a paper's dynamics.
    active : int | None, optional
        Owners per step of the stochastic gradient.
    rng : np.random.Generator | None, optional
        The generator that draws active owners and further starts.
    limit : int | None, optional
        The most iterations of a paper's dynamics.
    time_limit : float | None, optional
        Seconds after which the best profile so far is returned.

    Returns
    -------
    Equilibrium
        The profile, what it brings every owner, and the proven bound on what anybody could still gain.
    """
    check_kind("game", game, Game)
    check_positive("tolerance", tolerance)
    for name, number in (("active", active), ("limit", limit)):
        if number is not None:
            check_whole(name, number)
    if time_limit is not None:
        check_positive("time limit", time_limit)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; {nearest(method, METHODS)}")
    origin = None if start is None else game.profile(start)
    rng = rng or np.random.default_rng(0)
    limited = timed(game, time_limit)
    # Numbers that are too large to compare leave a gap that is too large to certify.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if method == "auto":
            return _first_certified(limited, automatic(limited, origin, rng), origin, tolerance)
        return _by(method, limited, origin, tolerance, step, active, rng, limit)


def _first_certified(game: Timed, candidates: Iterator[Path], origin: Array | None, tolerance: float) -> Equilibrium:
    """The first candidate that certifies; else a cycle, if one was found; else the one with the least gain left."""
    best: Path | Equilibrium = Path(np.zeros(game.owners) if origin is None else origin, 0, "start")
    least, circle = math.inf, None
    found = known = None
    try:
        with deadline(game.until):
            for found in candidates:
                seen = certify(game, found, tolerance, _first_proof(game, found.profile))
                best, least = (seen, seen.gain) if seen.gain < least else (best, least)
                known = best
                if seen.converged:
                    return polish(game, seen, tolerance)
                if seen.gain <= tolerance:
                    # Nobody gains, only the proof is missing: it takes longer, or the shape of offers is unknown.
                    near = sharpened(game, seen)
                    best = near if seen.gain <= 0.1 * tolerance else best
                    proven = certify(game, near, tolerance, _long_proof(game), aim=0.8)
                    if proven.converged or seen.gain <= 0.1 * tolerance:
                        return proven
                circle = seen if circle is None and seen.cycle is not None else circle
    except TimeUp:
        return _at_last(game, [one for one in (known, best, found) if one is not None], tolerance)
    if not isinstance(best, Equilibrium):
        raise InputError("no starting point with finite slopes was found; give one with start=")
    return best if circle is None or least <= 1e3 * tolerance else circle


def _at_last(game: Timed, reached: list[Path | Equilibrium], tolerance: float) -> Equilibrium:
    """The best of what was reached when time was up; what nobody has looked at yet is looked at while grace lasts."""
    seen = [replace(one, time_up=not one.converged) for one in reached if isinstance(one, Equilibrium)]
    paths = [one for one in reached if isinstance(one, Path)]
    with suppress(TimeUp), deadline(game.at_last):
        for path in paths:
            seen.append(certify(game, path, tolerance))
    return min(seen or [unseen(game, paths[0])], key=lambda one: one.gain)


def _first_proof(game: Game, profile: Array) -> int:
    """How many intervals a proof may take before it is known that nobody gains: few where it would take many."""
    return 2**20 if game.offers(profile).shape == "concave" else 0


def _long_proof(game: Game) -> int:
    """How many intervals a proof about this game may take when everything depends on it."""
    return min(2**20 * max(4, 2 * game.owners), 2**24)


def _by(
    method: str,
    game: Timed,
    origin: Array | None,
    tolerance: float,
    step: dynamics.Step | None,
    active: int | None,
    rng: np.random.Generator,
    limit: int | None,
) -> Equilibrium:
    """Where one method leads; the start itself, if time is up before it leads anywhere."""
    path = Path(np.zeros(game.owners) if origin is None else origin, 0, method)
    try:
        with deadline(game.until):
            first = opening(OneGame(game))[0] if origin is None else origin
            path = replace(path, profile=first)
            if method in ("newton", "interior point"):
                follow = newton if method == "newton" else interior_point
                path = path_of(follow(OneGame(game), first[None], limit=limit or 100), method)
            elif method == "potential":
                path = ascend(game, first, limit or 200)
            elif method.endswith("best response"):
                path = _best_responses(game, first, method, limit or 1000 * game.owners)
            else:
                moves = _gradient(game, first, method, step, active, rng)
                path = _watch(game, moves, method, limit or 10_000, tolerance)
            return certify(game, path, tolerance)
    except TimeUp:
        return _at_last(game, [path], tolerance)


def _best_responses(game: Game, origin: Array, method: str, limit: int) -> Path:
    """The papers' exact dynamics until they rest or repeat."""
    together = method == "best response"
    moves = dynamics.best_response(game, origin) if together else dynamics.sequential_best_response(game, origin)
    return search.until_repeat(moves, method, 1 if together else game.owners, limit)


def _gradient(
    game: Game,
    origin: Array,
    method: str,
    step: dynamics.Step | None,
    active: int | None,
    rng: np.random.Generator,
) -> Iterator[Array]:
    """The papers' gradient dynamics; by default with the longest step that cannot overshoot the linear model."""
    if step is None:
        step = _longest_step(game, origin)
    if method == "projected gradient":
        return dynamics.projected_gradient(game, origin, step)
    return dynamics.stochastic_gradient(game, origin, step, active or max(1, game.owners // 3), rng)


def _longest_step(game: Game, origin: Array) -> float:
    """1 over the largest sum of a row of the Jacobian at the start; a little inside where slopes are infinite there."""
    if game.owners > DENSE:
        raise InputError(f"no longest step is computed for {game.owners} owners; give `step`")
    for profile in (origin, np.maximum(origin, _INSIDE * game.capacities)):
        steep = float(np.max(np.abs(game.jacobian(profile)).sum(axis=1)))
        if math.isfinite(steep):
            return 1.0 / max(steep, 1e-12)
    return float(np.min(game.capacities))


def _watch(game: Game, path: Iterator[Array], method: str, limit: int, tolerance: float) -> Path:
    """Follow a path; look at its gap after 1, 2, 4, ... up to every 64 iterations."""
    look, reached = 1, None
    with suppress(TimeUp):
        for turn, profile in enumerate(path):
            reached = Path(profile, turn, method)
            if turn >= limit:
                break
            if turn >= look:
                look = turn + min(turn, 64)
                if game.gap(profile, 0.1 * tolerance) <= tolerance:
                    break
    if reached is None:
        raise TimeUp
    return reached
