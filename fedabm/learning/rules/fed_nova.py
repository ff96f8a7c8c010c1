"""Averaging by the step: who trains longer does not count more for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from fedabm.common.errors import check_kind
from fedabm.learning.rules.aggregate import aggregate
from fedabm.learning.rules.base import Memory, Received, Rule, Step
from fedabm.learning.rules.fed_avg import FedAvg

__all__ = ["FedNova"]


@dataclass(frozen=True)
class FedNova(Rule):
    """change = rate * (sum_i p_i k_i) * sum_i p_i u_i / k_i, where owner i took k_i local steps.

    FedAvg's fixed point is that of an objective in which owners count p_i k_i; this one's counts them p_i.  Wang et al.
    2020 (Tackling the objective inconsistency problem), Section 4, for plain local descent.  `averaging` has rate and
    shares p_i.

    Parameters
    ----------
    averaging : FedAvg, optional
        Step size and weights.
    """

    averaging: FedAvg = field(default_factory=FedAvg)
    plain_descent = True

    def __post_init__(self) -> None:
        check_kind("averaging", self.averaging, FedAvg)

    def step(self, received: Received, memory: Memory) -> Step:
        updates, usable = received.sent, received.usable
        steps = torch.from_numpy(received.steps).to(updates.device, updates.dtype)
        used = torch.from_numpy(self.averaging.shares(received.claimed)).to(updates.device, updates.dtype) * usable
        shares = used / torch.where(used.sum() > 0, used.sum(), 1.0)
        mean = aggregate((shares / steps.clamp_min(1)).unsqueeze(0), updates, usable, received.order)[0]
        return Step(self.averaging.rate * (shares @ steps) * mean)
