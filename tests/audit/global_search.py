"""The best lie of one owner, or of two together, by brute force: a search that imports nothing from the audit.

It settles as a server does and knows no theory.  Where a rule settles by its offers, what owners are handed for their
claims does not depend on what they really contribute, so that a table of all claims beside all contributions is one
operation on arrays: at least 20,000 entries for one owner and a million for two, of which ever smaller tables around
the best go on.  What is found that way is settled once; if that brings anything else, or if nothing is known of how a
rule settles, 20,000 lies are settled one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import minimize

from fedabm.games.costs import Cost, replaced
from fedabm.games.valuation import ReceivedAccuracy
from fedabm.kernel import Private, receive, settle
from fedabm.mechanisms import Deposit, Mechanism, ScorePayments, Verification
from fedabm.views import Evidence, Reports, ServerView, TermsCache

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
    cache: TermsCache = field(default_factory=TermsCache, repr=False)

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
        return Reports(said, size, asked, eager, np.arange(len(said)), cache=self.cache)

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
    points = np.ceil(np.sqrt(evaluations)).astype(int)
    return _best(game, [owner], rng, evaluations, Sizes(given=points, claims=points, finer=21))


def best_joint(game: Lying, members: Sequence[int], rng: np.random.Generator, evaluations: int = EVALUATIONS) -> float:
    """The most that two owners were found to have together."""
    return _best(game, list(members), rng, evaluations, Sizes(given=30, claims=40, finer=7))


@dataclass(frozen=True)
class Sizes:
    """Points along each axis of the first table and of those that are finer."""

    given: int
    claims: int
    finer: int


def _best(game: Lying, members: list[int], rng: np.random.Generator, evaluations: int, sizes: Sizes) -> float:
    if not _settles_by_offers(game.mechanism):
        return _by_settling(game, members, rng, evaluations)
    stated = len(members) > 1 and (game.sized or game.costed)
    found = _by_tables(game, members, rng, sizes, evaluations if stated else 0)
    settled = [_settled(game, members, point) for _, point in found]
    if any(abs(value - height) > 1e-7 * (1.0 + abs(height)) for value, (height, _) in zip(settled, found, strict=True)):
        return _by_settling(game, members, rng, evaluations)  # the offers depend on the own claim, too
    return max(settled)


def _settled(game: Lying, members: list[int], point: np.ndarray) -> float:
    rows = point.reshape(len(members), 4)
    return float(game.utilities(members, *rows.T)[members].sum())


def _settles_by_offers(mechanism: Mechanism) -> bool:
    """Whether what the rule settles is what it offers, less the fines of `_fines`; no score is known here."""
    if type(mechanism) in (Deposit, Verification):
        return _settles_by_offers(mechanism.rule)
    plain = type(mechanism).settle is Mechanism.settle and type(mechanism).forfeits is Mechanism.forfeits
    return plain or type(mechanism) is ScorePayments


def _fines(game: Lying, claimed: np.ndarray, worth: np.ndarray) -> np.ndarray | float:
    """What each owner is fined for claims (c, n), beside what models are really worth (g, n): (c, g).

    Deposits are burnt only where something was rejected, and nothing is here.
    """
    rule, fines = game.mechanism, 0.0
    while type(rule) in (Deposit, Verification):
        if type(rule) is Verification:
            promised = game.accuracy.public.values(claimed)
            for here, there in zip(promised.T, worth.T, strict=True):
                short = here[:, None] - there - rule.tolerance
                fines = fines + rule.fine * np.where(short > 1e-12 * np.abs(here[:, None]), short, 0.0)
        rule = rule.rule
    return fines


Found = tuple[float, np.ndarray]


def _by_tables(
    game: Lying, members: list[int], rng: np.random.Generator, sizes: Sizes, misstatements: int
) -> list[Found]:
    """The best entries of tables of claims and contributions, for the truth and misstatements of sizes and costs."""
    low, high, truth = (end.reshape(-1, 4) for end in _box(game, members))
    given = [
        np.append(_spread(0.0, most, sizes.given - 1, rng), mine)
        for most, mine in zip(high[:, 0], truth[:, 0], strict=True)
    ]
    found = []
    for place, said in enumerate(_statements(low, high, truth, rng, misstatements // 800)):
        claims = _claims(game, members, said, high, truth, sizes.claims if place == 0 else sizes.claims // 3, rng)
        found += _tops(game, members, given, claims, said, 3 if place == 0 else 1)
    found = sorted(found, key=lambda one: -one[0])[:3]
    if misstatements:
        found[0] = _restated(game, members, found[0], rng, misstatements // 500)
    return [_closing_in(game, members, one, sizes.finer) for one in found]


def _claims(game, members, said, high, truth, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Claims of each member that go with what it says; of one member alone also where its offers bend."""
    tops = np.minimum(high[:, 1], said[:, 2]) if game.sized else high[:, 1]
    axes = [
        np.append(_spread(0.0, top, count - 1, rng), min(row[1], top)) for top, row in zip(tops, truth, strict=True)
    ]
    if len(members) == 1:
        offers = game.mechanism.offers(game.accuracy.public, game.reports([], [], [], [])).take(members)
        kinks = offers.kinks[np.isfinite(offers.kinks)]
        axes[0] = np.clip(np.concatenate([axes[0], kinks, kinks * (1.0 + 1e-7)]), 0.0, tops[0])
    return axes


