"""Federated averaging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from fedabm.common.errors import LARGEST_RATE, InputError, check_number
from fedabm.games.curves import Array
from fedabm.learning.rules.aggregate import aggregate
from fedabm.learning.rules.base import Memory, Received, Rule, Step

__all__ = ["FedAvg"]


@dataclass(frozen=True)
class FedAvg(Rule):
    """The mean of the updates: change = rate * sum_i p_i u_i.  McMahan et al. 2017, Algorithm 1.

    p_i is proportional to what owner i claims to contribute ("data"), or the same for all that claim anything
    ("equal").  The weight of an update that is not usable goes to the others.

    Parameters
    ----------
    rate : float, optional
        Step size of the server.
    weighting : Literal['data', 'equal'], optional
        "data": by what owners claim; "equal": all alike.
    """

    rate: float = 1.0
    weighting: Literal["data", "equal"] = "data"

    def __post_init__(self) -> None:
        check_number("rate", self.rate, most=LARGEST_RATE)
        if self.weighting not in ("data", "equal"):
            raise InputError(f"weighting must be data or equal, got {self.weighting!r}; choose one of them")

    @property
    def mean(self) -> FedAvg:
        """Itself."""
        return self

    def weigh(self, claimed: Array) -> Array:
        """How much everybody counts, (n,), in any unit."""
        return (claimed > 0).astype(float) if self.weighting == "equal" else claimed

    def shares(self, claimed: Array) -> Array:
        """p_i of every owner, (n,): they sum to 1, or are 0 if nobody claims anything."""
        weights = self.weigh(claimed)
        weights = weights / max(np.max(weights), 1.0)
        total = weights.sum()
        return weights / (total if total > 0 else 1.0)

    def summed_by(self, claimed: Array, steps: Array) -> Array:
        return self.shares(claimed)

    def step(self, received: Received, memory: Memory) -> Step:
        shares = torch.from_numpy(self.shares(received.claimed)).to(received.sent.device, received.sent.dtype)
        mean = aggregate(shares.unsqueeze(0), received.sent, received.usable, received.order)[0]
        return Step(self.rate * mean)
