"""What thousands of deviations are worth, at once.

A rule says what owner i is offered as a function of its own claim while the others' reports stand.  So all lies of one
owner that state the same size, cost and eagerness are points on one and the same curve: the rule is asked once for each
such statement, not once for each lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.auditing.deviations import Deviation, Lies, with_deviations
from fedabm.auditing.stage import Stage
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.supervised import Supervised
from fedabm.views import Reports

__all__ = ["ClaimedReturn", "deals", "on_curves", "one_by_one", "own_row", "reads", "utilities", "without_fines"]

#: what can be stated beside the claim, in the order of the columns of `Lies`
_STATED = ("size", "cost", "fixed", "eagerness")


@dataclass(frozen=True)
class ClaimedReturn:
    """What an owner is handed for its claims: the share of the full model, and money, (k,) each."""

    access: Array
    payment: Array


def utilities(stage: Stage, owner: int, lies: Lies) -> Array:
    """What each lie of an owner brings it, (k,), while all others tell the truth and stay where they are."""
    if not on_curves(stage):
        return one_by_one(stage, owner, lies)
    deal = deals(stage, owner, lies)
    worth = stage.accuracy.curves(stage.profile).take([owner]).value(lies.contribution[None])[0]
    spent = stage.costs.take([owner]).value(lies.contribution[None])[0]
    return deal.access * worth + deal.payment - spent


def one_by_one(stage: Stage, owner: int, lies: Lies) -> Array:
    """The same by settling once for each lie: for rules that settle in a way of their own."""
    plays = (with_deviations(stage, [owner], [lies.one(place)]) for place in range(len(lies)))
    return np.array([stage.settle(play).utility[owner] for play in plays])


def on_curves(stage: Stage) -> bool:
    """Whether settling is evaluating the offers at the claims, and nothing else."""
    return stage.plays_a_game and _plain(stage.mechanism)


def _plain(rule: Mechanism) -> bool:
    return type(rule).settle is Mechanism.settle and type(rule).forfeits is Mechanism.forfeits


def without_fines(stage: Stage) -> Stage | None:
    """The stage of the rule beneath fines, which are never negative, if that settles by its offers; else None.

    What a lie brings there is the most that it can bring here.
    """
    rule = stage.mechanism
    while isinstance(rule, Supervised):
        rule = rule.rule
    return (
        replace(stage, mechanism=rule) if stage.plays_a_game and rule is not stage.mechanism and _plain(rule) else None
    )


def deals(stage: Stage, owner: int, lies: Lies) -> ClaimedReturn:
    """What each lie makes the server hand over."""
    access, payment = np.empty(len(lies)), np.empty(len(lies))
    for statement, rows in _statements(stage, lies):
        deal = at_claims(statement_offers(stage, owner, statement), lies.claim[rows])
        access[rows], payment[rows] = deal.access, deal.payment
    return ClaimedReturn(access, payment)


def statement_offers(stage: Stage, owner: int, statement: Deviation) -> Offers:
    """What an owner is offered if it states this size, cost and eagerness, as one row."""
    honest = replace(statement, contribution=stage.profile[owner], claim=stage.profile[owner])
    reports = stage.heard(with_deviations(stage, [owner], [honest]).reports)
    return own_row(stage.mechanism.offers(stage.accuracy.public, reports), owner)


def own_row(offers: Offers, owner: int) -> Offers:
    """What one owner is offered; that it is handed the full model can still be seen."""
    row = offers.take([owner])
    return replace(row, received=row.accuracy) if offers.received is offers.accuracy else row


def at_claims(offers: Offers, claims: Array) -> ClaimedReturn:
    """The offers of one owner at its claims: as `Mechanism.settle` evaluates them."""
    x = claims[None]
    return ClaimedReturn(offers.access(x)[0], offers.payment.value(x)[0])


def _statements(stage: Stage, lies: Lies) -> Iterator[tuple[Deviation, NDArray[np.intp]]]:
    """Each different statement, and whose rows it is; what the rule does not read makes no difference."""
    seen = reads(stage)
    matters = [name for name in _STATED if name in seen]
    if not matters:
        yield lies.one(0), np.arange(len(lies))
        return
    table = np.column_stack([getattr(lies, name) for name in matters])
    _, first, which = np.unique(table, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.searchsorted(which.ravel()[order], np.arange(len(first) + 1))
    for number, place in enumerate(first):
        yield lies.one(int(place)), order[ends[number] : ends[number + 1]]


@lru_cache(maxsize=64)
def reads(stage: Stage) -> frozenset[str]:
    """What the rule looks at in the reports of this stage, by watching it: what it never reads changes nothing."""
    watched = WatchedReports.of(stage.heard(stage.truth.reports))
    offers = stage.mechanism.offers(stage.accuracy.public, watched)
    points = np.column_stack([stage.profile, stage.capacities, 0.5 * stage.capacities])
    for curve in (offers.accuracy, offers.received, offers.payment):
        curve.value(points)
    seen = {name for name in ("size", "cost", "eagerness") if name in watched.read and _says(watched, name)}
    if stage.mechanism.ignores_size:
        seen.discard("size")
    figures = stage.costs.figures()
    if "cost" in seen and figures.shape[1] > 1 and _has_fixed(stage):
        seen.add("fixed")
    return frozenset(seen)


def _has_fixed(stage: Stage) -> bool:
    fixed = getattr(stage.costs, "fixed", None)
    return fixed is not None and bool(np.any(np.asarray(fixed) > 0))


def _says(reports: Reports, name: str) -> bool:
    return object.__getattribute__(reports, name) is not None


@dataclass(frozen=True)
class WatchedReports(Reports):
    """Reports that note which of their columns somebody looks at."""

    @classmethod
    def of(cls, reports: Reports) -> WatchedReports:
        """The same reports, watched from now on."""
        watched = cls(*(getattr(reports, field.name) for field in fields(Reports)))
        object.__setattr__(watched, "read", set())
        return watched

    def __getattribute__(self, name: str) -> Any:
        seen = object.__getattribute__(self, "__dict__").get("read")
        if seen is not None:
            seen.add(name)
        return object.__getattribute__(self, name)
