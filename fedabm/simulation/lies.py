"""Lies on the way to the market, as functions on reports: misreporting, alone or together, and entering twice.

Only over-stating one's cost never pays (iPFL 2025, Theorem 2).  Under-stating it can, by crowding out a cheaper seller;
so can under-stating eagerness, which lowers what one pays, and inflating the size, which raises what one is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_positive, check_range
from fedabm.games.curves import Array, Rows
from fedabm.mechanisms.market.reports import eagerness_of, market_reports, unit_costs_of
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Liar
from fedabm.views import Reports

__all__ = ["Sybil", "misreport"]


def misreport(
    truth: Reports, owners: Sequence[int] | Rows, *, size: float = 1.0, cost: float = 1.0, eagerness: float = 1.0
) -> Reports:
    """What the server hears if `owners` multiply their size, cost and eagerness by these factors.

    One owner is a liar; several are colluding, to be judged by `fedabm.mechanisms.market.welfare.pooled`.

    >>> unit_costs_of(misreport(market_reports([100.0, 50.0], 1.0, 10.0), [1], cost=5.0))
    array([1., 5.])

    Parameters
    ----------
    truth : Reports
        What is true.
    owners : Sequence[int] | Rows
        Who lies.
    size : float, optional
        Factor of the stated data size.
    cost : float, optional
        Factor of the stated cost.
    eagerness : float, optional
        Factor of the stated eagerness.

    Returns
    -------
    Reports
        What the server hears.
    """
    check_positive("factors of a lie", [size, cost, eagerness], zero=True)
    factors = np.ones((3, len(truth.size)))
    factors[:, np.asarray(owners, dtype=int)] = np.array([[size], [cost], [eagerness]])
    costs = np.multiply(factors[1], unit_costs_of(truth), where=factors[1] > 0, out=np.zeros(len(truth.size)))
    return market_reports(factors[0] * truth.size, costs, factors[2] * eagerness_of(truth))


@dataclass(frozen=True)
class Sybil:
    """One owner enters the market `accounts` times; each account claims `share` of its data.

    Shares that sum to more than one claim the same data more than once.  The accounts' models are `apart` from each
    other, and as far from the other owners' as the owner's own.

    Parameters
    ----------
    owner : int
        Who enters several times.
    accounts : int, optional
        How many times.
    share : float, optional
        Which part of its data each account claims.
    apart : float, optional
        How different its accounts' models are.
    """

    owner: int
    accounts: int = 2
    share: float = 0.5
    apart: float = 0.0

    def __post_init__(self) -> None:
        if self.accounts < 1:
            raise InputError(f"a Sybil needs at least one account, got {self.accounts}; give for instance 2")
        check_positive("share", self.share)
        check_range("apart", self.apart, 0.0, 2.0)

    def persons(self, owners: int) -> NDArray[np.intp]:
        """Who is behind each participant: the owners, then the extra accounts."""
        return np.append(np.arange(owners), np.full(self.accounts - 1, self.owner))

    def accounts_of(self, people: Sequence[OwnerProfile]) -> list[OwnerProfile]:
        """The owners of a federation with the accounts side by side where the one owner was; they are one person.

        Each account has an equal part of the data (`fedabm.data.federated.split_owner` divides them alike) and
        claims what `share` says of the whole.
        """
        one = people[self.owner]
        if one.capacity < self.accounts:
            raise InputError(
                f"owner {self.owner} has {one.capacity:g} samples for {self.accounts} accounts; choose one with more"
            )
        parts = np.diff(np.linspace(0, one.capacity, self.accounts + 1).astype(int)).astype(float)
        stated = self.share * one.capacity / parts
        own = [
            replace(
                one, capacity=part, strategy=one.strategy if factor == 1 else Liar(one.strategy, size_factor=factor)
            )
            for part, factor in zip(parts.tolist(), stated.tolist(), strict=True)
        ]
        own = [replace(account, start=min(account.start, account.capacity), person=self.owner) for account in own]
        return [*people[: self.owner], *own, *people[self.owner + 1 :]]

    def enter(self, reports: Reports, distances: Array) -> tuple[Reports, Array]:
        """The market with the extra accounts; they copy the owner's cost and eagerness."""
        persons = self.persons(len(reports.size))
        mine = persons == self.owner
        stated = reports.take(persons)
        size = np.where(mine, self.share * stated.size, stated.size)
        twins = np.logical_and.outer(mine, mine) & ~np.eye(len(mine), dtype=bool)
        apart = np.where(twins, self.apart, distances[np.ix_(persons, persons)])
        return replace(stated, contribution=size, size=size), apart
