"""Owners that find out by themselves what their contribution does to the model, and owners that aim at an accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_positive, check_range
from fedabm.games.curves import Array
from fedabm.strategies.base import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["MeasuredResponse", "MultiplicativeShare", "measured_slope"]


@dataclass(frozen=True)
class MeasuredResponse(Strategy):
    """One projected gradient step with the slope of the accuracy as told or, if nobody tells, as measured.

        s_i <- clip(s_i + step * (da_i/ds_i + dp_i/ds_i - dc_i/ds_i), least, capacity)
        da_i/ds_i ~ (L_i(w^{k-1}) - L_i(w_i^k)) / (s_i^k - s_i^{k-1}),      0 where s_i did not change

    Doshi et al. 2025, eq. (3) on a closed form and eq. (10) on a model in training, with `step` (gamma) before the
    whole derivative and `least` = 1 as in the authors' code.  L_i is the loss on the owner's own held-out data, w^{k-1}
    the model it got and w_i^k its own one after training on its s_i^k samples, so that nobody takes the federation's
    progress for its own.  Once the protocol has fixed contributions the owner keeps its own.
    """

    step: float
    least: float = 0.0
    measures = True

    def __post_init__(self) -> None:
        check_positive("gradient step", self.step)
        check_positive("least contribution", self.least, zero=True)

    def act(self, view: OwnerView) -> Action:
        """One step uphill."""
        now = view.last.contribution
        if view.frozen:
            return view.truthful(now)
        slope = view.payoff.slope(now) + (0.0 if view.told else measured_slope(view))
        least = np.minimum(self.least, view.capacity)
        wanted = np.clip(now + self.step * slope, least, view.capacity)
        return view.truthful(wanted, used="offer" if view.told else "experience")


def measured_slope(view: OwnerView) -> Array:
    """What own training gained per unit by which the own contribution has changed, 0 where that is unknown."""
    last, before = view.last, view.before or view.last
    change = last.contribution - before.contribution
    progress = np.zeros_like(change) if last.progress is None else last.progress
    known = np.isfinite(last.utility) & (change != 0)
    return np.divide(progress, change, out=np.zeros_like(change), where=known)


@dataclass(frozen=True)
class MultiplicativeShare(Strategy):
    """Contribute in proportion to a weight that shrinks by `factor` while the accuracy `goal` is reached.

        s_i <- min(capacity, s_i * data / total * (1 if a_i < goal else 1 / factor))

    MW-FedAvg of Blum et al. 2021 (called MWFed by Murhekar et al. 2023): all owners together use `data` samples per
    step, and shares move from owners that are satisfied to those that are not.  Blum's code multiplies the weights of
    the latter by 4 and renormalises, which gives the same shares with factor=4.  `total` is the one announced, so that
    shares are normalised one step late: all together use between data / factor (if all are satisfied) and data.  What
    an owner lacks at its capacity nobody else makes up for, and who starts with nothing stays there.
    """

    goal: float
    data: float
    factor: float = 1.1

    def __post_init__(self) -> None:
        check_range("accuracy goal", self.goal, -1e100, 1e100)
        check_positive("data per step", self.data)
        check_positive("factor", self.factor)
        if not self.factor > 1:
            raise InputError(f"factor must be above 1, got {self.factor}; give for instance 1.1")

    def act(self, view: OwnerView) -> Action:
        """The share of the data that the weight is worth."""
        satisfied = np.isfinite(view.last.utility) & (view.last.accuracy >= self.goal)
        scale = self.data / view.total if view.total > 0 else 1.0
        wanted = view.last.contribution * scale / np.where(satisfied, self.factor, 1.0)
        return view.truthful(np.minimum(wanted, view.capacity), used="total")
