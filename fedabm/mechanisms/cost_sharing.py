"""Owners with more than the average cost are paid part of the excess by those with less."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import InputError, check_positive, check_range, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Curve, Line, Scaled
from fedabm.games.offers import Offers, Shape, all_kinks, full_access
from fedabm.games.varied import spread
from fedabm.mechanisms.base import Mechanism, full_access_jacobian, mean_of_others, on_diagonal
from fedabm.views import Reports

__all__ = ["CostSharing", "optimal_rate"]


def optimal_rate(unit_costs: Any) -> float:
    """beta*, the rate that suits linear costs best: the root in [0, 1 - 1/n] of

        C beta^2 - (A n (n-2) + C) beta + A (n-1)^2 = 0,     C = sum_i c_i,   1/A = sum_i 1/c_i.

    Murhekar et al. 2023, eq. (6).  With y = C/A its discriminant is A^2 (y - n^2) (y - (n-2)^2), where
    y - n^2 = n sum_i (c_i - mean)^2 / (c_i mean) is written without cancellation, so that equal costs give the double
    root 1 - 1/n exactly.  An owner with cost 0 (or next to nothing: A = 0) leaves beta* = 0.

    >>> optimal_rate([1.0, 2.0]), optimal_rate([7.0] * 4)
    (0.3333333333333333, 0.75)

    Parameters
    ----------
    unit_costs : Any
        Cost of a unit, per owner.

    Returns
    -------
    float
        beta*, between 0 and 1 - 1/n.
    """
    costs = finite_vector("unit costs", unit_costs)
    check_positive("unit costs", costs, zero=True)
    n = len(costs)
    if n == 1 or not np.all(costs > 1e-100 * costs.max()):
        return 0.0
    # Relative to the first cost the mean of equal costs is exactly that cost.
    relative = costs / costs[0]
    mean = 1.0 + float(np.mean(relative - 1.0))
    spread = n * float(np.sum((relative - mean) ** 2 / (relative * mean)))
    root = np.sqrt(spread * (spread + 4.0 * (n - 1)))
    return float(2.0 * (n - 1) ** 2 / (spread + 2.0 * n * (n - 1) + root))


@dataclass(frozen=True)
class CostSharing(Mechanism):
    """Refund a share `rate` of what an owner's cost exceeds the mean cost of the others, by the reported costs.

        p_i(s) = rate * (c_i(s_i) - mean_{j != i} c_j(s_j)),     so payments sum to zero

    M_beta of Murhekar et al. 2023, Section 4, for any cost, at its kinks and jumps too.  rate="optimal" uses beta*
    (`optimal_rate`), which needs linear or affine costs.  An owner that is alone neither pays nor is paid.

    Theorem 4.1 says that an equilibrium of M_beta* in which everyone contributes maximises every p-mean welfare.  That
    holds for equal costs and fails for unequal ones: u_i = sqrt(b_i sum_j s_j), c = (1, 2) and budgets (12, 20) have
    the equilibrium (4, 5) with mean utility 8.8704, where 10.4271 can be reached.

    Parameters
    ----------
    rate : float | Literal['optimal'], optional
        Which share of the cost above the others' mean is refunded; "optimal": beta* of eq. (6).
    """

    rate: float | Literal["optimal"] = field(default="optimal", metadata=within(0.0, 1.0))
    asks_cost = True
    stacks = True
    columns = ("rate",)
    separable = True
    needs = "nothing"

    def __post_init__(self) -> None:
        if isinstance(self.rate, str):
            if self.rate != "optimal":
                raise InputError(f"rate must be 'optimal' or a number from 0 to 1, got {self.rate!r}; give one of them")
            return
        check_range("cost-sharing rate", self.rate, 0.0, 1.0)

    @property
    def affine_in_cost(self) -> bool:  # type: ignore[override]
        """At a fixed rate; beta* bends with the costs."""
        return not isinstance(self.rate, str)

    def share(self, reports: Reports) -> Any:
        """The rate for these reports: fixed, or beta* of the reported unit costs; of many runs one each, (runs, 1)."""
        cost = _reported(reports)
        if reports.contribution.shape[-1] == 1:
            return 0.0
        if not isinstance(self.rate, str):
            return self.rate
        if not cost.linear:
            raise InputError("the optimal rate needs linear costs, got one that is not linear; give a rate instead")
        units = cost.unit(reports.contribution)
        return optimal_rate(units) if units.ndim == 1 else np.array([[optimal_rate(run)] for run in units])

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and a refund that grows with the own reported cost."""
        rate, cost = self.share(reports), _reported(reports)
        constant = -rate * mean_of_others(cost.value(reports.contribution))
        if cost.linear:
            at_zero, unit = cost.value(np.zeros(constant.shape)), cost.unit(reports.contribution)
            payment: Curve = Line(constant + rate * at_zero, rate * unit)
            return full_access(accuracy, reports.contribution, payment)
        # A refund of a convex cost is convex, so all that is sure of accuracy + refund is that it grows.
        payment = Scaled(spread(rate, constant.shape), cost) + Line(constant, np.zeros(constant.shape))
        grows: Shape = "monotone" if accuracy.monotone else "unknown"
        offers = full_access(accuracy, reports.contribution, payment, grows)
        refund = cost.scaled(rate) if accuracy.concave else None
        return replace(offers, kinks=all_kinks(offers, cost), refund=refund)

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """The accuracies' own, and the curvature of the refund on the diagonal."""
        own = full_access_jacobian(accuracy, reports.contribution)
        bend = self.share(reports) * _reported(reports).curvature(reports.contribution)
        return None if own is None or not np.all(np.isfinite(bend)) else own + on_diagonal(bend)

    def budget_left(self, reports: Reports, budgets: Any) -> Array:
        """What each owner has left of its budget after its cost and its payment.

        b_i = B_i - (1 - rate) c_i(s_i) - rate * mean_{j != i} c_j(s_j).  Murhekar et al. 2023, eq. (5).
        """
        rate, spent = self.share(reports), _reported(reports).value(reports.contribution)
        budgets = finite_vector("budgets", budgets, len(spent))
        return budgets - (1.0 - rate) * spent - rate * mean_of_others(spent)


def _reported(reports: Reports) -> Cost:
    if reports.cost is None:
        raise InputError("cost sharing needs the owners' reported costs, got none; report them")
    return reports.cost
