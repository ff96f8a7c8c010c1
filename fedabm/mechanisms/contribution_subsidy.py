"""Those who contribute more than the others are paid by those who contribute less."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Line
from fedabm.games.offers import Offers, full_access
from fedabm.mechanisms.base import Mechanism, full_access_jacobian, mean_of_others
from fedabm.views import Reports

__all__ = ["ContributionSubsidy"]


@dataclass(frozen=True)
class ContributionSubsidy(Mechanism):
    """Pay `rate` per unit contributed above the mean of the others.

    p_i(s) = rate * (s_i - mean_{j != i} s_j), so payments sum to zero.  Doshi et al. 2025, eq. (7).
    An owner that is alone neither pays nor is paid.

    Parameters
    ----------
    rate : float
        What a unit above the mean of the others earns, in units of utility.
    """

    rate: float = field(metadata=within(1e-4, 1.0, log=True))
    stacks = True
    columns = ("rate",)
    separable = True
    needs = "nothing"

    def __post_init__(self) -> None:
        check_number("subsidy rate", self.rate, zero=True)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and a payment that is linear in the own contribution."""
        claimed = reports.contribution
        rate = self.rate if claimed.shape[-1] > 1 else 0.0
        payment = Line(-rate * mean_of_others(claimed), np.full(claimed.shape, rate))
        return full_access(accuracy, claimed, payment)

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """The accuracies' own: payments are linear."""
        return full_access_jacobian(accuracy, reports.contribution)
