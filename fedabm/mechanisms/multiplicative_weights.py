"""The server asks more data of owners whom the model does not serve well yet: MW-FedAvg."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import InputError, check_positive, check_range
from fedabm.games.curves import Array
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.views import Outcome, Reports, ServerView

__all__ = ["MultiplicativeWeights"]

#: the smallest weight
_LEAST = 1e-100


@dataclass(frozen=True)
class MultiplicativeWeights(NoPayments):
    """Ask owner i for data * w_i samples; weights of owners below their accuracy `goal` grow by `factor`, sum(w) = 1.

        w_i <- w_i * (factor if a_i < goal else 1) / sum_j w_j * (factor if a_j < goal else 1),      w_i = 1/n at first

    MW-FedAvg of Blum et al. 2021 (called MWFed by Murhekar et al. 2023, who do not specify it): all owners together use
    `data` samples per step, and shares move to those whom the model does not serve yet.  Blum's code has factor 4.
    Everybody gets the full model, and no money is paid.  The server measures accuracies itself and normalises in the
    step in which weights grow.  It asks nobody for more than it says it has; the others make up for that, by weight.

    Parameters
    ----------
    goal : float
        The accuracy that every owner should reach.
    data : float
        How many samples all owners together use in a step.
    factor : float, optional
        By how much the weight of an owner below its goal grows.
    """

    goal: float = field(metadata=within(0.05, 1.0))
    data: float = field(metadata=within(1.0, 1e6, log=True))
    factor: float = field(default=1.1, metadata=within(1.01, 2.0))
    stacks = False
    separable = False

    def __post_init__(self) -> None:
        check_range("accuracy goal", self.goal, -1e100, 1e100)
        check_positive("data per step", self.data)
        check_positive("factor", self.factor)
        if not self.factor > 1:
            raise InputError(f"factor must be above 1, got {self.factor}; give for instance 1.1")

    def quotas(self, reports: Reports) -> Array:
        """The samples that each owner is asked for: min(size, level * weight), so that they add up to the data."""
        weights, size = self._weights(reports), reports.size
        quotas, wanted = np.zeros(len(weights)), min(self.data, float(size.sum()))
        for _ in weights:  # each time somebody reaches its size, or it is done
            free = quotas < size
            missing = wanted - float(quotas.sum())
            if not missing > 1e-9 * wanted or not np.any(free):
                break
            share = np.where(free, weights, 0.0)
            quotas = np.minimum(quotas + missing * share / share.sum(), size)
        return quotas

    def settle(self, view: ServerView) -> Outcome:
        """Settle, and remember the new weights."""
        weights = self._weights(view.reports)
        if view.evidence is not None:
            weights = weights * np.where(view.evidence.accuracy < self.goal, self.factor, 1.0)
        # In a long run the weight of an owner that is served well must not vanish: others may have no more to give.
        weights = np.maximum(weights / weights.sum(), _LEAST)
        grown = dict(zip(_numbers(view.reports), weights.tolist(), strict=True))
        return replace(super().settle(view), memory=grown)

    def _weights(self, reports: Reports) -> Array:
        """Those remembered, normalised among who is there; a newcomer has a mean one."""
        known = reports.memory or {}
        mean = float(np.mean(list(known.values()))) if known else 1.0
        weights = np.array([known.get(owner, mean) for owner in _numbers(reports)])
        return weights / weights.sum()


def _numbers(reports: Reports) -> list[int]:
    return list(range(len(reports.contribution))) if reports.owners is None else reports.owners.tolist()
