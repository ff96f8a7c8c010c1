"""The frozen data that flows between owners, server and mechanism, and nothing else.

Everything holds one entry (row) per owner.  A strategy is written elementwise, so the same `act` serves a single owner
(one row) or a whole cohort of owners with equal strategies; it never sees a row that is not its own to decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.random import Streams
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.best import Best, best_response
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Rows
from fedabm.games.offers import Offers, nothing
from fedabm.games.sending import Tamper

Flags = NDArray[np.bool_]

__all__ = ["Action", "Experience", "Outcome", "OwnerView", "Payoff", "Reports", "ServerView", "Transfers"]

#: the server's account in every ledger and frame
SERVER = -1

#: what a decision can rest on, in the frames' column `information`
INFORMATION = {
    "repeated": "nothing: the owner did not act in this step",
    "rule": "a rule of its own; nothing it was told",
    "offer": "what the server announced: its own offer while the others' last reports stand",
    "experience": "what it did and measured in its last two steps, and the announced payment",
    "total": "its own accuracy and the announced total of all contributions",
}


@dataclass(frozen=True)
class Reports:
    """What owners tell the server: claimed contribution, claimed data size, claimed cost function, claimed eagerness.

    `cost` and `eagerness` are None unless the mechanism asks for them.
    """

    contribution: Array
    size: Array
    cost: Cost | None = None
    eagerness: Array | None = None

    def take(self, rows: Rows) -> Reports:
        """The reports of some owners."""
        cost = None if self.cost is None else self.cost.take(rows)
        eagerness = None if self.eagerness is None else self.eagerness[rows]
        return Reports(self.contribution[rows], self.size[rows], cost, eagerness)


@dataclass(frozen=True)
class Action:
    """What owners really do: true contribution, what they report, and whether they stay.

    `tamper` changes the owners' model updates (rows of a matrix) before they are sent, given the models they received;
    None leaves them alone.  `used` says for the frames which information the decision rests on (`INFORMATION`).
    """

    contribution: Array
    report: Reports
    stay: Flags
    tamper: Tamper | None = None
    used: str = "rule"


@dataclass(frozen=True)
class Experience:
    """What an owner remembers of a step: what it did, received, paid and gained (nan before there was a step)."""

    contribution: Array
    accuracy: Array
    payment: Array
    utility: Array

    def take(self, rows: Rows) -> Experience:
        """What some owners remember."""
        return Experience(self.contribution[rows], self.accuracy[rows], self.payment[rows], self.utility[rows])


@dataclass(frozen=True)
class Payoff:
    """An owner's utility as a function of its own contribution, by its own cost and the public offer.

    u_i(x) = received_i(x, s_-i) + p_i(x, s_-i) - c_i(x),      s_-i as last reported.
    """

    offers: Offers
    cost: Cost
    capacity: Array

    def value(self, contribution: Array) -> Array:
        """Utility if the owner contributed and reported this much."""
        return self.offers.benefit.value(contribution) - self.cost.value(contribution)

    def slope(self, contribution: Array) -> Array:
        """Its derivative."""
        return self.offers.benefit.slope(contribution) - self.cost.slope(contribution)

    def best(self) -> Best:
        """The best contribution in [0, capacity], over the whole range, with a certified bound."""
        return best_response(self.offers, self.cost, self.capacity)


@dataclass(frozen=True)
class OwnerView:
    """All that an owner (or a cohort, row by row) knows when it decides.

    `before` is the step before the last (None: nothing is known of it).  `told` says whether the protocol tells owners
    how the accuracy changes with their own contribution; if not, the payoff knows its present height only.  `total` is
    what all owners together said they contributed.
    """

    step: int
    capacity: Array
    cost: Cost
    last: Experience
    payoff: Payoff
    rng: Streams
    eagerness: Array | None = None
    before: Experience | None = None
    told: bool = True
    total: float = 0.0

    def report(self, contribution: Array) -> Reports:
        """The truthful report for a contribution."""
        return Reports(contribution, self.capacity, self.cost, self.eagerness)

    def truthful(self, contribution: Array, used: str = "rule") -> Action:
        """Contribute this much, say so, and stay; `used` is what the decision rests on."""
        return Action(contribution, self.report(contribution), np.ones(len(contribution), dtype=bool), used=used)


@dataclass(frozen=True)
class ServerView:
    """All that the server knows when it settles: reports, the accuracy oracle and the model updates."""

    step: int
    reports: Reports
    oracle: Accuracy
    updates: Any = None


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
        gets = payments[rows] > 0
        payer, payee = np.where(gets, SERVER, rows), np.where(gets, rows, SERVER)
        return cls(payer, payee, np.abs(payments[rows]), reason)

    def renumbered(self, rows: NDArray[np.intp]) -> Transfers:
        """The same transfers, with entry k of `rows` as the account of participant k."""
        book = np.append(rows, SERVER)
        return Transfers(book[self.payer], book[self.payee], self.amount, self.reason)


@dataclass(frozen=True)
class Outcome:
    """What the mechanism decided: who gets how good a model, who pays whom, who imports from whom.

    `access` in [0, 1] is the share of the full model's accuracy that an owner is handed; `payments` is money to each
    owner; `adjacency[i, j]` is how much of j's model goes into i's (None: everyone gets the one shared model).
    `exchange` is what the server sends back where everyone has a model of its own (`fedabm.learning.personal`).
    """

    access: Array
    payments: Array
    transfers: Transfers
    offers: Offers
    adjacency: Array | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    exchange: Any = None

    @classmethod
    def empty(cls) -> Outcome:
        """The outcome when everybody has left."""
        offers = Offers(nothing(0), nothing(0), nothing(0), np.empty((0, 0)), "concave")
        return cls(np.zeros(0), np.zeros(0), Transfers.central(np.zeros(0), ""), offers)
