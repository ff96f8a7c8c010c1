"""Everyone is paid by the number that the server finds for it in the updates of the round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.offers import Offers
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.leave_one_out import LeaveOneOut
from fedabm.views import Outcome, Reports, ServerView, Transfers

__all__ = ["ScorePayments"]


@dataclass(frozen=True)
class ScorePayments(Mechanism):
    """The full model for everyone, and a payment in proportion to a score: p_i = rate * score_i.

    The score is what the server's knowledge says of the updates of this round: a Shapley value (`FedSV`, `GTGShapley`,
    `ComFedSV`: Wang et al. 2020, Liu et al. 2022, Fan et al. 2022) or a cosine (`FromUpdates`).  Such numbers rank
    owners and do not price what they bring: paid out they are no shares of what training without an owner would lose,
    and a run says so.  Owners whose update hurts have negative scores, and pay.

    Where the server knows worth itself instead, the score is what the own data add to the others' accuracies, as in
    `LeaveOneOut`; nobody knows before how a score of updates would change with the own contribution, so that offers are
    flat then.  The money comes from the server's pocket.

    Parameters
    ----------
    rate : float, optional
        What a unit of score earns.
    """

    rate: float = field(default=1.0, metadata=within(0.0, 1.0))
    budget_balanced = False
    needs = "scores"

    def __post_init__(self) -> None:
        check_number("rate of payments by score", self.rate, zero=True)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and what the own data add to the others' accuracies, as far as that is known."""
        return LeaveOneOut(self.rate).offers(accuracy, reports)

    def settle(self, view: ServerView) -> Outcome:
        """Pay by the scores, where there are any."""
        outcome = super().settle(view)
        if view.known is None or view.known.scores is None:
            return outcome
        owners = view.reports.owners
        scores = view.known.scores if owners is None else view.known.scores[owners]
        payments = self.rate * scores - self.forfeits(view)
        return replace(outcome, payments=payments, transfers=Transfers.central(payments, type(self).__name__))