def _table(game: Lying, members: list[int], given, claims, said: np.ndarray):
    """The sum of the members' utilities (c, g) for all combinations of claims (c, m) and contributions (g, m)."""
    real, told = (np.array(list(product(*axes))) for axes in (given, claims))
    profiles, claimed = (np.repeat(game.profile[None], len(rows), axis=0) for rows in (real, told))
    profiles[:, members], claimed[:, members] = real, told
    worth = game.accuracy.values(profiles)
    spent = sum(game.costs.take([one]).value(real[None, :, place])[0] for place, one in enumerate(members))
    access, paid = _handed(game, members, claims, said)
    table = paid.sum(axis=0)[:, None] - spent - len(members) * _fines(game, claimed, worth)
    for share, one in zip(access, members, strict=True):
        table += share[:, None] * worth[:, one]
    return real, told, np.nan_to_num(table, nan=-np.inf)


def _tops(game: Lying, members: list[int], given, claims, said: np.ndarray, count: int) -> list[Found]:
    """The best entries of a table, of different claims."""
    real, told, table = _table(game, members, given, claims, said)
    best = table.max(axis=1)
    rows = np.argsort(-best, kind="stable")[: 1 if count == 1 else len(best) // 8 + 1 : max(len(best) // 24, 1)][:count]
    return [
        (float(best[row]), np.column_stack([real[table[row].argmax()], told[row], said[:, 2:]]).ravel()) for row in rows
    ]


def _restated(game: Lying, members: list[int], best: Found, rng: np.random.Generator, turns: int) -> Found:
    """Ever smaller steps from the best statement, each with the best of a small table."""
    low, high, _ = (end.reshape(-1, 4) for end in _box(game, members))
    width = 0.25 * (high - low)
    for _ in range(turns):
        point = best[1].reshape(-1, 4)
        step = np.where(rng.random(width[:, 2:].shape) < 0.5, rng.normal(size=width[:, 2:].shape) * width[:, 2:], 0.0)
        trial = point.copy()
        trial[:, 2:] = np.clip(point[:, 2:] + step, low[:, 2:], high[:, 2:])
        found = _finer(game, members, trial, width, 5)
        best, width = (found, width) if found[0] > best[0] else (best, 0.95 * width)
    return best


def _closing_in(game: Lying, members: list[int], best: Found, points: int, turns: int = 16) -> Found:
    """Ever smaller tables around an entry; a step that finds something better keeps its size."""
    low, high, _ = (end.reshape(-1, 4) for end in _box(game, members))
    width = (high - low) / points
    for _ in range(turns):
        found = _finer(game, members, best[1].reshape(-1, 4), width, points)
        width = width * (0.7 if found[0] > best[0] else 0.3)
        best = max(best, found, key=lambda one: one[0])
    return best


def _finer(game: Lying, members: list[int], point: np.ndarray, width: np.ndarray, points: int) -> Found:
    """The best entry of a small table around a point, in which owners may also claim what they give."""
    _, high, _ = (end.reshape(-1, 4) for end in _box(game, members))
    tops = np.minimum(high[:, 1], point[:, 2]) if game.sized else high[:, 1]
    away = np.linspace(-1.0, 1.0, points)
    given = [
        np.clip([*row[0] + far[0] * away, row[1]], 0.0, top)
        for row, far, top in zip(point, width, high[:, 0], strict=True)
    ]
    claims = [
        np.clip([*row[1] + far[1] * away, row[0]], 0.0, top) for row, far, top in zip(point, width, tops, strict=True)
    ]
    return _tops(game, members, given, claims, point, 1)[0]


def _spread(low: float, high: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points between two ends, evenly, at random and close to the lower end."""
    even, few = count - count // 2, count // 4
    small = (high - low) * np.geomspace(1e-6, 0.1, few)
    return low + np.concatenate([np.linspace(0, high - low, even), (high - low) * rng.random(count // 2 - few), small])


def _statements(low, high, truth, rng: np.random.Generator, count: int) -> Iterator[np.ndarray]:
    """The truth, and so many misstatements of sizes and costs."""
    yield truth
    for place in range(count):
        drawn = low + (high - low) * (rng.random(truth.shape) if place % 2 else rng.integers(0, 2, truth.shape))
        yield np.where(rng.random(truth.shape) < 0.25, truth, drawn)


def _handed(game: Lying, members: list[int], claims: Sequence[np.ndarray], said: np.ndarray):
    """Access and payment of each, (m, claims of all), as offered to each while the claims of the others stand."""
    shape = (len(members), *map(len, claims))
    access, paid = np.empty(shape), np.empty(shape)
    for mine, asked in enumerate(claims):
        others = [range(len(axis)) if place != mine else [0] for place, axis in enumerate(claims)]
        for places in product(*others):
            stated = np.array([axis[place] for axis, place in zip(claims, places, strict=True)])
            stated[mine] = min(said[mine, 1], asked.max())
            reports = game.reports(members, stated, said[:, 2], said[:, 3])
            offers = game.mechanism.offers(game.accuracy.public, reports).take([members[mine]])
            where = (mine, *(slice(None) if place == mine else at for place, at in enumerate(places)))
            access[where], paid[where] = offers.access(asked[None])[0], offers.payment.value(asked[None])[0]
    return access.reshape(len(members), -1), paid.reshape(len(members), -1)


def _by_settling(game: Lying, members: list[int], rng: np.random.Generator, evaluations: int) -> float:
    """Random points, then ever smaller steps around the best few, then SciPy's Nelder-Mead."""
    low, high, truth = _box(game, members)

    def value(point: np.ndarray) -> float:
        rows = np.clip(point, low, high).reshape(len(members), -1)
        found = game.utilities(members, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])[members].sum()
        return float(found) if np.isfinite(found) else -np.inf

    points = [truth, *_drawn(low, high, truth, evaluations // 2, rng)]
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
