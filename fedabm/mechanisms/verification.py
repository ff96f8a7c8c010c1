"""The trained model itself tells whether the data were there that owners say they gave."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import given, within
from fedabm.common.errors import check_number
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.mechanisms.supervised import Supervised
from fedabm.views import Evidence, ServerView

__all__ = ["Verification"]


@dataclass(frozen=True)
class Verification(Supervised):
    """All are fined together for what the model falls short of the accuracies that their claims promise.

        p_i = p_i(rule) - fine * sum_j max(0, a_j(claims) - measured_j - tolerance)

    Holmström 1982, moral hazard in teams: nobody can tell who lied, so everyone bears the whole shortfall, and the
    money leaves the group.  Where the others tell the truth, over-stating the own contribution never pays if

        fine >= (what the rule pays for a further unit) / (sum_j d a_j / d s_i)   up to the largest claim,

    since accuracies are concave.  `tolerance` is what measuring is off by.

    Parameters
    ----------
    rule : Mechanism, optional
        The rule whose payments it adds to.
    fine : float, optional
        What everyone pays for each unit of missing accuracy.
    tolerance : float, optional
        Shortfalls up to this are errors of measuring.
    """

    rule: Mechanism = field(default_factory=NoPayments)
    fine: float = field(default=1.0, metadata=within(0.01, 100.0, log=True))
    tolerance: float = field(default=0.0, metadata=given("what measuring is off by"))
    needs = "coalitions"
    checks_claims = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("fine", self.fine, zero=True)
        check_number("tolerance", self.tolerance, zero=True)

    def fines(self, view: ServerView, evidence: Evidence) -> Array:
        """The same for everyone: the shortfall of all accuracies."""
        promised = view.oracle.values(view.reports.contribution[None])[0]
        shortfall = np.maximum(promised - evidence.accuracy - self.tolerance, 0.0)
        # Rounding is no lie.
        shortfall[shortfall <= 1e-12 * np.abs(promised)] = 0.0
        return np.full(len(promised), self.fine * shortfall.sum())
