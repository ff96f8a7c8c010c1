"""One pass through the layers of many models: what it remembers and where its gradients go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["Collect", "Descent", "Pass", "Sink", "sample_keys"]

_KEY_STRIDE = 0x632BE59BD9B4E019
_LAYER_STRIDE = 0x1F123BB5159A55E5


class Sink(Protocol):
    """Where gradients go."""

    def product(self, index: int, left: Tensor, right: Tensor) -> None:
        """The gradient of parameter `index` is left @ right, owner by owner."""

    def add(self, index: int, gradient: Tensor) -> None:
        """The gradient of parameter `index`."""


@dataclass
class Collect(Sink):
    """Keeps every gradient."""

    gradients: list[Tensor]

    def product(self, index: int, left: Tensor, right: Tensor) -> None:
        self.gradients[index] = left.bmm(right)

    def add(self, index: int, gradient: Tensor) -> None:
        self.gradients[index] = gradient


@dataclass(frozen=True)
class Descent(Sink):
    """Takes the step w <- w - rate g at once; a layer has used its weights when it hands in their gradient."""

    blocks: Sequence[Tensor]
    rate: float

    def product(self, index: int, left: Tensor, right: Tensor) -> None:
        self.blocks[index].baddbmm_(left, right, alpha=-self.rate)

    def add(self, index: int, gradient: Tensor) -> None:
        self.blocks[index].sub_(gradient, alpha=self.rate)


@dataclass
class Pass:
    """One pass of some models through the layers; without a sink nothing is put on the tape."""

    owners: int
    blocks: Sequence[Tensor]
    sink: Sink | None = None
    keys: Tensor | None = None
    tape: list[Any] = field(default_factory=list)

    def save(self, *what: Any) -> None:
        """Remember for the backward pass."""
        if self.sink is not None:
            self.tape.append(what)

    def product(self, index: int, left: Tensor, right: Tensor) -> None:
        """Hand in a gradient as a product."""
        if self.sink is not None:
            self.sink.product(index, left, right)

    def add(self, index: int, gradient: Tensor) -> None:
        """Hand in a gradient."""
        if self.sink is not None:
            self.sink.add(index, gradient)

    def sample_keys(self, batch: int, layer: int) -> Tensor | None:
        """One key per owner and sample, different in every layer, (owners, batch)."""
        return None if self.keys is None else sample_keys(self.keys, batch, layer)


def sample_keys(keys: Tensor, batch: int, layer: int) -> Tensor:
    """Keys (..., batch) for the samples of a mini-batch from one key per owner (...)."""
    place = torch.arange(batch, device=keys.device) * _KEY_STRIDE
    return keys.unsqueeze(-1) + place + layer * _LAYER_STRIDE
