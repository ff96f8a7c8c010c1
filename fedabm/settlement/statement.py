"""What is due: claims settled round by round, or all at once, by the rule that a study states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.games.costs import costs_of
from fedabm.games.curves import Array
from fedabm.kernel import check_balanced, settle_claims
from fedabm.settlement.contract import Contract, read_contract
from fedabm.settlement.log import Log, read_log
from fedabm.views import Reports

__all__ = ["Bill", "Statement", "bill_of", "periods", "settle", "settled"]


def settle(study: Any, log: Any, mechanism: str | None = None, experiment: str | None = None) -> Statement:
    """Who owes whom how much, by the rule of a study and a log of what happened.

    Parameters
    ----------
    study : path or Contract
        A game or study in TOML, with a table `[settlement]` where the log has several rounds.
    log : path or data frame
        Columns round, owner and samples, and optionally cost, rejected and measured; or a folder of frames, or
        "mlflow:ADDRESS".
    mechanism : str, optional
        Which of the study's mechanisms; by default the one that `[settlement]` names.
    experiment : str, optional
        The experiment of MLflow.

    Returns
    -------
    Statement
        Payments by owner and round, transfers, doubts.
    """
    contract = study if isinstance(study, Contract) else read_contract(Path(study), mechanism)
    return settled(contract, read_log(log, contract.names, experiment))


@dataclass(frozen=True)
class Bill:
    """One settlement: which rounds, what was claimed and settled, what is paid (n,); NaN for who was not there."""

    rounds: tuple[int, ...]
    claimed: Array
    settled: Array
    payments: Array


@dataclass(frozen=True)
class Statement:
    """Bills by round, of a contract and a log; positive payments are received.

    Parameters
    ----------
    contract : Contract
        Owners, costs, accuracy and rule.
    log : Log
        Who claimed what, round by round.
    bills : tuple[Bill, ...]
        One bill per round that was settled.
    """

    contract: Contract
    log: Log
    bills: tuple[Bill, ...]

    @property
    def payments(self) -> Array:
        """Payments (bills, owners); 0 for who was not there."""
        return np.array([np.nan_to_num(one.payments) for one in self.bills])

    @property
    def totals(self) -> Array:
        """What each owner is paid in all."""
        return self.payments.sum(axis=0)

    @property
    def outside(self) -> float:
        """Money that comes from outside the owners (negative: it goes there); 0 where the rule is balanced."""
        left = float(self.totals.sum())
        return 0.0 if abs(left) <= 1e-9 * max(float(np.abs(self.totals).sum()), 1e-3) else left

    @property
    def balanced(self) -> bool:
        """Whether the rule promises that payments sum to zero."""
        return bool(self.contract.mechanism.budget_balanced)

    @cached_property
    def doubts(self) -> list[dict[str, Any]]:
        """Claims that are odd, with what each is worth to its owner."""
        from fedabm.settlement.doubts import doubts_of

        return doubts_of(self)

    def frame(self) -> pd.DataFrame:
        """One row per bill and owner: what was claimed, what was settled, what it is paid."""
        rows = [
            {"round": _span(bill.rounds), "owner": name, "claimed": claim, "settled": used, "payment": paid}
            for bill in self.bills
            for name, claim, used, paid in zip(
                self.contract.names, bill.claimed, bill.settled, bill.payments, strict=True
            )
            if not np.isnan(paid)
        ]
        return pd.DataFrame(rows, columns=["round", "owner", "claimed", "settled", "payment"])

    def transfers(self) -> pd.DataFrame:
        """Who owes whom: the fewest payments that a simple netting finds; "outside" stands for money from outside."""
        names = [*self.contract.names, "outside"]
        left = np.append(self.totals, -self.outside)
        rows, dust = [], 1e-12 * max(float(np.abs(left).sum()), 1.0)
        while len(left) and left.max() > dust and left.min() < -dust:
            payee, payer = int(np.argmax(left)), int(np.argmin(left))
            amount = float(min(left[payee], -left[payer]))
            rows.append({"payer": names[payer], "payee": names[payee], "amount": amount})
            left[payee] -= amount
            left[payer] += amount
        return pd.DataFrame(rows, columns=["payer", "payee", "amount"])


def settled(contract: Contract, log: Log) -> Statement:
    """The statement of a contract and a log that are read."""
    terms = contract.terms
    if len(log.rounds) > 1 and terms.bill is None:
        raise InputError(
            f"{log.source} has {len(log.rounds)} rounds and the study does not say how they are billed, which changes "
            'amounts; add [settlement] with bill = "each step" or bill = "all steps"'
        )
    _check_complete(contract, log)
    made = Statement(contract, log, tuple(bill_of(contract, log, rows) for rows in periods(contract, log)))
    if made.balanced:
        check_balanced(type(contract.mechanism).__name__, made.totals, contract.worth)
    return made


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


def _span(rounds: tuple[int, ...]) -> str:
    return str(rounds[0]) if len(rounds) == 1 else f"{rounds[0]}-{rounds[-1]}"


def _check_complete(contract: Contract, log: Log) -> None:
    """Raise where somebody has no row, or claims more than it has, and the study does not say what that means."""
    terms, missing = contract.terms, np.isnan(log.claims)
    if terms.absent == "error" and np.any(missing):
        place, owner = np.argwhere(missing)[0]
        raise InputError(
            f"{log.source} has no row of {contract.names[owner]} in round {log.rounds[place]}; add it, or say in "
            '[settlement] absent = "zero" or "out"'
        )
    above = log.claims > contract.capacities * (1 + 1e-12)
    if terms.beyond == "error" and np.any(above):
        place, owner = np.argwhere(above)[0]
        claim, has = log.claims[place, owner], contract.capacities[owner]
        told = f"claims {claim:g} in round {log.rounds[place]} and has {has:g}"
        raise InputError(f"{log.source}: {contract.names[owner]} {told}; correct the log, or the study's data")
