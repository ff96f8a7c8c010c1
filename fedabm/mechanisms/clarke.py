"""Everyone is paid what its data bring the others, and pays what the others would have reached without it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.common.errors import InputError, check_pairs
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Line
from fedabm.games.efficient import efficient_profile, welfare_without_each
from fedabm.games.offers import Offers, Shape, full_access
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports

__all__ = ["Clarke", "shape_of_sums"]


@dataclass(frozen=True)
class Clarke(Mechanism):
    """The others' accuracies less their reported costs, minus the most that these could be without the owner (VCG).

        p_i(s) = sum_{j != i} (a_j(s) - c_j(s_j)) - W_-i,    W_-i = max_{s, s_i = 0} sum_{j != i} (a_j(s) - c_j(s_j))

    Vickrey 1961, Clarke 1971, Groves 1973.  So u_i = W(s) - W_-i, the welfare of all by the others' reported costs less
    a constant: whatever is best for all is best for each, and the contributions that the server would choose for the
    reported costs (`efficient`) are an equilibrium.  The own cost is not in the own payment: truth is a dominant
    strategy.  In that equilibrium nobody is worse off than outside, since W >= W_-i where accuracies are not negative.
    The price is the budget: money comes from the server's pocket, or is left there.
    """

    budget_balanced = False
    asks_cost = True
    affine_in_cost = True

    def terms(self, accuracy: Accuracy, types: Reports) -> Array:
        """The pivots W_-i, by reported costs and sizes: the best for all pairs of one who is out and one who gives."""
        check_pairs("Clarke", len(types.size), "take fewer owners or ContributionSubsidy")
        return welfare_without_each(accuracy, _reported(types), types.size)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and the others' accuracies along the own contribution less what stands fixed."""
        claimed = reports.contribution
        spent = _reported(reports).value(claimed)
        fixed = Line(-sum_of_others(spent) - self.standing_terms(accuracy, reports), np.zeros(len(claimed)))
        payment = accuracy.spillovers(claimed) + fixed
        offers = full_access(accuracy, claimed, payment, shape_of_sums(accuracy))
        return replace(offers, kinks=np.hstack([offers.kinks, accuracy.spillover_kinks(claimed)]))

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """That of the sum of all accuracies: sum_k W_ki v''(exposure_k) W_kj."""
        exposure = accuracy.as_exposure()
        if exposure is None:
            return None
        claimed = reports.contribution
        weights = exposure.weight_matrix(len(claimed))
        return weights.T @ (exposure.curve_curvature(exposure.exposures(claimed[None])[0])[:, None] * weights)

    def efficient(self, accuracy: Accuracy, reports: Reports) -> Array:
        """The contributions that maximise the sum of accuracies less reported costs."""
        return efficient_profile(accuracy, _reported(reports), reports.size)


def shape_of_sums(accuracy: Accuracy) -> Shape:
    """What is known of the sum of all accuracies along one owner's contribution."""
    traits = accuracy.traits
    if traits.of_exponentials or (traits.of_exposure and traits.concave):
        return "concave"
    return "monotone" if traits.monotone else "unknown"


def _reported(reports: Reports) -> Cost:
    if reports.cost is None:
        raise InputError("the Clarke rule needs the owners' reported costs, got none; report them")
    return reports.cost
