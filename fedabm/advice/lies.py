"""What lies bring under a rule, for all owners of many draws in one table: a search, which audits of few rules certify.

The others tell the truth and stand still.  What cannot be verified may be misstated: claims of contributions up to
twice the capacity, whatever is really used, and costs from a quarter to four times the true ones.  A row of the table
is one lie of one owner, or of two, in one draw; models are worth what the data really used make of them, as in a run:

    u_i = access_i(reports) a_i(true contributions) + payment_i(reports) - c_i(true contribution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from fedabm.advice.consortium import Consortium
from fedabm.advice.judging import Outcomes
from fedabm.common.arrays import Array, Places
from fedabm.games.accuracy.many import CurveTable
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import Mechanism
from fedabm.views import Reports

__all__ = ["Liars", "best_lies_of", "best_pairs_of"]

#: claims as shares of the capacity, and factors of stated costs
_CLAIMS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
#: the same of two together
_FEW_CLAIMS, _FEW_FACTORS = (0.0, 1.0, 2.0), (0.25, 1.0, 4.0)
#: rows of a table at once
_ROWS = 4096


@dataclass(frozen=True)
class Liars:
    """The best lie that was found: what it brings in every draw, as a share of what owners have, who lies and how."""

    gains: Array
    owners: tuple[int, ...]
    words: str

    @property
    def worst(self) -> float:
        """The largest gain in all but one of twenty draws."""
        return float(np.quantile(self.gains, 0.95)) if len(self.gains) else np.nan


def best_lies_of(rule: Mechanism, outcomes: Outcomes, consortium: Consortium, verified: Sequence[str]) -> Liars:
    """The best lie of one owner, in each of the draws of these outcomes."""
    return _best(rule, outcomes, consortium, verified, [(one,) for one in range(consortium.owners)])


def best_pairs_of(rule: Mechanism, outcomes: Outcomes, consortium: Consortium, verified: Sequence[str]) -> Liars:
    """The best lie of two owners together, with money between them."""
    return _best(rule, outcomes, consortium, verified, list(combinations(range(consortium.owners), 2)))


def _best(
    rule: Mechanism, outcomes: Outcomes, consortium: Consortium, verified: Sequence[str], groups: list[tuple[int, ...]]
) -> Liars:
    good = np.flatnonzero(outcomes.certified)
    gains = np.zeros(len(good))
    best: tuple[float, tuple[int, ...], str] = (0.0, (0,), "nobody was found to gain by a lie")
    for place, row in enumerate(good.tolist()):
        draw = outcomes.draws[row]
        stage = _Draw.of(rule, consortium, draw, outcomes.contributions[row])
        stake = max(float(np.mean(np.abs(outcomes.utilities[row]))), 1e-9 * consortium.stakes[draw])
        for group in groups:
            gain, words = stage.best(group, verified)
            gains[place] = max(gains[place], gain / stake)
            if gain / stake > best[0] + 1e-9:
                names = " and ".join(consortium.names[one] for one in group)
                best = gain / stake, group, f"{names} {words}"
    return Liars(np.where(gains > 1e-7, gains, 0.0), best[1], best[2])


@dataclass(frozen=True, eq=False)
class _Draw:
    """One draw: the true facts, and the truthful profile."""

    rule: Mechanism
    game: Any
    profile: Array
    honest: Array

    @classmethod
    def of(cls, rule: Mechanism, consortium: Consortium, draw: int, profile: Array) -> _Draw:
        made = cls(rule, consortium.games[draw], profile, np.zeros(0))
        return cls(
            rule, made.game, profile, made.utilities(profile[None], profile[None], np.ones((1, len(profile))))[0]
        )

    def best(self, group: tuple[int, ...], verified: Sequence[str]) -> tuple[float, str]:
        """The most that a group gains, and by what."""
        used, claims, factors = self._lies(group, verified)
        if len(used) == 0:
            return 0.0, ""
        gains = np.full(len(used), -np.inf)
        for first in range(0, len(used), _ROWS):
            some = slice(first, first + _ROWS)
            utilities = self.utilities(used[some], claims[some], factors[some])
            gains[some] = (utilities - self.honest)[:, list(group)].sum(axis=1)
        top = int(np.argmax(gains))
        return max(float(gains[top]), 0.0), self._words(group, used[top], claims[top], factors[top])

    def utilities(self, used: Array, claims: Array, factors: Array) -> Array:
        """What rows of lies bring everybody, (rows, owners)."""
        count = len(used)
        table = CurveTable.of([self.game.accuracy] * count, used.shape[1])
        costs = self.game.costs.as_power()
        parts = zip(costs.columns, (factors, 1.0, factors), strict=True)
        stated = PowerCost(*(np.broadcast_to(part, used.shape) * by for part, by in parts))
        sizes = np.maximum(self.game.capacities, claims)
        reports = Reports(claims, sizes, stated if self.rule.asks_cost else None)
        if self.rule.tabled(self.game.accuracy, used.shape[1]):
            offers = self.rule.table_offers(table, reports)
            full = offers.accuracy.value(claims.ravel())
            access = offers.access(claims.ravel(), full).reshape(used.shape)
            paid = offers.payment.value(claims.ravel()).reshape(used.shape)
        else:
            access, paid = self._one_by_one(claims, sizes, stated)
        return access * table.values(used) + paid - self.game.costs.value(used.T).T

    def _one_by_one(self, claims: Array, sizes: Array, stated: PowerCost) -> tuple[Array, Array]:
        access, paid = np.empty(claims.shape), np.empty(claims.shape)
        for row, claim in enumerate(claims):
            cost = stated.take(row) if self.rule.asks_cost else None  # type: ignore[arg-type]
            offers = self.rule.offers(self.game.accuracy, Reports(claim, sizes[row], cost))
            access[row], paid[row] = offers.access(claim), offers.payment.value(claim)
        return access, paid

    def _lies(self, group: tuple[int, ...], verified: Sequence[str]) -> tuple[Array, Array, Array]:
        """Used and claimed contributions, and factors of stated costs, (lies, owners)."""
        free, alone = "contributions" not in verified, len(group) == 1
        asked = self.rule.asks_cost and "costs" not in verified
        shares = _CLAIMS if alone else _FEW_CLAIMS
        factors = (_FACTORS if alone else _FEW_FACTORS) if asked else (1.0,)
        options = []
        for one in group:
            top, here = float(self.game.capacities[one]), float(self.profile[one])
            used = sorted({here, 0.0, *((share * top for share in (0.25, 0.5, 1.0)) if alone else (top,))})
            said = [*(share * top for share in shares), here] if free else [np.nan]
            options.append(list(product(used, said, factors)))
        lies = list(product(*options))
        tables = [np.repeat(self.profile[None], len(lies), axis=0) for _ in range(2)]
        stated = np.ones((len(lies), len(self.profile)))
        columns = np.array(lies, dtype=float)
        for place, one in enumerate(group):
            tables[0][:, one] = columns[:, place, 0]
            tables[1][:, one] = np.where(np.isnan(columns[:, place, 1]), columns[:, place, 0], columns[:, place, 1])
            stated[:, one] = columns[:, place, 2]
        if not free and not asked:
            keep: Places = np.zeros(0, dtype=np.intp)  # nothing can be misstated
            return tables[0][keep], tables[1][keep], stated[keep]
        return tables[0], tables[1], stated

    def _words(self, group: tuple[int, ...], used: Array, claims: Array, factors: Array) -> str:
        said = []
        for one in group:
            words = f"use{'s' if len(group) == 1 else ''} {used[one]:.4g}"
            words += f", claim {claims[one]:.4g}" if abs(claims[one] - used[one]) > 1e-9 else ""
            words += f", state {factors[one]:g} times the cost" if factors[one] != 1 else ""
            said.append(words)
        return "; ".join(said)
