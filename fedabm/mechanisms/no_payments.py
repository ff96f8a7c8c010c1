"""Standard federated learning: the full model for everyone, no money."""

from __future__ import annotations

from dataclasses import dataclass

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.mechanisms.base import Mechanism, full_access_jacobian
from fedabm.views import Reports

__all__ = ["NoPayments"]


@dataclass(frozen=True)
class NoPayments(Mechanism):
    """Everyone gets the full model and nobody pays: p_i(s) = 0.

    M^0 of Murhekar et al. 2025, Section 3; eq. (8) of Karimireddy et al. 2022.
    """

    stacks = True
    separable = True
    needs = "nothing"

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """a_i(x, s_-i) and no payment."""
        return full_access(accuracy, reports.contribution, nothing(reports.contribution.shape))

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """The accuracies' own."""
        return full_access_jacobian(accuracy, reports.contribution)
