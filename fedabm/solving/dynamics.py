"""How owners improve their contributions step by step: the papers' best-response dynamics.

Each dynamic is a generator of profiles that starts with `start` and never ends; the caller decides when to stop.  With
g_i the projected slope of owner i (`direction`):

- projected gradient: s' = s + step * g(s).  Murhekar et al. 2023, eq. (4); 2025, eq. (8)-(9).
- stochastic: only k randomly drawn owners move.  Murhekar et al. 2025, eq. (10)-(11).
- best response: everyone jumps to its exact best reply at once, or one owner after the other.

Eq. (9) reads s_i^* where s_i^t is meant, and Murhekar et al. 2023 leave [0, capacity] without a projection: here every
step is clipped to the box, which is what both intend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from fedabm.common.errors import InputError, check_positive
from fedabm.games.best import best_response as maximise
from fedabm.games.curves import Array, Rows
from fedabm.solving.game import Game

Step = float | Callable[[int], float]

__all__ = [
    "best_response",
    "curvature",
    "direction",
    "iteration_bound",
    "projected_gradient",
    "replies",
    "sequential_best_response",
    "step_size",
    "stochastic_gradient",
]


def direction(game: Game, profile: Array, step: float) -> Array:
    """g(s, mu): the slopes, shortened so that s + step * g stays within [0, capacity].

    Its Euclidean norm measures how far the dynamics are from rest.  Murhekar et al. 2025, eq. (9).
    """
    return (np.clip(profile + step * game.slopes(profile), 0.0, game.capacities) - profile) / step


def projected_gradient(game: Game, start: Array, step: Step) -> Iterator[Array]:
    """Everyone moves along its own slope.  `step` is a number, or a function of the iteration.

    >>> from itertools import islice
    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> game = Game(PowerLaw(), [0.1, 0.25], 100, NoPayments())
    >>> for profile in islice(projected_gradient(game, [1.0, 1.0], step=1.0), 3):
    ...     print(profile.round(4))
    [1. 1.]
    [1.0111 0.8611]
    [1.0323 0.7323]
    """
    profile = game.profile(start)
    for turn in count():
        yield profile.copy()
        profile = _moved(game, profile, _size(step, turn))


def stochastic_gradient(game: Game, start: Array, step: Step, active: int, rng: np.random.Generator) -> Iterator[Array]:
    """In each step `active` randomly drawn owners move along their slopes, the others rest."""
    if not 1 <= active <= game.owners:
        raise InputError(f"active owners must be between 1 and {game.owners}, got {active}; choose how many move")
    profile = game.profile(start)
    for turn in count():
        yield profile.copy()
        size = _size(step, turn)
        moving = rng.choice(game.owners, size=active, replace=False)
        moved = _moved(game, profile, size)
        profile[moving] = moved[moving]


def _moved(game: Game, profile: Array, step: float) -> Array:
    """A step along the slopes; an owner without a slope, as where infinite ones cancel, stays."""
    slopes = game.slopes(profile)
    return np.clip(profile + step * np.where(np.isnan(slopes), 0.0, slopes), 0.0, game.capacities)


def best_response(game: Game, start: Array, damping: float = 1.0) -> Iterator[Array]:
    """Everyone moves at once to its exact best reply, or by the fraction `damping` of the way."""
    profile = game.profile(start)
    check_positive("damping", damping)
    if damping > 1:
        raise InputError(f"damping must be above 0 and at most 1, got {damping}; 1 is the full best response")
    while True:
        yield profile.copy()
        profile = profile + damping * (replies(game, profile, np.arange(game.owners)) - profile)


def sequential_best_response(game: Game, start: Array) -> Iterator[Array]:
    """Owners move in turn to their exact best replies; one profile after each owner's move."""
    profile = game.profile(start)
    yield profile.copy()
    for turn in count():
        owner = [turn % game.owners]
        profile[owner] = replies(game, profile, owner)
        yield profile.copy()


def replies(game: Game, profile: Array, rows: Rows) -> Array:
    """Exact best replies of the owners in `rows`; an owner stays where it is if moving gains nothing."""
    offers = game.offers(profile).take(rows)
    cost = game.costs.take(rows)
    capacity = game.capacities[rows]
    here = profile[rows]
    best = maximise(offers, cost, capacity)
    stays = offers.benefit.value(here) - cost.value(here)
    return np.where(best.utility > stays, best.contribution, here)


def step_size(strength: float, bound: float, owners: int, active: int | None = None) -> float:
    """The step for which the papers prove convergence, lambda / (n^2 L^2), times (n-1)/(k-1) for k active owners.

    `strength` is lambda (the Jacobian plus lambda I is negative semi-definite), `bound` is L >= |G_ij|.
    Murhekar et al. 2023, Theorem 3.2; 2025, Theorem 4.4, which is undefined for k = 1.

    >>> step_size(strength=0.5, bound=1.0, owners=10), step_size(0.5, 1.0, 10, active=4)
    (0.005, 0.015)
    """
    _check_constants(strength, bound, owners)
    step = strength / (owners * bound) ** 2
    if active is None:
        return step
    if not 2 <= active <= owners:
        raise InputError(f"active owners must be between 2 and {owners}, got {active}; Theorem 4.4 divides by k - 1")
    return step * ((owners - 1) / (active - 1))


def iteration_bound(strength: float, bound: float, owners: int, norm: float, precision: float) -> int:
    """T = 2 n^2 L^2 / lambda^2 * log(|g(s^0)| / precision): after this many steps |g| is below `precision`.

    `norm` is |g(s^0)|, the Euclidean norm of `direction` at the start.  Both theorems of `step_size` give the same T.

    >>> iteration_bound(strength=1.0, bound=1.0, owners=2, norm=1.0, precision=1e-3)
    56
    """
    _check_constants(strength, bound, owners)
    check_positive("precision", precision)
    check_positive("norm", norm, zero=True)
    if norm <= precision:
        return 0
    return math.ceil(2 * (owners * bound / strength) ** 2 * math.log(norm / precision))


def curvature(game: Game, profile: Array) -> tuple[float, float]:
    """(lambda, L) of the theorems at one profile: how strongly concave the game is, and its largest |G_ij|.

    The theorems need the worst over all profiles.  Payoffs of the total with linear costs have lambda = 0 for two or
    more owners (the Jacobian has rank one), so that the theorems do not apply to them.
    """
    matrix = game.jacobian(game.profile(profile))
    return float(-np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[-1]), float(np.max(np.abs(matrix)))


def _check_constants(strength: float, bound: float, owners: int) -> None:
    check_positive("strength of concavity", strength)
    check_positive("bound on second derivatives", bound)
    check_positive("number of owners", owners)


def _size(step: Step, turn: int) -> float:
    size = step(turn) if callable(step) else step
    check_positive("step", size)
    return size
