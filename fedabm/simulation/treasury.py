"""What owners really pay: at the end of each stage, and never more than they have.

A mechanism says who owes whom how much in a step.  The server keeps these debts, nets them by pair, and settles them
every `every` steps (Murhekar et al. 2025, Appendix F, pays at the end of stages of W iterations).  Owners may have a
budget, which Doshi et al. 2025 leave to future work.  Then:

- whoever cannot pay all that it owes pays all that it has, the same share of each of its debts;
- the server passes on what it got, so that a balanced budget stays balanced: everybody who was to be paid by the
  server gets the same share of it;
- what is not paid is forgiven, and what an owner received it can spend from the next settlement on.

Nobody pays more than the rule demands or than it has, nobody receives more than the rule promised, and equal owners
are still treated equally: the loss is shared in proportion to what everybody would have received.  The frames show what
was owed, paid and left.  Owners decide on the payments that the rule announces, as if all could be paid; so do regrets
and the certified gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fedabm.common.state import FLAG, Many, Numbers, Stateful
from fedabm.games.curves import Array
from fedabm.simulation.saved import TRANSFERS
from fedabm.views import SERVER, Transfers

__all__ = ["Treasury", "net", "within_budgets"]


class Treasury(Stateful):
    """The owners' money, and the debts that are not settled yet."""

    _changing: ClassVar = {"money": Numbers(1, "f"), "plain": FLAG, "_open": Many(TRANSFERS)}
    _remade = frozenset({"every"})

    def __init__(self, money: Array, every: int = 1) -> None:
        self.every = every
        self._open: list[Transfers] = []
        self.hold(money)

    def hold(self, money: Array) -> None:
        """The money of all owners."""
        self.money = money
        #: whether everything is paid at once and in full
        self.plain = self.every == 1 and bool(np.all(np.isinf(money)))

    @property
    def waiting(self) -> bool:
        """Whether debts are waiting for the end of their stage."""
        return any(len(debts) for debts in self._open)

    def demand(self, step: int, transfers: Transfers, *, last: bool) -> Transfers:
        """What falls due in this step: at the end of a stage, and of the run, all that has been kept."""
        if self.plain:
            return transfers
        self._open.append(transfers)
        if step % self.every and not last:
            return Transfers.central(np.zeros(0), transfers.reason)
        debts, self._open = net(self._open), []
        return debts

    def pay(self, debts: Transfers) -> Transfers:
        """What is really paid, and booked on everybody's money."""
        if self.plain:
            return debts
        paid = within_budgets(debts, self.money)
        # Whoever pays all that it has keeps 0: debts that are shares of it may sum to a rounding error more.
        self.money = np.maximum(self.money + paid.balances(len(self.money))[:-1], 0.0)
        return paid


def net(parts: Sequence[Transfers]) -> Transfers:
    """Several lists of debts as one, with a single debt for each pair.

    >>> one = Transfers(np.array([0, 1]), np.array([1, -1]), np.array([3.0, 2.0]), "rule")
    >>> other = Transfers(np.array([1]), np.array([0]), np.array([5.0]), "rule")
    >>> netted = net([one, other])
    >>> netted.payer.tolist(), netted.payee.tolist(), netted.amount.tolist()
    ([1, 1], [-1, 0], [2.0, 2.0])
    """
    payer, payee, amount = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS)
    low, high = np.minimum(payer, payee), np.maximum(payer, payee)
    pairs, place = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    owed = np.bincount(place.ravel(), np.where(payer == low, amount, -amount), minlength=len(pairs))
    kept, forward = np.flatnonzero(owed), owed[np.flatnonzero(owed)] > 0
    low, high = pairs[kept, 0], pairs[kept, 1]
    reason = next((part.reason for part in parts if len(part)), parts[0].reason)
    return Transfers(np.where(forward, low, high), np.where(forward, high, low), np.abs(owed[kept]), reason)


def within_budgets(debts: Transfers, money: Array) -> Transfers:
    """Debts cut down to what the payers have; the server hands on no more than it got."""
    server = debts.payer == SERVER
    owed = np.bincount(debts.payer[~server], debts.amount[~server], minlength=len(money))
    share = np.divide(money, owed, out=np.ones_like(money), where=owed > money)
    amount = np.where(server, debts.amount, debts.amount * share[debts.payer])
    promised, income = debts.amount[server].sum(), debts.amount[debts.payee == SERVER].sum()
    if promised > 0:
        # The server never puts in more of its own than the rule would have had it put in.
        able = amount[debts.payee == SERVER].sum() + max(promised - income, 0.0)
        amount = np.where(server, amount * min(able / promised, 1.0), amount)
    return Transfers(debts.payer, debts.payee, amount, debts.reason)


_COLUMNS = ("payer", "payee", "amount")
