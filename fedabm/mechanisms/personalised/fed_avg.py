"""Federated averaging: one model for all."""

from __future__ import annotations

from dataclasses import dataclass

from fedabm.mechanisms.personalised.base import Personalised, average
from fedabm.views import Exchange, LocalTask, Sent

__all__ = ["FedAvgExchange"]


@dataclass(frozen=True)
class FedAvgExchange(Personalised):
    """Everyone goes on from the mean model, w = sum_j p_j w_j with p_j the share of the data claimed.

    The mean is also what owners have at the end of a round, and are judged by.  McMahan et al. 2017, Algorithm 1.
    """

    def exchange(self, sent: Sent) -> Exchange:
        """The mean."""
        model, weights = average(sent)
        return Exchange(LocalTask(model), weights, kept=model)
