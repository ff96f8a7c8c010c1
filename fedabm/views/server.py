"""What the server sees when it settles, and what it then decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Flags
from fedabm.games.offers import Offers, nothing
from fedabm.views.exchange import Exchange, Sent
from fedabm.views.reports import Reports

__all__ = ["SERVER", "Evidence", "Outcome", "ServerView", "Transfers"]

#: the server's account in every ledger and frame
SERVER = -1


@dataclass(frozen=True)
class Evidence:
    """What the server saw for itself in a round, one entry per owner; nothing that is an owner's secret.

    rejected   whose report or model update was unusable and dropped
    accuracy   what the model that was really trained is worth, measured
    """

    rejected: Flags
    accuracy: Array


@dataclass(frozen=True)
class ServerView:
    """All that the server knows when it settles: reports, the accuracy oracle and, where everyone has one, models.

    `evidence` is None where nothing was trained, such as in a game that is solved.
    """

    step: int
    reports: Reports
    oracle: Accuracy
    sent: Sent | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Transfers:
    """Payments of one step, one entry each: who pays whom how much and why.  `SERVER` is the server's account."""

    payer: NDArray[np.intp]
    payee: NDArray[np.intp]
    amount: Array
    reason: str

    def __len__(self) -> int:
        return len(self.amount)

    @classmethod
    def central(cls, payments: Array, reason: str) -> Transfers:
        """Payments through the server's account: negative ones are paid to it, positive ones come from it."""
        rows = np.flatnonzero(payments)
        paid = payments.ravel()[rows]
        payer, payee = np.where(paid > 0, SERVER, rows), np.where(paid > 0, rows, SERVER)
        return cls(payer, payee, np.abs(paid), reason)

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


@dataclass(frozen=True)
class Outcome:
    """What the mechanism decided: who gets how good a model, who pays whom, who imports from whom.

    `access` in [0, 1] is the share of the full model's accuracy that an owner is handed; `payments` is money to each
    owner; `adjacency[i, j]` is how much of j's model goes into i's (None: everyone gets the one shared model).
    `exchange` is what the server sends back where everyone has a model of its own; `memory` is what the mechanism wants
    to find in its next reports.
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
