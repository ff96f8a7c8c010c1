"""Owners whose costs also depend on what the others contribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_range
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.curves import Array
from fedabm.games.valuation import Deal, Valuation

__all__ = ["CostSpillover"]

_MOST = 1e6


@dataclass(frozen=True)
class CostSpillover(Valuation):
    """What an owner's data cost it changes with the others' contributions.

        z_i(s_i, s_-i) = c_i(s_i) (1 + crowding * others_i) + burden * others_i,     others_i = mean_{j != i} s_j

    Doshi et al. 2025, Section 3, let the effective cost depend on everybody's contribution; there a payment makes it do
    so (`ContributionSubsidy`).  Here it is a fact: with crowding above 0 data grow dearer where all look for them,
    below 0 owners learn from each other how to collect them; a burden is borne whatever one does oneself.

    Parameters
    ----------
    crowding : float, optional
        By which share the own cost grows with a unit that the others contribute on average.
    burden : float, optional
        What such a unit costs by itself; below 0: what it saves.

    Examples
    --------
    >>> from fedabm.costs import Linear
    >>> given = Deal(np.ones(2), np.array([4.0, 2.0]), np.full(2, 9.0), Linear(1.0), np.zeros(2), np.arange(2))
    >>> CostSpillover(crowding=0.5, burden=1.0).cost(given)
    array([10., 10.])
    """

    crowding: float = 0.0
    burden: float = 0.0

    def __post_init__(self) -> None:
        check_range("crowding", self.crowding, -_MOST, _MOST)
        check_range("burden", self.burden, -_MOST, _MOST)

    def gain(self, deal: Deal) -> Array:
        """The accuracy received."""
        return deal.accuracy

    def cost(self, deal: Deal) -> Array:
        """z_i at everybody's contribution; no less than 0 of the own part."""
        given = deal.contribution
        others = sum_of_others(given) / max(given.shape[-1] - 1, 1)
        return np.asarray(deal.cost.value(given) * np.maximum(1.0 + self.crowding * others, 0.0) + self.burden * others)
