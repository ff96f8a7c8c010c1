"""Owners that are held to the shared model while they train."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from torch import Tensor

from fedabm.common.errors import LARGEST_RATE, check_kind, check_number
from fedabm.games.curves import Array
from fedabm.learning.engine.training import Proximal
from fedabm.learning.rules.base import LocalTerms, Memory, Received, Rule, Step, WeightedMean
from fedabm.learning.rules.fed_avg import FedAvg

__all__ = ["FedProx"]


@dataclass(frozen=True)
class FedProx(Rule):
    """Every owner adds strength / 2 * |w - start|^2 to its loss; the server does as `inner`.

    Li et al. 2020 (Federated optimization in heterogeneous networks), Algorithm 2, with mu = strength.

    Parameters
    ----------
    strength : float, optional
        mu: the weight of the pull to the server's model.
    inner : Rule, optional
        What the server does with the updates.
    """

    strength: float = 0.1
    inner: Rule = field(default_factory=FedAvg)

    def __post_init__(self) -> None:
        check_number("strength", self.strength, zero=True, most=LARGEST_RATE)
        check_kind("inner", self.inner, Rule)

    @property
    def plain_descent(self) -> bool:  # type: ignore[override]
        """As the inner rule."""
        return self.inner.plain_descent

    @property
    def of_updates(self) -> bool:  # type: ignore[override]
        """As the inner rule."""
        return self.inner.of_updates

    def summed_by(self, claimed: Array, steps: Array) -> Array | None:
        return self.inner.summed_by(claimed, steps)

    @property
    def mean(self) -> WeightedMean | None:
        """That of the inner rule."""
        return self.inner.mean

    def begin(self, start: Tensor, owners: int) -> Memory:
        return self.inner.begin(start, owners)

    def local(self, start: Tensor, memory: Memory) -> LocalTerms:
        held = Proximal(self.strength, start) if self.strength else None
        return replace(self.inner.local(start, memory), proximal=held)

    def step(self, received: Received, memory: Memory) -> Step:
        return self.inner.step(received, memory)
