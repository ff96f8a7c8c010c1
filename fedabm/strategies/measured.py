"""Owners that find out by themselves what their contribution does to their model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_positive
from fedabm.games.curves import Array
from fedabm.strategies.base import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["MeasuredResponse", "measured_slope"]


@dataclass(frozen=True)
class MeasuredResponse(Strategy):
    """One projected gradient step with the slope of the accuracy as told or, if nobody tells, as measured.

        s_i <- clip(s_i + step * (da_i/ds_i + dp_i/ds_i - dc_i/ds_i), least, capacity)
        da_i/ds_i ~ (L_i(w^{k-1}) - L_i(w_i^k)) / (s_i^k - s_i^{k-1}),      0 where s_i did not change

    Doshi et al. 2025, eq. (3) on a closed form and eq. (10) on a model in training, with `step` (gamma) before the
    whole derivative and `least` = 1 as in the authors' code.  L_i is the loss on the owner's own held-out data, w^{k-1}
    the model it got and w_i^k its own one after training on its s_i^k samples, so that nobody takes the federation's
    progress for its own.  Once the protocol has fixed contributions the owner keeps its own.

    Parameters
    ----------
    step : float
        Size of the gradient step.
    least : float, optional
        The least contribution.
    """

    step: float
    least: float = 0.0
    measures = True
    stacks = True

    def __post_init__(self) -> None:
        check_positive("gradient step", self.step)
        check_positive("least contribution", self.least, zero=True)

    def act(self, view: OwnerView) -> Action:
        """One step uphill."""
        now = view.last.contribution
        if view.frozen:
            return view.truthful(now)
        slope = view.payoff.slope(now) + (0.0 if view.curve_known else measured_slope(view))
        least = np.minimum(self.least, view.capacity)
        wanted = np.clip(now + self.step * slope, least, view.capacity)
        return view.truthful(wanted, used="offer" if view.curve_known else "experience")


def measured_slope(view: OwnerView) -> Array:
    """What own training gained per unit by which the own contribution has changed, 0 where that is unknown."""
    last, before = view.last, view.before or view.last
    change = last.contribution - before.contribution
    progress = np.zeros_like(change) if last.progress is None else last.progress
    known = np.isfinite(last.utility) & (change != 0)
    return np.divide(progress, change, out=np.zeros_like(change), where=known)
