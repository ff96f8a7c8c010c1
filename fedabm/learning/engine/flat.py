"""Models as rows of one matrix: where each parameter of a network stands in a row."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = ["Layout", "initial_row", "nudged"]

_NUDGE = ContextVar("nudge", default=0.0)


@dataclass(frozen=True)
class Layout:
    """The parameters of a network in the order of `network.parameters()`, each flattened.

    >>> layout = Layout.of(nn.Linear(3, 2))
    >>> layout.size, layout.bounds
    (8, (0, 6, 8))
    """

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]

    @classmethod
    def of(cls, network: nn.Module) -> Layout:
        """The layout of a network's rows."""
        named = list(network.named_parameters())
        return cls(tuple(name for name, _ in named), tuple(parameter.shape for _, parameter in named))

    @property
    def bounds(self) -> tuple[int, ...]:
        """Where each parameter begins, and the end."""
        ends = [0]
        for shape in self.shapes:
            ends.append(ends[-1] + math.prod(shape))
        return tuple(ends)

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return self.bounds[-1]

    def blocks(self, rows: Tensor) -> list[Tensor]:
        """Views (..., *shape) of the rows (..., size), one per parameter."""
        parts = rows.split([math.prod(shape) for shape in self.shapes], dim=-1)
        return [part.unflatten(-1, shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def gather(self, rows: Tensor, order: Tensor | None = None) -> list[Tensor]:
        """Copies of those blocks, each contiguous over the models: the layout that batched training keeps.

        With an `order`, the blocks of these rows only; then rows (size,) serve everybody.
        """
        if order is not None and rows.dim() == 2:
            parts = rows.split([math.prod(shape) for shape in self.shapes], dim=1)
            return [p.index_select(0, order).unflatten(1, shape) for p, shape in zip(parts, self.shapes, strict=True)]
        blocks = self.blocks(rows if order is None else rows.expand(len(order), -1))
        return [block.clone(memory_format=torch.contiguous_format) for block in blocks]

    def scatter(self, blocks: Sequence[Tensor], rows: Tensor, order: Tensor) -> None:
        """Write blocks back into these rows."""
        for begin, end, block in zip(self.bounds[:-1], self.bounds[1:], blocks, strict=True):
            rows[:, begin:end].index_copy_(0, order, block.flatten(1))


def initial_row(network: nn.Module, seed: int) -> Tensor:
    """PyTorch's own initialisation of every layer, drawn on the CPU from a generator of its own; (size,).

    Parameters of a module that does not say how to draw them (`reset_parameters`) begin as they are in the network.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = _empty_copy(network)
        for module, given in zip(fresh.modules(), network.modules(), strict=True):
            reset = getattr(module, "reset_parameters", None)
            if callable(reset):
                reset()
            else:
                _begin_as(given, module)
    return torch.cat([parameter.detach().flatten() for parameter in fresh.parameters()]) * (1.0 + _NUDGE.get())


@contextmanager
def nudged(by: float) -> Iterator[None]:
    """Fresh models are larger by this, relatively, inside: what that changes is how far training magnifies rounding."""
    before = _NUDGE.set(by)
    try:
        yield
    finally:
        _NUDGE.reset(before)


def _begin_as(given: nn.Module, fresh: nn.Module) -> None:
    """Copy the parameters that a module has by itself; on the device "meta", which knows shapes only, none have values.

    >>> given, fresh = (nn.ParameterList([torch.full((2,), value)]) for value in (1.5, 0.0))
    >>> _begin_as(given, fresh)
    >>> fresh[0].tolist()
    [1.5, 1.5]
    """
    pairs = zip(given.parameters(recurse=False), fresh.parameters(recurse=False), strict=True)
    for value, place in pairs:
        place.data.copy_(torch.zeros_like(place) if value.is_meta else value.detach())


def _empty_copy(network: nn.Module) -> nn.Module:
    return copy.deepcopy(network).to_empty(device="cpu")
