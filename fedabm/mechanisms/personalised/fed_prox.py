"""Federated averaging with owners that are held to the shared model."""

from __future__ import annotations

from dataclasses import dataclass, field

from fedabm.common.bounds import within
from fedabm.common.errors import LARGEST_RATE, check_number
from fedabm.mechanisms.personalised.base import Personalised, average
from fedabm.views import Exchange, LocalTask, Sent

__all__ = ["FedProxExchange"]


@dataclass(frozen=True)
class FedProxExchange(Personalised):
    """FedAvg with mu / 2 |w_i - w|^2 added to every owner's loss, w being the mean model that it starts from.

    Li et al. 2020 (FedProx), eq. (2); iPFL 2025 takes mu from 0.01 to 0.1.  The first round, before the server has said
    anything, is held by nothing.  As in FedAvg the mean is what owners have.

    Parameters
    ----------
    mu : float, optional
        The weight of the pull to the mean model.
    """

    mu: float = field(default=0.01, metadata=within(1e-4, 1.0, log=True))

    def __post_init__(self) -> None:
        check_number("mu", self.mu, zero=True, most=LARGEST_RATE)

    def exchange(self, sent: Sent) -> Exchange:
        """The mean, as start and as centre."""
        model, weights = average(sent)
        return Exchange(LocalTask(model, model, self.mu), weights, kept=model)
