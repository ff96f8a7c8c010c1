"""The best lie of one owner, or of two together, by brute force: a search that imports nothing from the audit.

It has 20,000 evaluations for each game, settles as a server does, and knows no theory.  Where a rule settles by its
offers, what owners are handed for their claims does not depend on what they really contribute, so that a table of all
claims beside all contributions, of two owners more than a million entries, is evaluated at once; a tenth of the
evaluations goes on from its best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

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
    starts = [_by_table(game, owner, rng)] if _plain(game.mechanism) else []
    return _by_settling(game, [owner], rng, evaluations // 10 if starts else evaluations, starts)


def best_joint(game: Lying, members: Sequence[int], rng: np.random.Generator, evaluations: int = EVALUATIONS) -> float:
    """The most that two owners were found to have together."""
    plain, stated = _plain(game.mechanism), game.sized or game.costed
    starts = list(_by_tables(game, members, rng, evaluations // 2500 if stated else 0)) if plain else []
    left = evaluations // (4 if stated else 10) if plain else evaluations
    return _by_settling(game, list(members), rng, left, starts)


def _plain(mechanism: Mechanism) -> bool:
    """Whether the rule settles by its offers."""
    return type(mechanism).settle is Mechanism.settle and type(mechanism).forfeits is Mechanism.forfeits


def _by_tables(
    game: Lying, members: Sequence[int], rng: np.random.Generator, misstatements: int
) -> Iterator[np.ndarray]:
    """The best entry of a table of the claims and contributions of two owners, for the truth and misstatements."""
    low, high, truth = (end.reshape(2, 4) for end in _box(game, members))
    given = [_spread(0.0, row[0], 30, rng) for row in high]
    pairs = np.array([np.append(x, y) for x, y in product(*given)])
    profiles = np.repeat(game.profile[None], len(pairs), axis=0)
    profiles[:, members] = pairs
    worth = game.accuracy.values(profiles)[:, members].T
    spent = sum(game.costs.take([one]).value(pairs[None, :, place])[0] for place, one in enumerate(members))
    for said in _statements(low, high, truth, rng, misstatements):
        tops = np.minimum(high[:, 1], said[:, 2]) if game.sized else high[:, 1]
        claims = [np.append(_spread(0.0, top, 39, rng), min(row[1], top)) for top, row in zip(tops, truth, strict=True)]
        access, paid = _handed(game, members, claims, said)
        table = access[0][:, None] * worth[0] + access[1][:, None] * worth[1] - spent + paid.sum(axis=0)[:, None]
        row, column = np.unravel_index(np.argmax(np.nan_to_num(table, nan=-np.inf)), table.shape)
        claimed = [claims[0][row // len(claims[1])], claims[1][row % len(claims[1])]]
        yield np.column_stack([pairs[column], claimed, said[:, 2:]]).ravel()


def _spread(low: float, high: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points between two ends, evenly, at random and close to the lower end."""
    even, few = count - count // 2, count // 4
    small = (high - low) * np.geomspace(1e-4, 0.1, few)
    return low + np.concatenate([np.linspace(0, high - low, even), (high - low) * rng.random(count // 2 - few), small])


def _statements(low, high, truth, rng: np.random.Generator, count: int) -> Iterator[np.ndarray]:
    """The truth, and so many misstatements of sizes and costs by the two owners."""
    yield truth
    for place in range(count):
        drawn = low + (high - low) * (rng.random(truth.shape) if place % 2 else rng.integers(0, 2, truth.shape))
        yield np.where(rng.random(truth.shape) < 0.25, truth, drawn)


def _handed(game: Lying, members: Sequence[int], claims: Sequence[np.ndarray], said: np.ndarray):
    """Access and payment of both, (2, claims of both), as offered to each while the other's claim stands."""
    access, paid = (np.empty((2, len(claims[0]), len(claims[1]))) for _ in range(2))
    for mine, other in ((0, 1), (1, 0)):
        for place, claim in enumerate(claims[other]):
            stated = said[:, 1].copy()
            stated[other] = claim
            reports = game.reports(members, stated, said[:, 2], said[:, 3])
            offers = game.mechanism.offers(game.accuracy.public, reports).take([members[mine]])
            where = (mine, slice(None), place) if mine == 0 else (mine, place)
            access[where], paid[where] = (
                offers.access(claims[mine][None])[0],
                offers.payment.value(claims[mine][None])[0],
            )
    return access.reshape(2, -1), paid.reshape(2, -1)


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


def _by_settling(game: Lying, members: list[int], rng: np.random.Generator, evaluations: int, starts) -> float:
    """Random points, then ever smaller steps around the best few, then SciPy's Nelder-Mead."""
    low, high, truth = _box(game, members)

    def value(point: np.ndarray) -> float:
        rows = np.clip(point, low, high).reshape(len(members), -1)
        found = game.utilities(members, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])[members].sum()
        return float(found) if np.isfinite(found) else -np.inf

    points = [truth, *_drawn(low, high, truth, evaluations // 2, rng)]
    points += [np.append(start, truth[len(start) :]) for start in starts]
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
