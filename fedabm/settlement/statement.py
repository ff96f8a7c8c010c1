"""What is due: claims settled round by round, or all at once, by the rule that a study states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.kernel import check_balanced
from fedabm.settlement.bills import Bill, bill_of, periods
from fedabm.settlement.contract import Contract, read_contract
from fedabm.settlement.doubts import doubts_of
from fedabm.settlement.log import Log, read_log

__all__ = ["Statement", "settle", "settled"]


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
        Which of the study's mechanisms, or another one: its kind, a table, or the path of a recommendation's JSON
        beside the study; by default the one that `[settlement]` names.
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
        return doubts_of(self.contract, self.log)

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
        claimed = f"claims {claim:g} in round {log.rounds[place]} and has {has:g}"
        raise InputError(f"{log.source}: {contract.names[owner]} {claimed}; correct the log, or the study's data")
