"""What the adaptive server optimisers have in common: moments, and a step in every coordinate's own unit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedabm.common.errors import LARGEST_RATE, InputError, check_kind, check_number, check_positive
from fedabm.games.curves import Array
from fedabm.learning.rules.base import LocalTerms, Memory, Received, Rule, Step
from fedabm.learning.rules.fed_avg import FedAvg

__all__ = ["Moments", "ServerOptimiser"]


class Moments(NamedTuple):
    """The running mean of changes (P,), what their squares were like (P,), and the inner rule's memory."""

    first: Tensor
    second: Tensor
    inner: Memory


@dataclass(frozen=True)
class ServerOptimiser(Rule):
    """An adaptive step along the change d of the inner rule.  Reddi et al. 2021, Algorithm 2.

        m <- beta_1 m + (1 - beta_1) d,      v <- by the rule's own formula,      change = rate * m / (sqrt(v) + floor)

    m begins with 0 and v with floor^2 (their tau^2); nothing corrects for that beginning.
    """

    rate: float = 0.03
    betas: tuple[float, float] = (0.9, 0.99)
    floor: float = 1e-3
    inner: Rule = field(default_factory=FedAvg)

    def __post_init__(self) -> None:
        check_number("rate", self.rate, most=LARGEST_RATE)
        if len(self.betas) != 2 or not all(0.0 <= beta < 1.0 for beta in self.betas):
            raise InputError(f"betas must be two numbers in [0, 1), got {self.betas}; for instance (0.9, 0.99)")
        check_positive("floor", self.floor)
        check_kind("inner", self.inner, Rule)

    @property
    def plain_descent(self) -> bool:  # type: ignore[override]
        """As the inner rule."""
        return self.inner.plain_descent

    def summed_by(self, claimed: Array, steps: Array) -> Array | None:
        return self.inner.summed_by(claimed, steps)

    @abstractmethod
    def spread(self, second: Tensor, square: Tensor) -> Tensor:
        """v in the next round, from v and d^2, (P,)."""

    def begin(self, start: Tensor, owners: int) -> Moments:
        return Moments(torch.zeros_like(start), torch.full_like(start, self.floor**2), self.inner.begin(start, owners))

    def local(self, start: Tensor, memory: Any) -> LocalTerms:
        return self.inner.local(start, memory.inner)

    def step(self, received: Received, memory: Any) -> Step:
        done = self.inner.step(received, memory.inner)
        first = torch.lerp(memory.first, done.change, 1.0 - self.betas[0])
        second = self.spread(memory.second, done.change**2)
        change = self.rate * first / (second.sqrt() + self.floor)
        return Step(change, Moments(first, second, done.memory), done.refused)
