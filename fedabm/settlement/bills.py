"""Rounds of a log settled into bills."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.costs import costs_of
from fedabm.games.curves import Array
from fedabm.kernel import settle_claims
from fedabm.settlement.contract import Contract
from fedabm.settlement.log import Log
from fedabm.views import Reports

__all__ = ["Bill", "bill_of", "periods"]


@dataclass(frozen=True)
class Bill:
    """One settlement: which rounds, what was claimed and settled, what is paid (n,); NaN for who was not there."""

    rounds: tuple[int, ...]
    claimed: Array
    settled: Array
    payments: Array


def periods(contract: Contract, log: Log) -> list[list[int]]:
    """Which rows of the log are billed together."""
    rows = list(range(len(log.rounds)))
    return [rows] if contract.terms.bill == "all steps" else [[row] for row in rows]


def bill_of(contract: Contract, log: Log, rows: list[int]) -> Bill:
    """Settle some rounds as one: claims are added, those of updates that were not used count as 0."""
    claims, refused = log.claims[rows], log.rejected[rows]
    there = np.atleast_1d(~np.isnan(claims).all(axis=0) | (contract.terms.absent != "out"))
    given = np.nan_to_num(claims)
    if contract.terms.beyond == "cap":
        given = np.minimum(given, contract.capacities)
    used = np.where(refused, 0.0, given).sum(axis=0)
    payments = np.full(len(contract.names), np.nan)
    who = np.flatnonzero(there)
    if len(who):
        reports = _reports(contract, log, rows, who, used)
        measured = None if log.measured is None else _mean(log.measured[rows], given)[who]
        outcome = settle_claims(
            contract.mechanism,
            contract.worth if len(who) == len(there) else contract.worth.restrict(who),
            log.rounds[rows[0]],
            reports,
            rejected=np.atleast_1d(refused[:, who].all(axis=0)),
            measured=measured,
        )
        payments[who] = outcome.payments
    claimed = np.where(np.isnan(claims).all(axis=0), np.nan, np.nansum(claims, axis=0))
    return Bill(tuple(log.rounds[row] for row in rows), claimed, used, payments)


def _reports(contract: Contract, log: Log, rows: list[int], who: np.ndarray, used: Array) -> Reports:
    """What the rule hears: claims, data of as many steps as are billed, and costs where it asks for them."""
    sizes = len(rows) * contract.capacities[who]
    if not contract.mechanism.asks_cost:
        return Reports(used[who], sizes)
    costs = []
    for owner in who.tolist():
        stated = contract.costs[owner]
        if log.cost is not None:
            column = log.cost[rows, owner]
            stated = float(np.nanmean(column)) if np.any(~np.isnan(column)) else stated
        if stated is None:
            rule, name = type(contract.mechanism).__name__, contract.names[owner]
            raise InputError(
                f"{rule} asks for costs, and that of {name} is stated neither in the study nor in {log.source}, round "
                f"{log.rounds[rows[0]]}; add a column cost, or a number to the study"
            )
        costs.append(stated)
    return Reports(used[who], sizes, costs_of(costs, len(costs)))


def _mean(table: Array, weights: Array) -> Array:
    """What was measured, averaged over the rounds of a bill by what was claimed in them."""
    known = np.where(np.isnan(table), 0.0, np.where(weights > 0, weights, 1e-300))
    if np.any(known.sum(axis=0) == 0.0):
        raise InputError("the log has a column measured that is empty for an owner; fill it in for all, or remove it")
    return (np.nan_to_num(table) * known).sum(axis=0) / known.sum(axis=0)
