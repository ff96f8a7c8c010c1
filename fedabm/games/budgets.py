"""Owners who have a budget: what they do not spend on data is worth something, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fedabm.common.errors import InputError, check_positive, check_range
from fedabm.games.curves import Array
from fedabm.games.valuation import Deal, Valuation

__all__ = ["Budgeted", "CobbDouglas"]


class OfMoneyAndData(Protocol):
    """A utility u(b, S) of unspent money and of all data together."""

    def __call__(self, money: Array, total: Array) -> Array:
        """u(b_i, S), shaped like the money."""


@dataclass(frozen=True)
class CobbDouglas:
    """u(b, S) = b^(1 - weight) S^weight: concave, and growing in both.

    Parameters
    ----------
    weight : float, optional
        How much data count beside money, between 0 and 1.

    Examples
    --------
    >>> CobbDouglas(0.5)(np.array([4.0]), np.array([9.0]))
    array([6.])
    """

    weight: float = 0.5

    def __post_init__(self) -> None:
        check_range("weight of data", self.weight, 0.0, 1.0)

    def __call__(self, money: Array, total: Array) -> Array:
        """The weighted geometric mean."""
        return np.asarray(money ** (1.0 - self.weight) * total**self.weight)


@dataclass(frozen=True)
class Budgeted(Valuation):
    """An owner's utility of what is left of its budget, with what it is paid, and of all data together.

        u_i = u(b_i, S),      b_i = B_i + p_i - c_i(s_i),      S = sum_j s_j

    Murhekar et al. 2023, Section 4, in which Theorem 4.1 holds for any u that is concave and grows in both: cost
    sharing has equilibria that maximise every p-mean welfare.  Who spends more than it has, b_i < 0, has b_i itself as
    utility, which is less than anybody gets who does not; a capacity of B_i / c_i keeps it from doing so.  Money counts
    inside u, so that no part of the utility is a payment of its own: learners play it, `solve` and best responses to
    offers do not know of it.

    Parameters
    ----------
    budget : float | tuple of float, optional
        B_i, one for all or one per owner.
    worth : callable, optional
        u(b, S); by default the geometric mean of both.

    Examples
    --------
    >>> from fedabm.costs import Linear
    >>> given = Deal(np.ones(2), np.array([4.0, 0.0]), np.full(2, 9.0), Linear(1.0), np.zeros(2), np.arange(2))
    >>> Budgeted(9.0).utility(given, np.zeros(2), np.array([-1.0, 0.0]), np.array([4.0, 0.0]))
    array([4., 6.])
    """

    budget: float | tuple[float, ...] = 10.0
    worth: OfMoneyAndData = field(default_factory=CobbDouglas)

    def __post_init__(self) -> None:
        for one in np.atleast_1d(np.asarray(self.budget, dtype=float)).tolist():
            check_positive("budget", one, zero=True)
        if not callable(self.worth):
            raise InputError(f"utility of money and data must be a function of both, got {self.worth!r}")

    def gain(self, deal: Deal) -> Array:
        """What the data together are worth without any payment, before the own cost."""
        nothing, cost = np.zeros_like(deal.accuracy), self.cost(deal)
        return self.utility(deal, nothing, nothing, cost) + cost

    def cost(self, deal: Deal) -> Array:
        """c_i at the own contribution, out of the budget."""
        return deal.cost.value(deal.contribution)

    def utility(self, deal: Deal, gain: Array, payment: Array, cost: Array) -> Array:
        """u(b_i, S) of what is left and of all data."""
        left = np.asarray(self.budget) + payment - cost
        total = np.broadcast_to(deal.contribution.sum(axis=-1, keepdims=True), left.shape)
        return np.where(left < 0, left, self.worth(np.maximum(left, 0.0), total))
