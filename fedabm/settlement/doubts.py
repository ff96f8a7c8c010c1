"""Claims that are odd, and what each is worth to who made it, the other claims as they are settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fedabm.settlement.bills import bill_of, periods
from fedabm.settlement.contract import Contract
from fedabm.settlement.log import Log

__all__ = ["doubts_of"]

#: fewer other rounds than this are no custom that a claim could break
_LEAST_ROUNDS = 2


def doubts_of(contract: Contract, log: Log) -> list[dict[str, Any]]:
    """One entry per doubt: round, owner, what is odd, the claim, what it might be instead, and the difference in money.

    `worth` is what the owner is paid more for its claim than for the one instead, if it were paid for as it stands.
    """
    together = {row: rows for rows in periods(contract, log) for row in rows}
    found = []
    for row, owner, what, instead in _odd(contract, log):
        claim = float(log.claims[row, owner])
        worth = _paid(contract, log, together[row], (row, owner), claim) - _paid(
            contract, log, together[row], (row, owner), instead
        )
        found.append(
            {
                "round": log.rounds[row],
                "owner": contract.names[owner],
                "doubt": what,
                "claimed": None if np.isnan(claim) else claim,
                "instead": None if np.isnan(instead) else instead,
                "worth": worth,
            }
        )
    return found


def _odd(contract: Contract, log: Log) -> Iterator[tuple[int, int, str, float]]:
    """Row, owner, what is odd, and what the claim might be instead."""
    jump = contract.terms.jump
    for row in range(len(log.rounds)):
        for owner in range(len(contract.names)):
            claim, room = float(log.claims[row, owner]), float(contract.capacities[owner])
            others = np.delete(log.claims[:, owner], row)
            others = others[~np.isnan(others)]
            usual = float(np.median(others)) if len(others) >= _LEAST_ROUNDS else np.nan
            if np.isnan(claim):
                yield row, owner, "no row in this round", usual if not np.isnan(usual) else 0.0
                continue
            if log.rejected[row, owner]:
                yield row, owner, "update rejected, settled as a claim of 0", 0.0
                continue
            if claim > room * (1 + 1e-12):
                yield row, owner, f"more than the {room:g} it has", room
            if not np.isnan(usual) and _jumps(claim, usual, jump):
                yield row, owner, f"jumps from {usual:g}, its median in other rounds", usual


def _jumps(claim: float, usual: float, ratio: float) -> bool:
    return claim > ratio * usual or usual > ratio * claim if max(claim, usual) > 0 else False


def _paid(contract: Contract, log: Log, rows: list[int], cell: tuple[int, int], claim: float) -> float:
    """What the owner is paid for a claim as it stands: not capped, and not rejected."""
    claims, refused = log.claims.copy(), log.rejected.copy()
    # Others' claims are settled as the terms say; only the one in question is taken as it is.
    if contract.terms.beyond == "cap":
        claims = np.minimum(claims, contract.capacities)
    claims[cell], refused[cell] = claim, False
    free = replace(contract, terms=replace(contract.terms, beyond="pay"))
    bill = bill_of(free, replace(log, claims=claims, rejected=refused), rows)
    return float(np.nan_to_num(bill.payments[cell[1]]))
