"""Owners that are told where the others pull."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_kind
from fedabm.learning.rules.aggregate import aggregate, screen
from fedabm.learning.rules.base import LocalTerms, Received, Rule, Step
from fedabm.learning.rules.fed_avg import FedAvg

__all__ = ["ControlVariates", "Scaffold"]


class ControlVariates(NamedTuple):
    """Control variates: c_i (n, P) estimates owner i's gradient, their mean c (P,) that of all."""

    own: Tensor
    mean: Tensor


@dataclass(frozen=True)
class Scaffold(Rule):
    """Local steps along g_i(w) - c_i + c, which do not drift to the owner's own optimum; the updates are averaged.

        change = rate * sum_i p_i u_i,      c_i <- c_i - c - u_i / (k_i * local rate),      c = sum_i p_i c_i

    Karimireddy et al. 2020, Algorithm 1 with option II, where owner i took k_i plain local steps.  `averaging` has rate
    and shares p_i (theirs are equal).  c is the mean over those that take part in the round: who contributes nothing is
    no part of the objective.  Controls follow from updates as sent, and stay as they are where these are not usable.

    Parameters
    ----------
    averaging : FedAvg, optional
        Step size and weights.
    """

    averaging: FedAvg = field(default_factory=FedAvg)
    plain_descent = True

    def __post_init__(self) -> None:
        check_kind("averaging", self.averaging, FedAvg)

    @property
    def mean(self) -> FedAvg:
        """Its averaging."""
        return self.averaging

    def begin(self, start: Tensor, owners: int) -> ControlVariates:
        return ControlVariates(start.new_zeros(owners, len(start)), torch.zeros_like(start))

    def local(self, start: Tensor, memory: Any) -> LocalTerms:
        return LocalTerms(drift=memory.mean - memory.own)

    def step(self, received: Received, memory: Any) -> Step:
        if received.rate is None:
            raise InputError("Scaffold needs to know how far owners went; let them train by plain SGD")
        change = self.averaging.step(received, ()).change
        path = torch.from_numpy(received.rate * received.steps).to(received.updates).unsqueeze(1)
        fresh = memory.own - memory.mean - received.updates / torch.where(path > 0, path, 1.0)
        known = received.usable & screen(fresh) & (path[:, 0] > 0)
        own = torch.where(known.unsqueeze(1), fresh, memory.own)
        shares = torch.from_numpy(self.averaging.shares(received.claimed)).to(own)
        return Step(change, ControlVariates(own, aggregate(shares.unsqueeze(0), own, received.usable)[0]))
