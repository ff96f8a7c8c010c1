"""A deposit that is burnt when an update or a report is rejected."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.mechanisms.supervised import Supervised
from fedabm.views import Evidence, ServerView

__all__ = ["Deposit"]


@dataclass(frozen=True)
class Deposit(Supervised):
    """Everyone puts down a deposit in every round and gets it back unless its update or report had to be dropped.

        p_i = p_i(rule) - amount * [update or report of i rejected]

    Becker 1968, and staking on blockchains: an attack that is always rejected pays only if it brings its owner more
    than the amount.  Whoever sends what can be used loses nothing.  What is burnt goes to nobody: not balanced.

    Parameters
    ----------
    rule : Mechanism, optional
        The rule whose payments it adds to.
    amount : float, optional
        What everyone puts down in a round.
    """

    rule: Mechanism = field(default_factory=NoPayments)
    amount: float = field(default=0.1, metadata=within(1e-3, 10.0, log=True))
    needs = "nothing"
    reads_updates = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("deposit", self.amount, zero=True)

    def fines(self, view: ServerView, evidence: Evidence) -> Array:
        """The deposits of those who were rejected."""
        return np.where(evidence.rejected, self.amount, 0.0)
