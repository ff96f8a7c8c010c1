"""Local optimisers on lists of parameter blocks: one owner's or many owners' at once, with the same code.

Every owner in a batch has taken the same number of steps, so one step counter serves all.  The update rules are those
of `torch.optim`, checked against it in the tests.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from fedabm.common.errors import LARGEST_RATE, InputError, check_number, check_positive, check_range, check_whole

__all__ = ["SGD", "Adam", "AdamW", "CosineSchedule", "Optimiser", "RateSchedule", "State", "StepSchedule"]

Blocks = list[Tensor]
State = list[list[Tensor]]


@runtime_checkable
class Optimiser(Protocol):
    """Turns gradients into updates; the state is a list of lists of tensors shaped like the blocks."""

    @property
    def fused_rate(self) -> float | None:
        """The learning rate if the update is plain descent, which layers may then apply themselves; else None."""

    @property
    def slots(self) -> int:
        """How many further numbers per parameter it keeps."""

    def step(self, blocks: Blocks, gradients: list[Tensor], state: State, number: int) -> None:
        """Update the blocks (and the state) in place; `number` counts from 1."""


@dataclass(frozen=True)
class SGD(Optimiser):
    """v <- momentum v + g + weight_decay w; w <- w - rate v.

    Parameters
    ----------
    rate : float
        Step size.
    momentum : float, optional
        How much of the last step is added to the next.
    weight_decay : float, optional
        The weight of |w|^2 / 2.
    """

    rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        check_number("rate", self.rate, most=LARGEST_RATE)
        check_range("momentum", self.momentum, 0.0, 1.0)
        check_number("weight_decay", self.weight_decay, zero=True, most=LARGEST_RATE)

    @property
    def fused_rate(self) -> float | None:
        """The rate without momentum and weight decay."""
        return None if self.momentum or self.weight_decay else self.rate

    @property
    def slots(self) -> int:
        """The velocity."""
        return 1 if self.momentum else 0

    def step(self, blocks: Blocks, gradients: list[Tensor], state: State, number: int) -> None:
        if self.weight_decay:
            torch._foreach_add_(gradients, blocks, alpha=self.weight_decay)
        if self.momentum:
            torch._foreach_mul_(state[0], self.momentum)
            torch._foreach_add_(state[0], gradients)
            gradients = state[0]
        torch._foreach_add_(blocks, gradients, alpha=-self.rate)


@dataclass(frozen=True)
class Adam(Optimiser):
    """Kingma & Ba 2015, with the weight decay added to the gradient.

    Parameters
    ----------
    rate : float, optional
        Step size.
    betas : tuple[float, float], optional
        How much of the past the two moving means keep, each in [0, 1).
    epsilon : float, optional
        Added to the root of the second moment, so that nothing is divided by zero.
    weight_decay : float, optional
        The weight of |w|^2 / 2.
    """

    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        check_number("rate", self.rate, most=LARGEST_RATE)
        if len(self.betas) != 2 or not all(0.0 <= beta < 1.0 for beta in self.betas):
            raise InputError(f"betas must be two numbers in [0, 1), got {self.betas}; for instance (0.9, 0.999)")
        check_positive("epsilon", self.epsilon)
        check_number("weight_decay", self.weight_decay, zero=True, most=LARGEST_RATE)

    @property
    def fused_rate(self) -> None:
        """Adam is never plain descent."""

    @property
    def slots(self) -> int:
        """The two moments."""
        return 2

    def step(self, blocks: Blocks, gradients: list[Tensor], state: State, number: int) -> None:
        first, second = state
        if self.weight_decay:
            torch._foreach_add_(gradients, blocks, alpha=self.weight_decay)
        torch._foreach_lerp_(first, gradients, 1.0 - self.betas[0])
        torch._foreach_mul_(second, self.betas[1])
        torch._foreach_addcmul_(second, gradients, gradients, 1.0 - self.betas[1])
        scale = (1.0 - self.betas[1] ** number) ** 0.5
        spread = torch._foreach_sqrt(second)
        torch._foreach_div_(spread, scale)
        torch._foreach_add_(spread, self.epsilon)
        torch._foreach_addcdiv_(blocks, first, spread, -self.rate / (1.0 - self.betas[0] ** number))


@dataclass(frozen=True)
class AdamW(Adam):
    """Loshchilov & Hutter 2019: the weight decay acts on the weights, w <- (1 - rate weight_decay) w, not through g.

    Parameters
    ----------
    rate : float, optional
        Step size.
    betas : tuple[float, float], optional
        How much of the past the two moving means keep, each in [0, 1).
    epsilon : float, optional
        Added to the root of the second moment, so that nothing is divided by zero.
    weight_decay : float, optional
        By which share of the rate weights shrink in a step.
    """

    weight_decay: float = 0.01

    def step(self, blocks: Blocks, gradients: list[Tensor], state: State, number: int) -> None:
        if self.weight_decay:
            torch._foreach_mul_(blocks, 1.0 - self.rate * self.weight_decay)
        replace(_PLAIN, rate=self.rate, betas=self.betas, epsilon=self.epsilon).step(blocks, gradients, state, number)


_PLAIN = Adam()


class RateSchedule(ABC):
    """How the rate of local training changes from round to round; one of your own states `at`."""

    @abstractmethod
    def at(self, optimiser: Optimiser, round: int) -> Optimiser:
        """The optimiser of a round, counted from 0, by that of the recipe."""


@dataclass(frozen=True)
class StepSchedule(RateSchedule):
    """The rate times `factor` after every `every` rounds: rate_t = rate factor^floor(t / every).

    >>> [StepSchedule(2, 0.5).at(SGD(1.0), t).rate for t in (0, 1, 2, 5)]
    [1.0, 1.0, 0.5, 0.25]

    Parameters
    ----------
    every : int
        After how many rounds the rate falls.
    factor : float, optional
        What it is multiplied by then.
    """

    every: int
    factor: float = 0.1

    def __post_init__(self) -> None:
        check_whole("every", self.every)
        check_number("factor", self.factor, most=1.0)

    def at(self, optimiser: Optimiser, round: int) -> Optimiser:
        rate = optimiser.rate * self.factor ** (round // self.every)  # type: ignore[attr-defined]
        return replace(optimiser, rate=rate)  # type: ignore[type-var]


@dataclass(frozen=True)
class CosineSchedule(RateSchedule):
    """From the optimiser's own rate in round 0 to `least` in round `rounds`, along half a cosine.

    rate_t = least + (rate - least) (1 + cos(pi t / rounds)) / 2.  Loshchilov & Hutter 2017, without restarts.

    Parameters
    ----------
    rounds : int
        The round in which the rate reaches its least.
    least : float, optional
        The rate from then on.
    """

    rounds: int
    least: float = 1e-6

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds)
        check_number("least", self.least, most=LARGEST_RATE)

    def at(self, optimiser: Optimiser, round: int) -> Optimiser:
        """The optimiser of a round; beyond the last one the rate stays at its least.

        >>> [CosineSchedule(4, 0.5).at(SGD(1.0), t).rate for t in (0, 2, 4, 9)]
        [1.0, 0.75, 0.5, 0.5]
        """
        share = (1.0 + math.cos(math.pi * min(round, self.rounds) / self.rounds)) / 2.0
        rate = self.least + (optimiser.rate - self.least) * share  # type: ignore[attr-defined]
        return replace(optimiser, rate=rate)  # type: ignore[type-var]
