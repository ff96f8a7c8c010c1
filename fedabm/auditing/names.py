"""Entering under several names, and several owners entering under one.

A person has one use for a model, so of the models handed to its names only the best counts; its data cost it once,
however many names claim a part of them; and it gets all the money that its names get.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedabm.auditing.search import NOTHING, SearchEffort
from fedabm.auditing.stage import Stage, StagePlay
from fedabm.common.texts import readable
from fedabm.games.costs import PowerCost, replaced
from fedabm.games.curves import Array
from fedabm.games.valuation import ReceivedAccuracy
from fedabm.kernel import Receipt
from fedabm.views import Reports

__all__ = ["best_merger", "best_split", "can_merge", "can_split", "person_utility", "split_play"]

#: what part of the data the first of two names has; an empty name costs nothing
_SHARES = (0.0, 0.1, 0.25, 0.5)
#: contributions that are tried, as multiples of the truth, beside shares of the capacity
_TRUE, _OF_ALL = (0.0, 0.5, 1.0, 1.5, 2.0), (0.25, 0.5, 1.0)


def can_split(stage: Stage) -> bool:
    """Whether the accuracies know what two owners with the same kind of data are worth."""
    if not isinstance(stage.valuation, ReceivedAccuracy):
        return stage.mechanism.asks_cost
    twice = stage.accuracy.restrict(np.array([0, *range(stage.owners)]))
    return not twice.traits.padded


def can_merge(stage: Stage) -> bool:
    """Whether only the total of all data matters, so that it does not matter who brings them."""
    linear = not stage.mechanism.asks_cost or stage.costs.linear
    return isinstance(stage.valuation, ReceivedAccuracy) and stage.accuracy.traits.of_total and linear


def split_play(stage: Stage, owner: int, contribution: float, parts: Array) -> StagePlay:
    """One owner enters once for each part, with that part of its data and contribution; all tell the truth."""
    truth = stage.truth
    order = np.concatenate([np.arange(stage.owners), np.full(len(parts) - 1, owner)]).astype(np.intp)
    mine = np.flatnonzero(order == owner)
    given, size = stage.profile[order], stage.capacities[order]
    given[mine], size[mine] = contribution * parts, np.maximum(stage.capacities[owner] * parts, 1e-12)
    reports = Reports(given, size, stage.costs.take(order), stage.eagerness[order])
    return replace(truth, owner=order, contribution=given, reports=reports)


def person_utility(stage: Stage, owner: int, play: StagePlay, settled: Receipt) -> float:
    """What the person behind some names has."""
    mine = np.flatnonzero(play.owner == owner)
    if not isinstance(stage.valuation, ReceivedAccuracy):
        return float(settled.utility[mine].sum())
    spent = stage.costs.take([owner]).value(play.contribution[mine].sum(keepdims=True))[0]
    return float(settled.accuracy[mine].max() + settled.payment[mine].sum() - spent)


def best_split(stage: Stage, owner: int, names: int, effort: SearchEffort) -> tuple[float, float, str]:
    """The best gain over honesty under one name, what the others lose by it, and how it is done."""
    capacity, here = float(stage.capacities[owner]), float(stage.profile[owner])
    totals = [factor * here for factor in _TRUE] + [share * capacity for share in _OF_ALL]
    if not stage.plays_a_game:
        totals = [capacity]
    best = -np.inf
    words = ""
    loss = 0.0
    for total in sorted({min(total, capacity) for total in totals}):
        for share in _SHARES:
            parts = np.append(np.full(names - 1, share / (names - 1)), 1.0 - share)
            play = split_play(stage, owner, total, parts)
            settled = stage.settle(play)
            value = person_utility(stage, owner, play, settled)
            if value > best:
                best, loss = value, _others_lose(stage, owner, play, settled)
                words = f"{stage.who(owner)} enters under {names} names with {_listed(total * parts)} of data"
    honest = float(stage.honest.utility[owner]) if stage.plays_a_game else float(stage.settled.utility[owner])
    gain = max(best - honest, 0.0)
    return (gain, loss, words) if gain > NOTHING else (0.0, 0.0, f"{stage.who(owner)} keeps one name")


def best_merger(stage: Stage, first: int, second: int) -> tuple[float, float, str]:
    """What two owners gain together under one name at unchanged contributions, what the others lose, and who it is."""
    rest = np.delete(np.arange(stage.owners), second)
    place = int(np.flatnonzero(rest == first)[0])
    given, size = stage.profile[rest].copy(), stage.capacities[rest].copy()
    both = stage.profile[[first, second]]
    given[place], size[place] = both.sum(), stage.capacities[[first, second]].sum()
    cost = stage.costs.take(rest)
    if stage.mechanism.asks_cost:
        cost = replaced(cost, np.array([place]), _blended(stage, np.array([first, second])))
    reports = Reports(given, size, cost, stage.eagerness[rest])
    oracle = stage.oracle(rest)
    outcome = stage.outcome(StagePlay(rest, given, reports), oracle)
    model = float(oracle.values(given[None])[0][place])
    spent = stage.costs.value(stage.profile)
    together = 2.0 * outcome.access[place] * model + outcome.payments[place] - spent[[first, second]].sum()
    apart = stage.settled.utility[[first, second]].sum()
    others = np.delete(np.arange(len(rest)), place)
    left = outcome.access[others] * oracle.values(given[None])[0][others] + outcome.payments[others]
    loss = float(stage.settled.utility[rest[others]].sum() - (left - spent[rest[others]]).sum())
    gain = max(float(together - apart), 0.0)
    words = f"{stage.who(first, second)} enter under one name"
    return (gain, loss, words) if gain > NOTHING else (0.0, 0.0, f"{stage.who(first, second)} keep their names")


def _blended(stage: Stage, rows: NDArray[np.intp]) -> PowerCost:
    """The linear cost of what some owners contribute together."""
    own, given = stage.costs.take(rows), stage.profile[rows]
    rates, fixed = own.unit(given), own.value(np.zeros(len(rows)))
    weights = given / given.sum() if given.sum() > 0 else np.full(len(rows), 1.0 / len(rows))
    return PowerCost(np.array([float(rates @ weights)]), np.ones(1), np.array([float(fixed.sum())]))


def _others_lose(stage: Stage, owner: int, play: StagePlay, settled: Receipt) -> float:
    others = play.owner != owner
    return float(stage.settled.utility[play.owner[others]].sum() - settled.utility[others].sum())


def _listed(numbers: Array) -> str:
    return ", ".join(readable(number, 3) for number in numbers)
