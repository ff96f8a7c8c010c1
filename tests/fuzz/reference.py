"""What owners get by the papers' definitions, in plain code: nothing here knows of offers, curves or proofs.

A deviation is judged by settling the mechanism's formula anew at the changed profile.  Accuracies are the papers'
formulas at whole profiles, Shapley values are sums over all coalitions, individual optima are found on grids.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from fedabm.games.accuracy import (
    Accuracy,
    GroupWeighted,
    JointQuadratic,
    PacBound,
    PowerLaw,
    RandomCoverage,
    RandomDiscovery,
)
from fedabm.games.accuracy.base import Restricted
from fedabm.games.individual import individual_optimum
from fedabm.mechanisms import (
    BanzhafShare,
    Clarke,
    ContributionSubsidy,
    CostSharing,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
    TullockContest,
    ValueShaping,
)
from fedabm.mechanisms.value_shaping import TILT
from fedabm.views import Reports, ServerView

Array = np.ndarray

#: of more owners than this, coalitions are counted, not listed
MANY = 12

__all__ = ["Settled", "accuracies", "settled"]


@dataclass(frozen=True)
class Settled:
    """What one owner receives and is paid at k profiles, (k,) each, and how large the amounts behind it are."""

    received: Array
    payment: Array
    size: Array


def accuracies(accuracy: Accuracy, s: Array) -> Array:
    """a_i(s) of every owner at k profiles (k, n), by the formula of its paper."""
    total = s.sum(axis=1, keepdims=True)
    if isinstance(accuracy, Restricted):
        full = np.zeros((len(s), getattr(accuracy.full, "owners", None) or int(accuracy.rows.array.max()) + 1))
        full[:, accuracy.rows.array] = s
        return accuracies(accuracy.full, full)[:, accuracy.rows.array]
    if isinstance(accuracy, GroupWeighted):
        x = s @ accuracy.table[np.ix_(accuracy.members, accuracy.members)].T
        return _power_law(accuracy, x)
    if isinstance(accuracy, PowerLaw):
        return np.broadcast_to(_power_law(accuracy, total), s.shape)
    if isinstance(accuracy, PacBound):
        return np.broadcast_to(_pac_bound(accuracy, total), s.shape)
    if isinstance(accuracy, RandomDiscovery):
        return s @ (accuracy.table @ accuracy.table.T)
    if isinstance(accuracy, RandomCoverage):
        missed = np.prod((1.0 - accuracy.table[None]) ** s[:, :, None], axis=1)
        return 1.0 - 0.5 * missed @ accuracy.table.T
    if isinstance(accuracy, JointQuadratic):
        error, least = np.sum((np.array(accuracy.target) - accuracy.weights) ** 2), accuracy.least
        below = 1.0 - error / least + error / least**2 * (total - least)
        return np.broadcast_to(np.where(total < least, below, 1.0 - error / np.maximum(total, least)), s.shape)
    return accuracy.values(s)


def _power_law(law: PowerLaw, x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.maximum(0.0, law.ceiling - law.scale * (x + law.offset) ** -law.exponent)


def _pac_bound(bound: PacBound, m: Array) -> Array:
    k, enough = bound.complexity, np.maximum(m, bound.complexity)
    b = bound.ceiling - (4 + np.sqrt(2 * k * (2 + np.log(enough / k)))) / np.sqrt(enough)
    return np.where(m >= k, np.maximum(b, 0.0), 0.0)


def settled(mechanism: Mechanism, accuracy: Accuracy, reports: Reports, owner: int, x: Array) -> Settled:
    """What the owner gets if it contributes and reports each of x (k,), all other reports as they are."""
    s = np.repeat(reports.contribution[None].astype(float), len(x), axis=0)
    s[:, owner] = x
    full = accuracies(accuracy, s)[:, owner]
    zero = np.zeros(len(x))
    size = np.abs(full)
    n = s.shape[1]
    if isinstance(mechanism, NoPayments):
        return Settled(full, zero, size)
    if isinstance(mechanism, ContributionSubsidy):
        others = np.delete(s, owner, axis=1).mean(axis=1) if n > 1 else x
        return Settled(full, mechanism.rate * (x - others), size + mechanism.rate * np.abs(s).max(axis=1))
    if isinstance(mechanism, CostSharing):
        spent = np.array([reports.cost.value(row) for row in s])
        others = np.delete(spent, owner, axis=1).mean(axis=1) if n > 1 else spent[:, owner]
        return Settled(full, mechanism.share(reports) * (spent[:, owner] - others), size + spent.max(axis=1))
    if isinstance(mechanism, ShapleyShare | PartialReciprocity | BanzhafShare):
        return _shared(mechanism, accuracy, s, owner, full)
    if isinstance(mechanism, ProportionalData | ProportionalValue | ProportionalShapley):
        merits = _merits(mechanism, accuracy, s)
        best = merits.max(axis=1)
        ratio = np.clip(np.divide(merits[:, owner], best, out=np.ones(len(x)), where=best > 0), 0.0, 1.0)
        return Settled(np.minimum(full, ratio**mechanism.p * full), zero, size)
    if isinstance(mechanism, ValueShaping):
        return Settled(np.minimum(full, _ramp(mechanism, accuracy, reports, owner, x)), zero, size)
    if isinstance(mechanism, Screening):
        return Settled(_screened(mechanism, accuracy, reports, owner, x, full), zero, size)
    if isinstance(mechanism, Clarke | LeaveOneOut):
        # What an owner cannot change is left out: it is the same wherever it goes.
        others = np.delete(accuracies(accuracy, s), owner, axis=1).sum(axis=1)
        rate = mechanism.rate if isinstance(mechanism, LeaveOneOut) else 1.0
        return Settled(full, rate * others, size + np.abs(others))
    if isinstance(mechanism, TullockContest):
        tickets = s**mechanism.exponent
        drawn = tickets.sum(axis=1)
        won = np.divide(tickets[:, owner], drawn, out=np.full(len(x), 1.0 / n), where=drawn > 0)
        return Settled(full, mechanism.prize * (won - 1.0 / n), size + mechanism.prize)
    return _anew(mechanism, accuracy, reports, owner, x)


def _anew(mechanism: Mechanism, accuracy: Accuracy, reports: Reports, owner: int, x: Array) -> Settled:
    """By the mechanism's own settling of each changed profile."""
    received, payment, size = np.empty((3, len(x)))
    for k, mine in enumerate(x):
        claimed = reports.contribution.astype(float).copy()
        claimed[owner] = mine
        outcome = mechanism.settle(ServerView(1, replace(reports, contribution=claimed), accuracy))
        full = accuracies(accuracy, claimed[None])[0, owner]
        received[k], payment[k] = outcome.access[owner] * full, outcome.payments[owner]
        size[k] = np.abs(full) + np.abs(outcome.payments).max()
    return Settled(received, payment, size)


