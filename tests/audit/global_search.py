"""The best lie of one owner, or of two together, by brute force: a search that imports nothing from the audit.

It has 20,000 evaluations for each game, settles as a server does, and knows no theory.  Where a rule settles by its
offers, what one owner is handed for its claim does not depend on what it really contributes, so that a table of claims
beside contributions is evaluated at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from fedabm.games.costs import Cost, replaced
from fedabm.games.valuation import ReceivedAccuracy
from fedabm.kernel import Private, receive, settle
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Evidence, Reports, ServerView

EVALUATIONS = 20_000
#: how far misstatements go, as multiples of the truth
SIZE, COST = (0.25, 2.0), (0.0, 4.0)


@dataclass(frozen=True, eq=False)
class Lying:
    """A game at a profile, in which some owners lie and all others tell the truth.

    Claims go up to `reach` times the data; with `sized` and `costed` sizes and costs are misstated, too.
    """

    accuracy: object
    mechanism: Mechanism
    costs: Cost
    capacities: np.ndarray
    profile: np.ndarray
    reach: float = 2.0
    sized: bool = False
    costed: bool = False

    def reports(
        self, members: Sequence[int], claims: Sequence[float], sizes: Sequence[float], factors: Sequence[float]
    ):
        """What the server hears."""
        said, size, cost = self.profile.copy(), self.capacities.copy(), self.costs
        for owner, claim, data, factor in zip(members, claims, sizes, factors, strict=True):
            said[owner] = claim
            size[owner] = max(data, claim)
            if factor != 1.0:
                cost = replaced(cost, np.array([owner]), self.costs.take([owner]).scaled(factor))
        asked = cost if self.mechanism.asks_cost else None
        eager = np.zeros(len(said)) if self.mechanism.asks_eagerness else None
        return Reports(said, size, asked, eager, np.arange(len(said)))

    def utilities(self, members, given, claims, sizes, factors) -> np.ndarray:
        """What everybody has, as in a round."""
        true = self.profile.copy()
        true[list(members)] = given
        worth = self.accuracy.values(true[None])[0]
        evidence = Evidence(np.zeros(len(true), dtype=bool), worth)
        view = ServerView(1, self.reports(members, claims, sizes, factors), self.accuracy.public, None, evidence)
        nobody = np.zeros(len(true))
        private = Private(true, self.capacities, self.costs, nobody, np.arange(len(true)))
        return receive(settle(self.mechanism, view, held=False), worth, ReceivedAccuracy(), private).utility

    def top(self, owner: int) -> float:
        """The largest claim."""
        return self.reach * float(self.capacities[owner])


def best_single(game: Lying, owner: int, rng: np.random.Generator, evaluations: int = EVALUATIONS) -> float:
    """The most that one owner's true utility was found to be, by lies about its contribution alone."""
    plain = type(game.mechanism).settle is Mechanism.settle and type(game.mechanism).forfeits is Mechanism.forfeits
    best = _by_table(game, owner, rng) if plain else None
    # The table takes most of the evaluations where there is one.
    return _by_settling(game, [owner], rng, evaluations // 10 if plain else evaluations, best)


def best_joint(game: Lying, members: Sequence[int], rng: np.random.Generator, evaluations: int = EVALUATIONS) -> float:
    """The most that some owners were found to have together."""
    return _by_settling(game, list(members), rng, evaluations, None)


def _by_table(game: Lying, owner: int, rng: np.random.Generator) -> list[float]:
    """Contribution and claim of the best entry of a table of 120 contributions and 160 claims."""
    capacity, top = float(game.capacities[owner]), game.top(owner)
    offers = game.mechanism.offers(game.accuracy.public, game.reports([], [], [], [])).take([owner])
    kinks = offers.kinks[np.isfinite(offers.kinks)]
    claims = np.concatenate([np.linspace(0, top, 90), top * rng.random(40), top * np.geomspace(1e-6, 1, 20), kinks])
    given = np.concatenate(
        [np.linspace(0, capacity, 70), capacity * rng.random(30), capacity * np.geomspace(1e-6, 1, 20)]
    )
    claims = np.clip(np.append(claims, game.profile[owner]), 0.0, top)
    profiles = np.repeat(game.profile[None], len(given), axis=0)
    profiles[:, owner] = given
    worth = game.accuracy.values(profiles)[:, owner]
    spent = game.costs.take([owner]).value(given[None])[0]
    access, paid = offers.access(claims[None])[0], offers.payment.value(claims[None])[0]
    table = access[:, None] * worth[None] + paid[:, None] - spent[None]
    row, column = np.unravel_index(np.nanargmax(table), table.shape)
    return [float(given[column]), float(claims[row])]


def _by_settling(game: Lying, members: list[int], rng: np.random.Generator, evaluations: int, start) -> float:
    """Random points, then ever smaller steps around the best few, then SciPy's Nelder-Mead."""
    low, high, truth = _box(game, members)

    def value(point: np.ndarray) -> float:
        rows = np.clip(point, low, high).reshape(len(members), -1)
        found = game.utilities(members, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])[members].sum()
        return float(found) if np.isfinite(found) else -np.inf

    points = [truth, *_drawn(low, high, truth, evaluations // 2, rng)]
    if start is not None:
        points.append(np.array([*start, *truth[2:]]))
    values = np.array([value(point) for point in points])
    order = np.argsort(-values)[:5]
    best = [(values[place], points[place]) for place in order]
    for place, (height, point) in enumerate(best):
        width = 0.25 * (high - low)
        for _ in range(evaluations // 20):
            step = np.where(rng.random(len(low)) < 0.5, rng.normal(size=len(low)) * width, 0.0)
            trial = np.clip(point + step, low, high)
            reached = value(trial)
            if reached > height:
                height, point = reached, trial
            else:
                width = width * 0.995
        best[place] = (height, point)
    height, point = max(best, key=lambda one: one[0])
    options = {"maxfev": evaluations // 5, "xatol": 1e-9, "fatol": 1e-12}
    finer = minimize(lambda x: -value(x), point, method="Nelder-Mead", options=options)
    return max(height, -float(finer.fun))


def _box(game: Lying, members: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of contribution, claim, size and factor of the cost for each member, and the truth."""
    low, high, truth = [], [], []
    for owner in members:
        size, here = float(game.capacities[owner]), float(game.profile[owner])
        low += [0.0, 0.0, SIZE[0] * size if game.sized else size, COST[0] if game.costed else 1.0]
        high += [size, game.top(owner), SIZE[1] * size if game.sized else size, COST[1] if game.costed else 1.0]
        truth += [here, here, size, 1.0]
    return np.array(low), np.array(high), np.array(truth)


def _drawn(low, high, truth, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points at random, a third of them near the truth and many with some entries at the truth or an end."""
    points = low + (high - low) * rng.random((count, len(low)))
    small = truth * np.exp(rng.normal(size=points.shape))
    points = np.where(rng.random((count, 1)) < 0.33, np.clip(small, low, high), points)
    points = np.where(rng.random(points.shape) < 0.2, truth, points)
    ends = np.where(rng.random(points.shape) < 0.5, low, high)
    return np.where(rng.random(points.shape) < 0.15, ends, points)
