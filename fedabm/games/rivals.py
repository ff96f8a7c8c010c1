"""Owners who compete: what a rival's model gains, they lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedabm.common.errors import check_range
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.curves import Array
from fedabm.games.valuation import Deal, Valuation

__all__ = ["Rivalry"]


@dataclass(frozen=True)
class Rivalry(Valuation):
    """An owner gains the accuracy it receives less a part of what its rivals receive on average.

        gain_i = a_i - strength * mean_{j != i} a_j

    Rivals in one market: with strength 1 only the lead counts, and a model that is equally good for all is worth
    nothing.  Wu and Yu 2022 (MarS-FL) and Tsoy and Konstantinov 2024 ask what becomes of sharing then.

    Parameters
    ----------
    strength : float, optional
        How much of the rivals' mean accuracy an owner loses; 1: only the lead counts.

    Examples
    --------
    >>> import numpy as np
    >>> from fedabm.costs import Linear
    >>> Rivalry(0.5).gain(Deal(np.array([0.8, 0.4]), *3 * (np.zeros(2),), Linear(0.0), np.arange(2)))
    array([0.6, 0. ])
    """

    strength: float = 0.5
    #: what owners gain depends on models that are handed to others
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_range("rivalry", self.strength, 0.0, 1.0)

    def gain(self, deal: Deal) -> Array:
        """The own accuracy less a part of the rivals' mean."""
        rivals = max(deal.accuracy.shape[-1] - 1, 1)
        return np.asarray(deal.accuracy - self.strength * sum_of_others(deal.accuracy) / rivals)

    def cost(self, deal: Deal) -> Array:
        """c_i at the own contribution."""
        return deal.cost.value(deal.contribution)
