"""Value shaping where accuracy has a payoff: models get better just so fast that their worth pays for the data."""

from __future__ import annotations

from dataclasses import dataclass

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.mechanisms.value_shaping import ValueShaping
from fedabm.views import Reports

__all__ = ["RealFM"]


@dataclass(frozen=True)
class RealFM(ValueShaping):
    """Hand out the accuracy whose payoff is what the owner could reach alone, plus a little more than its extra cost.

        phi_i(received_i(x)) = phi_i(a_i(m_i*)) + (c_i + slack)(x - m_i*)     for m_i* <= x, up to the full model

    Bornstein et al. 2023, "RealFM", Theorem 2: accuracy shaping with a payoff phi of accuracy that need not be linear,
    on accuracies that are `Valued` by it; on plain accuracies it is `ValueShaping` (Karimireddy et al. 2022, eq. 11).
    Owners gain what they would alone and give the most data of any rational rule.  The paper's second part, money that
    the server pays out of its own profit, is not here.

    Parameters
    ----------
    slack : float, optional
        By how much worth grows more than the reported cost.
    """

    def accuracies(self, accuracy: Accuracy, reports: Reports) -> Array:
        """The accuracy of the model that each owner is handed for what it reports."""
        return accuracy.accuracy_of(self.offers(accuracy, reports).received.value(reports.contribution))
