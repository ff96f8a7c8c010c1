"""A shared model, and beside it one for oneself."""

from __future__ import annotations

from dataclasses import dataclass, field

from fedabm.common.bounds import within
from fedabm.common.errors import LARGEST_RATE, check_number
from fedabm.mechanisms.personalised.base import Personalised, average
from fedabm.views import Exchange, LocalTask, Sent

__all__ = ["Ditto"]


@dataclass(frozen=True)
class Ditto(Personalised):
    """FedAvg, while every owner trains a second model that it keeps: min_v L_i(v) + strength / 2 |v - w|^2.

    w is the mean model that the owner received; v goes on from where it was and never reaches the server.  Li et al.
    2021 (Ditto), Algorithm 1; strength (lambda) 1 as in iPFL 2025.  In the first round, before the server has said
    anything, both are one model and held by nothing.

    Parameters
    ----------
    strength : float, optional
        lambda: the weight of the pull to the mean model.
    """

    strength: float = field(default=1.0, metadata=within(1e-3, 10.0, log=True))

    def __post_init__(self) -> None:
        check_number("strength", self.strength, zero=True, most=LARGEST_RATE)

    def exchange(self, sent: Sent) -> Exchange:
        """The mean to train and send, and the mean as the centre of the personal models."""
        model, weights = average(sent)
        return Exchange(LocalTask(model), weights, personal=LocalTask(None, model, self.strength))
