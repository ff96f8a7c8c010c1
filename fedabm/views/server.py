"""What the server sees when it settles, and what it then decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags
from fedabm.games.offers import Offers, nothing
from fedabm.views.exchange import Exchange, Sent
from fedabm.views.known import Known
from fedabm.views.reports import Reports

__all__ = ["SERVER", "Evidence", "Outcome", "ServerView", "Transfers"]

#: the server's account in every ledger and frame
SERVER = -1


@dataclass(frozen=True)
class Evidence:
    """What the server saw for itself in a round, one entry per owner; nothing that is an owner's secret.

    Parameters
    ----------
    rejected : Flags
        Whose report or model update was unusable and dropped.
    accuracy : Array
        What the model that was really trained is worth, measured.
    """

    rejected: Flags
    accuracy: Array


@dataclass(frozen=True)
class ServerView:
    """All that the server knows when it settles: reports, the accuracy oracle and, where everyone has one, models.

    `evidence` is None where nothing was trained, such as in a game that is solved.  `known` says what kind of knowledge
    the oracle is, with its error and its scores (None in such a game).

    Parameters
    ----------
    step : int
        The number of the step.
    reports : Reports
        What owners have told the server.
    oracle : Accuracy
        The accuracy by which it settles.
    sent : Sent | None, optional
        Models to ask about, where owners have their own.
    evidence : Evidence | None, optional
        What it saw itself; None where nothing was trained.
    known : Known | None, optional
        What kind of knowledge the oracle is.
    """

    step: int
    reports: Reports
    oracle: Accuracy
    sent: Sent | None = None
    evidence: Evidence | None = None
    known: Known | None = None


@dataclass(frozen=True)
class Transfers:
    """Payments of one step, one entry each: who pays whom how much and why.  `SERVER` is the server's account.

    Parameters
    ----------
    payer : NDArray[np.intp]
        Who pays, by number; `SERVER` is the server.
    payee : NDArray[np.intp]
        Who receives.
    amount : Array
        How much, at least 0.
    reason : str
        Why, in a word.
    """

    payer: NDArray[np.intp]
    payee: NDArray[np.intp]
    amount: Array
    reason: str

    def __len__(self) -> int:
        return len(self.amount)

    @staticmethod
    def central(payments: Array, reason: str) -> Transfers:
        """Payments through the server's account: negative ones are paid to it, positive ones come from it."""
        return Central(payments.ravel(), reason)

    @classmethod
    def between(cls, paid: Array, reason: str) -> Transfers:
        """What owners (rows) paid other owners (columns); the server's account is not touched."""
        payer, payee = np.nonzero(paid)
        return cls(payer, payee, paid[payer, payee], reason)

    def renumbered(self, rows: NDArray[np.intp]) -> Transfers:
        """The same transfers, with entry k of `rows` as the account of participant k."""
        if not len(self):
            return self
        book = np.append(rows, SERVER)
        return Transfers(book[self.payer], book[self.payee], self.amount, self.reason)

    @property
    def valid(self) -> bool:
        """Whether all amounts are finite and none is negative."""
        return bool(np.all(self.amount >= 0) and np.all(np.isfinite(self.amount)))

    def balances(self, owners: int) -> Array:
        """What each of this many owners received less what it paid, and last the server."""
        accounts = np.zeros(owners + 1)
        np.add.at(accounts, self.payee, self.amount)
        np.subtract.at(accounts, self.payer, self.amount)
        return accounts


class Central(Transfers):
    """One payment from (or, if negative, to) the server for each of some accounts; None: for all owners in order.

    Entries of a list are made when somebody reads them: sums need none.
    """

    payments: Array
    accounts: NDArray[np.intp] | None

    def __init__(self, payments: Array, reason: str, accounts: NDArray[np.intp] | None = None) -> None:
        vars(self).update(payments=payments, reason=reason, accounts=accounts)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.payments))

    @cached_property
    def _entries(self) -> tuple[NDArray[np.intp], Array]:
        """Who is paid or pays, and how much."""
        rows = np.flatnonzero(self.payments)
        return rows if self.accounts is None else self.accounts[rows], self.payments[rows]

    @cached_property
    def payer(self) -> NDArray[np.intp]:
        """The server, or who pays it."""
        account, paid = self._entries
        return np.where(paid > 0, SERVER, account)

    @cached_property
    def payee(self) -> NDArray[np.intp]:
        """Whom the server pays, or itself."""
        account, paid = self._entries
        return np.where(paid > 0, account, SERVER)

    @cached_property
    def amount(self) -> Array:
        """How much."""
        return np.abs(self._entries[1])

    def renumbered(self, rows: NDArray[np.intp]) -> Transfers:
        return Central(self.payments, self.reason, rows if self.accounts is None else rows[self.accounts])

    @property
    def valid(self) -> bool:
        return bool(np.all(np.isfinite(self.payments)))

    def balances(self, owners: int) -> Array:
        balances = np.zeros(owners + 1)
        balances[slice(len(self.payments)) if self.accounts is None else self.accounts] += self.payments
        balances[-1] -= self.payments.sum()
        return balances


@dataclass(frozen=True)
class Outcome:
    """What the mechanism decided: who gets how good a model, who pays whom, who imports from whom.

    `access` in [0, 1] is the share of the full model's accuracy that an owner is handed; `payments` is money to each
    owner; `adjacency[i, j]` is how much of j's model goes into i's (None: everyone gets the one shared model).
    `exchange` is what the server sends back where everyone has a model of its own; `memory` is what the mechanism wants
    to find in its next reports.

    Parameters
    ----------
    access : Array
        The share of the full model's accuracy that each owner is handed, in [0, 1].
    payments : Array
        Money to each owner.
    transfers : Transfers
        The same as payments from payer to payee.
    offers : Offers
        The curves that owners faced.
    adjacency : Array | None, optional
        How much of j's model goes into i's; None: all share one model.
    exchange : Exchange | None, optional
        What is sent back, where owners have models of their own.
    memory : Any, optional
        What the mechanism finds in its next reports.
    """

    access: Array
    payments: Array
    transfers: Transfers
    offers: Offers
    adjacency: Array | None = None
    exchange: Exchange | None = None
    memory: Any = None

    @classmethod
    def empty(cls) -> Outcome:
        """The outcome when everybody has left."""
        offers = Offers(nothing(0), nothing(0), nothing(0), np.empty((0, 0)), "concave")
        return cls(np.zeros(0), np.zeros(0), Transfers.central(np.zeros(0), ""), offers)
