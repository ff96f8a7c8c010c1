"""The loop that trains a chunk of owners, whichever way their gradients are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import LARGEST_RATE, check_number
from fedabm.learning.engine.augment import crop_and_flip
from fedabm.learning.engine.batches import Batches
from fedabm.learning.engine.flat import Layout
from fedabm.learning.engine.optimisers import Optimiser

__all__ = ["Chunk", "DeviceSamples", "Proximal", "affine_of", "from_bytes", "train_chunk"]


class Gradients(Protocol):
    """A way to find the owners' gradients.

    One that has `descend` can also take plain steps itself; one that has `settle` likes blocks in an order of its own.
    """

    def gradients(self, blocks: list[Tensor], x: Tensor, y: Tensor, weights: Tensor, keys: Tensor | None) -> list:
        """The gradient of every block of each owner's weighted loss."""


@dataclass(frozen=True, eq=False)
class Proximal:
    """Adds weight / 2 * |w - centre|^2 to the loss: FedProx with the start as centre (Li et al. 2020).

    `centre` is one model (P,) or one per owner (n, P).

    Parameters
    ----------
    weight : float
        mu, the weight of the pull.
    centre : Tensor
        One model (parameters,), or one per owner (owners, parameters).
    """

    weight: float
    centre: Tensor

    def __post_init__(self) -> None:
        check_number("the proximal weight", self.weight, zero=True, most=LARGEST_RATE)


def affine_of(scaling: tuple[tuple[float, ...], tuple[float, ...]] | None) -> tuple[Tensor, Tensor] | None:
    """Factor and offset by channel that give bytes mean 0 and deviation 1, if a mean and a deviation are given."""
    if scaling is None:
        return None
    mean, spread = (torch.tensor(part, dtype=torch.float32)[:, None, None] for part in scaling)
    return 1.0 / spread, -mean / spread


def from_bytes(x: Tensor, affine: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Bytes 0 .. 255 as numbers in [-1, 1], or by a factor and an offset per channel; anything else as it is."""
    if x.dtype != torch.uint8:
        return x
    numbers = x.to(torch.float32)
    if affine is None:
        return numbers.mul_(2.0 / 255.0).sub_(1.0)
    factor, offset = affine
    return numbers.mul_(factor).add_(offset)


@dataclass(frozen=True, eq=False)
class DeviceSamples:
    """Samples and labels on the device; images of bytes become numbers when they are used.

    `affine` holds factor and offset by channel, (c, 1, 1) each; without it bytes are scaled to [-1, 1].
    """

    x: Tensor
    y: Tensor
    affine: tuple[Tensor, Tensor] | None = None

    def take(self, rows: Tensor, moved: Callable[[Tensor], Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Some of the samples, as they are or moved, with their labels."""
        x = self.x.index_select(0, rows)
        return self.scaled(x if moved is None else moved(x)), self.y.index_select(0, rows)

    def part(self, rows: Tensor) -> DeviceSamples:
        """Some of the samples as samples of their own."""
        return replace(self, x=self.x.index_select(0, rows), y=self.y.index_select(0, rows))

    def on(self, device: torch.device) -> DeviceSamples:
        """The same on another device."""
        affine = None if self.affine is None else (self.affine[0].to(device), self.affine[1].to(device))
        return DeviceSamples(self.x.to(device), self.y.to(device), affine)

    def scaled(self, x: Tensor) -> Tensor:
        """Bytes 0 .. 255 as numbers; anything else as it is."""
        return from_bytes(x, self.affine)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some owners' training: what they see, where they start, the centre they are held to and their drift, if any.

    Start, centre and drift are one row (P,), or everybody's (n, P), of which `order` (k,) are those of these owners.
    The drift is added to every gradient.
    """

    batches: Batches
    order: Tensor
    start: Tensor
    centre: Tensor | None = None
    drift: Tensor | None = None


def train_chunk(
    path: Gradients,
    layout: Layout,
    samples: DeviceSamples,
    chunk: Chunk,
    optimiser: Optimiser,
    proximal: float = 0.0,
    low: torch.dtype | None = None,
) -> list[Tensor]:
    """Train the owners of a chunk; their parameters as blocks, in the order of its batches.

    With a `low` precision gradients are found in that, and the weights change by them in their own.
    """
    batches, device = chunk.batches, samples.x.device
    settle = getattr(path, "settle", list)
    blocks = settle(layout.gather(chunk.start, chunk.order))
    state = [[torch.zeros_like(block) for block in blocks] for _ in range(optimiser.slots)]
    centre = None if chunk.centre is None else settle(layout.gather(chunk.centre, chunk.order))
    drift = None if chunk.drift is None else settle(layout.gather(chunk.drift, chunk.order))
    plain = centre is None and drift is None and low is None and hasattr(path, "descend")
    fused = optimiser.fused_rate if plain else None
    rows = torch.from_numpy(np.ascontiguousarray(batches.samples)).to(device)
    weights = torch.from_numpy(_weights(batches)).to(device)
    moves = None if batches.moves is None else torch.from_numpy(np.ascontiguousarray(batches.moves)).to(device)
    keys = None if batches.keys is None else torch.from_numpy(np.ascontiguousarray(batches.keys)).to(device)
    for step, (active, width) in enumerate(zip(batches.active.tolist(), batches.widths.tolist(), strict=True)):
        moved = None if moves is None else partial(crop_and_flip, moves=moves[step, :active, :width].reshape(-1, 3))
        x, y = samples.take(rows[step, :active, :width].reshape(-1), moved)
        batch = (
            x,
            y.view(active, width, *y.shape[1:]),
            weights[step, :active, :width],
            None if keys is None else keys[step, :active],
        )
        mine = _first(blocks, active)
        if fused is not None:
            path.descend(mine, *batch, fused)  # type: ignore[attr-defined]
            continue
        gradients = path.gradients(mine, *batch) if low is None else _low_gradients(path, mine, batch, low)
        if centre is not None:
            torch._foreach_add_(gradients, mine, alpha=proximal)
            torch._foreach_sub_(gradients, _first(centre, active), alpha=proximal)
        if drift is not None:
            torch._foreach_add_(gradients, _first(drift, active))
        optimiser.step(mine, gradients, [_first(slot, active) for slot in state], step + 1)
    return blocks


def _low_gradients(path: Gradients, blocks: list[Tensor], batch: Any, low: torch.dtype) -> list[Tensor]:
    """Gradients found in another precision, in that of the weights."""
    x, *others = batch
    seen = x.to(low) if x.is_floating_point() else x
    found = path.gradients([block.to(low) for block in blocks], seen, *others)
    return [gradient.to(block.dtype) for gradient, block in zip(found, blocks, strict=True)]


def _first(blocks: list[Tensor], active: int) -> list[Tensor]:
    """The blocks of the owners that still train."""
    return blocks if len(blocks[0]) == active else [block[:active] for block in blocks]


def _weights(batches: Batches) -> np.ndarray:
    """Every sample of a mini-batch counts the same and padding does not count, (steps, owners, batch)."""
    places = np.arange(batches.samples.shape[2])
    inside = places < batches.sizes[:, :, None]
    return (inside / np.maximum(batches.sizes, 1)[:, :, None]).astype(np.float32)
