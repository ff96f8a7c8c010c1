"""Solve a game of contributions, and prove how good the solution is.

`solve` never trusts the method that found a profile: the certified gap, the largest gain that any owner could make by a
unilateral change over its whole range, decides.  `converged` means gap <= tolerance, nothing else.

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
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, nearest
from fedabm.games.best import best_response
from fedabm.games.certificate import certified_gains
from fedabm.games.curves import Array
from fedabm.solving import dynamics, search
from fedabm.solving.candidates import automatic
from fedabm.solving.game import Game
from fedabm.solving.newton import interior_point, newton
from fedabm.solving.potential import ascend
from fedabm.solving.search import Path

__all__ = ["METHODS", "Equilibrium", "Game", "certify", "polish", "solve"]

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


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A profile, what it brings the owners, and the proven bound `gap` on what any of them could still gain.

    `converged` is gap <= tolerance.  The gap is infinite where a mechanism promises nothing about the shape of its
    offers.  `cycle` holds the profiles (rows) that best responses repeat for ever, if that is why nothing was solved.
    """

    profile: Array
    utilities: Array
    payments: Array
    accuracies: Array
    gap: float
    converged: bool
    iterations: int
    method: str
    cycle: Array | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON; an infinite gap becomes None."""
        plain = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}
        return plain if self.cycle is not None else {k: v for k, v in plain.items() if k != "cycle"}

    def rows(self) -> list[dict[str, float]]:
        """One row per owner, for tables."""
        columns = (self.profile, self.accuracies, self.payments, self.utilities)
        names = ("contribution", "accuracy", "payment", "utility")
        return [
            {"owner": owner, **dict(zip(names, map(float, row), strict=True))}
            for owner, row in enumerate(zip(*columns, strict=True))
        ]


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
) -> Equilibrium:
    """Find an equilibrium whose certified gap is at most `tolerance`; else return the best profile, not converged.

    `step`, `active` (owners per step, of the stochastic gradient), `rng` and `limit` (iterations) serve the papers'
    dynamics; a random generator also draws further starts for games with kinks (default: always the same ones).

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> found = solve(Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()))
    >>> found.profile.round(8), found.converged, found.method
    (array([2.16227766, 0.        ]), True, 'newton')
    """
    check_kind("game", game, Game)
    check_positive("tolerance", tolerance)
    for name, number in (("active", active), ("limit", limit)):
        if number is not None:
            check_whole(name, number)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; {nearest(method, METHODS)}")
    origin = None if start is None else game.profile(start)
    rng = rng or np.random.default_rng(0)
    if method == "auto":
        return _first_certified(game, automatic(game, origin, rng), tolerance)
    origin = search.opening(game) if origin is None else origin
    if method in ("newton", "interior point"):
        found = (newton if method == "newton" else interior_point)(game, origin, limit=limit or 100)
        return certify(game, Path(found.profile, found.iterations, method), tolerance)
    if method == "potential":
        return certify(game, ascend(game, origin, limit or 200), tolerance)
    if method.endswith("best response"):
        return certify(game, _best_responses(game, origin, method, limit or 1000 * game.owners), tolerance)
    path = _gradient(game, origin, method, step, active, rng)
    return _watch(game, path, method, limit or 10_000, tolerance)


def certify(
    game: Game, found: Path | Equilibrium, tolerance: float, budget: int = 2**20, aim: float = 0.1
) -> Equilibrium:
    """Evaluate a candidate and prove its gap, tight to the share `aim` of the tolerance if the budget allows."""
    profile, offers = found.profile, game.offers(found.profile)
    utilities = offers.benefit.value(profile) - game.costs.value(profile)
    gains = certified_gains(offers, game.costs, game.capacities, profile, aim * tolerance, budget)
    gap = float(np.max(np.nan_to_num(gains, nan=np.inf, posinf=np.inf)))
    payments, accuracies = offers.payment.value(profile), offers.received.value(profile)
    label, solved = found.method, gap <= tolerance
    if found.cycle is not None and not solved:
        label = "best response cycle"
    cycle = None if solved else found.cycle
    return Equilibrium(profile, utilities, payments, accuracies, gap, solved, found.iterations, label, cycle)


def polish(game: Game, found: Equilibrium, tolerance: float) -> Equilibrium:
    """Sharpen what best responses found by Newton, if the gap does not grow.

    At a smooth optimum utilities are flat: they tell only half of a contribution's digits, slopes tell all of them.
    """
    near = _sharpened(game, found)
    if not found.converged or near is found:
        return found
    sharp = certify(game, near, tolerance)
    return sharp if sharp.gap <= found.gap + 1e-15 else found


def _sharpened(game: Game, found: Equilibrium) -> Path | Equilibrium:
    """What Newton and best replies make of a result of best responses, if they stay close."""
    if "best response" not in found.method or found.cycle is not None:
        return found
    sharp = found.profile
    for follow in (_few_newton_steps, _settled):
        near = follow(game, sharp)
        close = np.max(np.abs(near - found.profile)) <= 1e-4 * np.max(found.profile)
        sharp = near if close and _gain_found(game, near) <= _gain_found(game, sharp) + 1e-15 else sharp
    return found if sharp is found.profile else Path(sharp, found.iterations, found.method)


def _few_newton_steps(game: Game, profile: Array) -> Array:
    return newton(game, profile, limit=5).profile


def _settled(game: Game, profile: Array, limit: int = 60) -> Array:
    """Follow best replies as long as they come closer: along a ramp utilities hardly differ, but its end is sharp.

    Replies within a ten-millionth tell no more digits than Newton's method has.
    """
    if game.offers(profile).shape != "concave":
        return profile
    reply = game.best_responses(profile)
    size = np.max(np.abs(reply - profile))
    for _ in range(limit if size > 1e-7 * np.max(profile) else 0):
        further = game.best_responses(reply)
        closer = np.max(np.abs(further - reply))
        if not closer < 0.9 * size:
            break
        profile, reply, size = reply, further, closer
    return profile


def _first_certified(game: Game, candidates: Iterator[Path], tolerance: float) -> Equilibrium:
    """The first candidate that certifies; else a cycle, if one was found; else the one with the least gain left."""
    best, least, circle = None, math.inf, None
    for found in candidates:
        seen = certify(game, found, tolerance)
        if seen.converged:
            return polish(game, seen, tolerance)
        gain = _gain_found(game, seen.profile)
        if gain <= 0.1 * tolerance:
            # Nobody gains, only the proof is missing: it takes longer, or the shape of offers is unknown.
            near = _sharpened(game, seen)
            better = near if _gain_found(game, near.profile) <= gain + 1e-15 else seen
            return certify(game, better, tolerance, _long_proof(game), aim=0.8)
        circle = seen if circle is None and seen.cycle is not None else circle
        best, least = (seen, gain) if best is None or gain < least else (best, least)
    if best is None:
        raise InputError("no starting point with finite slopes was found; give one with start=")
    return best if circle is None or least <= 1e3 * tolerance else circle


def _long_proof(game: Game) -> int:
    """How many intervals a proof about this game may take when everything depends on it."""
    return min(2**20 * max(4, 2 * game.owners), 2**24)


def _gain_found(game: Game, profile: Array) -> float:
    """The largest gain that best responses find, without a proof that there is no larger one."""
    offers = game.offers(profile)
    best = best_response(offers, game.costs, game.capacities).utility
    gain = float(np.max(best - offers.benefit.value(profile) + game.costs.value(profile)))
    return gain if math.isfinite(gain) else math.inf


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
        step = 1.0 / max(float(np.max(np.abs(game.jacobian(origin)).sum(axis=1))), 1e-12)
    if method == "projected gradient":
        return dynamics.projected_gradient(game, origin, step)
    return dynamics.stochastic_gradient(game, origin, step, active or max(1, game.owners // 3), rng)


def _watch(game: Game, path: Iterator[Array], method: str, limit: int, tolerance: float) -> Equilibrium:
    """Follow a path; look at its gap after 1, 2, 4, ... up to every 64 iterations."""
    look = 1
    for turn, profile in enumerate(path):
        if turn >= limit:
            break
        if turn >= look:
            look = turn + min(turn, 64)
            if game.gap(profile, 0.1 * tolerance) <= tolerance:
                break
    return certify(game, Path(profile, turn, method), tolerance)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, float) and not math.isfinite(value) else value