def _shared(mechanism: Mechanism, accuracy: Accuracy, s: Array, owner: int, full: Array) -> Settled:
    """The owner's value over all coalitions (or the orders drawn), less what it has of the model."""
    n = s.shape[1]
    nothing = accuracies(accuracy, np.zeros((1, n)))[0, owner]
    value, size = np.zeros(len(s)), np.abs(full)
    counted = n > MANY and getattr(mechanism, "method", "") != "monte_carlo"
    if counted:
        weights, totals = _totals(mechanism, np.delete(s[0], owner))
        without, joined = (
            n * accuracies(accuracy, (totals + mine).reshape(-1, 1)).reshape(-1, len(totals))
            for mine in (np.zeros((len(s), 1)), s[:, [owner]])
        )
        value, most = (joined - without) @ weights, (np.abs(joined) + np.abs(without)).max(axis=1)
        size = np.maximum(size, most)
    for weight, inside in () if counted else _coalitions(mechanism, n, owner):
        mask = np.isin(np.arange(n), inside)
        without = accuracies(accuracy, s * mask).sum(axis=1)
        mask[owner] = True
        joined = accuracies(accuracy, s * mask).sum(axis=1)
        value, size = value + weight * (joined - without), np.maximum(size, np.abs(joined) + np.abs(without))
    if isinstance(mechanism, ShapleyShare) and mechanism.printed:
        return Settled(full, value - full, size)
    rate = mechanism.r if isinstance(mechanism, PartialReciprocity) else 1.0
    return Settled(full, rate * (value + nothing - full), size)


def _totals(mechanism: Mechanism, others: Array) -> tuple[Array, Array]:
    """Weights and totals of all coalitions of many others who have few amounts, counted by number and total.

    For accuracies of the total alone.
    """
    counted, unit = {(0, 0): 1}, others.max() / 2**20 or 1.0
    for mine in np.rint(others / unit).astype(int).tolist():
        for (k, total), ways in list(counted.items()):
            counted[k + 1, total + mine] = counted.get((k + 1, total + mine), 0) + ways
    n = len(others) + 1
    even = isinstance(mechanism, BanzhafShare)
    weights = [ways * 0.5 ** (n - 1) if even else ways / (n * math.comb(n - 1, k)) for (k, _), ways in counted.items()]
    return np.array(weights), unit * np.array([total for _, total in counted], dtype=float)


def _coalitions(mechanism: Mechanism, n: int, owner: int) -> list[tuple[float, list[int]]]:
    others = [j for j in range(n) if j != owner]
    if getattr(mechanism, "method", "") == "monte_carlo":
        rng = np.random.default_rng(mechanism.seed)
        orders = rng.permuted(np.tile(np.arange(n), (mechanism.permutations, 1)), axis=1).tolist()
        return [(1.0 / len(orders), order[: order.index(owner)]) for order in orders]
    every = [list(some) for k in range(n) for some in itertools.combinations(others, k)]
    if isinstance(mechanism, BanzhafShare):
        return [(0.5 ** (n - 1), some) for some in every]
    factorial = math.factorial
    return [(factorial(len(some)) * factorial(n - len(some) - 1) / factorial(n), some) for some in every]


