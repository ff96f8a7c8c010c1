"""Everyone is paid what the others would lose without its data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Line
from fedabm.games.offers import Offers, full_access
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.clarke import shape_of_sums
from fedabm.views import Reports

__all__ = ["LeaveOneOut"]


@dataclass(frozen=True)
class LeaveOneOut(Mechanism):
    """The full model for everyone, and a share `rate` of what the own data add to the others' accuracies.

        p_i(s) = rate * sum_{j != i} (a_j(s) - a_j(0, s_-i))

    The deletion method of Wang, Dang and Zhou 2019, as a payment.  With rate 1 everyone's utility grows with its
    contribution as the welfare of all does, so that the contributions that are best for all are an equilibrium, and
    nobody needs to know any cost.  Nobody pays, so that all of it comes from the server's pocket.

    Parameters
    ----------
    rate : float, optional
        Which share of what the others gain is paid.
    """

    rate: float = field(default=1.0, metadata=within(0.0, 1.0))
    budget_balanced = False
    needs = "coalitions"

    def __post_init__(self) -> None:
        check_number("rate of leave-one-out payments", self.rate, zero=True)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and the others' accuracies along the own contribution, above what they are without it."""
        claimed = reports.contribution
        others, nobody = accuracy.spillovers(claimed), np.zeros(len(claimed))
        payment = self.rate * (others - Line(others.value(nobody), nobody))
        offers = full_access(accuracy, claimed, payment, shape_of_sums(accuracy))
        return replace(offers, kinks=np.hstack([offers.kinks, accuracy.spillover_kinks(claimed)]))