def _merits(mechanism: Mechanism, accuracy: Accuracy, s: Array) -> Array:
    n = s.shape[1]
    if isinstance(mechanism, ProportionalData):
        return s
    if isinstance(mechanism, ProportionalValue):
        alone = [accuracies(accuracy, s * (np.arange(n) == owner))[:, owner] for owner in range(n)]
        return np.column_stack(alone)
    worth = {}
    for k in range(n + 1):
        for some in itertools.combinations(range(n), k):
            worth[some] = accuracies(accuracy, s * np.isin(np.arange(n), some)).sum(axis=1)
    merits = np.zeros(s.shape)
    for owner in range(n):
        for weight, some in _coalitions(mechanism, n, owner):
            merits[:, owner] += weight * (worth[tuple(sorted([*some, owner]))] - worth[tuple(some)])
    return merits


def _alone(accuracy: Accuracy, n: int, owner: int, x: Array) -> Array:
    s = np.zeros((len(x), n))
    s[:, owner] = x
    return accuracies(accuracy, s)[:, owner]


def optimum_alone(accuracy: Accuracy, n: int, owner: int, unit: float, capacity: float) -> float:
    """The best contribution of an owner on its own, on grids that close in; 0 unless something else is better."""
    low, high = 0.0, capacity
    idle = float(_alone(accuracy, n, owner, np.zeros(1))[0])
    best = 0.0
    for turn in range(13):
        x = np.linspace(low, high, 501 if turn == 0 else 33)
        if turn == 0:
            x = np.union1d(x, capacity * np.logspace(-12, 0, 200))
        u = _alone(accuracy, n, owner, x) - unit * x
        top = int(np.argmax(u))
        best = float(x[top]) if u[top] > idle else 0.0
        low, high = float(x[max(top - 1, 0)]), float(x[min(top + 1, len(x) - 1)])
    return best


def _ramp(mechanism: ValueShaping, accuracy: Accuracy, reports: Reports, owner: int, x: Array) -> Array:
    """Karimireddy et al. 2022, eq. (11), before the cap."""
    n = len(reports.size)
    unit, size = float(reports.cost.unit(reports.contribution)[owner]), float(reports.size[owner])
    start = optimum_alone(accuracy, n, owner, unit, size)
    # At the top utilities are flat: of optima that are equally good to rounding the mechanism may choose any.
    chosen = float(individual_optimum(accuracy, reports.cost, reports.size)[0][owner])
    value, other = _alone(accuracy, n, owner, np.array([start, chosen])) - unit * np.array([start, chosen])
    start = chosen if other >= value - 1e-13 * (abs(value) + unit * start) else start
    line = _alone(accuracy, n, owner, np.array([start]))[0] + ((1 + TILT) * unit + mechanism.slack) * (x - start)
    return np.where(x < start, _alone(accuracy, n, owner, x), line)


def _screened(mechanism: Screening, accuracy: Accuracy, reports: Reports, owner: int, x: Array, full: Array) -> Array:
    """Karimireddy et al. 2022, eq. (15), capped at the full model; the menu is that of the changed profile."""
    n, starts, downs = len(reports.size), np.empty(len(x)), np.empty(len(x))
    # The own contribution should not matter; where it does between the ends, menus are made at every point.
    some = np.unique([0, len(x) - 1])
    starts[some], downs[some] = zip(
        *(_corners(mechanism, accuracy, reports, owner, mine) for mine in x[some]), strict=True
    )
    if np.ptp(starts[some]) == np.ptp(downs[some]) == 0:
        starts[:], downs[:] = starts[some[0]], downs[some[0]]
    else:
        starts[:], downs[:] = zip(*(_corners(mechanism, accuracy, reports, owner, mine) for mine in x), strict=True)
    s = np.repeat(reports.contribution[None].astype(float), len(x), axis=0)
    s[:, owner] = downs
    corner = accuracies(accuracy, s)[:, owner]
    steep, shallow = ((1 + TILT) * unit + mechanism.slack for unit in (mechanism.high, mechanism.low))
    first = _alone(accuracy, n, owner, np.minimum(x, starts)) + steep * np.maximum(x - starts, 0.0)
    return np.minimum(np.minimum(full, first), corner - shallow * (downs - x))


def _corners(
    mechanism: Screening, accuracy: Accuracy, reports: Reports, owner: int, mine: float
) -> tuple[float, float]:
    """Where the menu of an owner that contributes so much begins, and the corner meant for low cost."""
    claimed = reports.contribution.astype(float).copy()
    claimed[owner] = mine
    menu = mechanism.menu(accuracy, replace(reports, contribution=claimed))
    return float(menu.high_alone[owner]), float(menu.down[owner])
