"""Local training of some owners, wherever their data lie: in this process, on another device or on a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedabm.common.random import generator
from fedabm.learning.engine.augment import CropAndFlip
from fedabm.learning.engine.batched import compile_network
from fedabm.learning.engine.batches import TrainingLength, mini_batches
from fedabm.learning.engine.blocks import SeededDropout
from fedabm.learning.engine.flat import Layout
from fedabm.learning.engine.general import Alone, Mapped
from fedabm.learning.engine.optimisers import Optimiser
from fedabm.learning.engine.training import Chunk, DeviceSamples, affine_of, train_chunk

__all__ = [
    "ChunkMembers",
    "LocalTraining",
    "Models",
    "OwnerDraws",
    "PlannedTraining",
    "Scaling",
    "Trainer",
    "as_samples",
]

Scaling = tuple[tuple[float, ...], tuple[float, ...]] | None


@dataclass(frozen=True)
class LocalTraining:
    """How owners train: for how long, by which optimiser, held how strongly to a centre, with images moved how."""

    length: TrainingLength
    optimiser: Optimiser
    strength: float = 0.0
    augment: CropAndFlip | None = None


@dataclass(frozen=True, eq=False)
class ChunkMembers:
    """The owners of a chunk: their places among the rows, how many samples each uses, where they begin, its stream."""

    places: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray
    streams: Sequence[np.random.Generator]


@dataclass(frozen=True, eq=False)
class Models:
    """Where owners start, what they are held to and what is added to their gradients: one row (P,) or one each."""

    start: Tensor
    centre: Tensor | None = None
    drift: Tensor | None = None

    def map(self, work: Callable[[Tensor], Tensor]) -> Models:
        """The same of every part that there is."""
        centre, drift = (None if part is None else work(part) for part in (self.centre, self.drift))
        return Models(work(self.start), centre, drift)


@dataclass(frozen=True, eq=False)
class OwnerDraws:
    """Where mini-batches come from: the generators of seed, owner and round, or some that are `given`."""

    seed: int = 0
    round: int = 0
    given: tuple[np.random.Generator, ...] | None = None

    def streams(self, places: np.ndarray, owners: np.ndarray) -> list[np.random.Generator]:
        """The generators of some owners, whose places in the order of those given are `places`."""
        if self.given is not None:
            return [self.given[place] for place in places]
        return [generator(self.seed, "training", int(owner), self.round) for owner in owners]


@dataclass(frozen=True, eq=False)
class PlannedTraining:
    """Which owners train on how many samples, and who shares a chunk; chunks hold places in the order of `who`.

    Operators use this many `threads`: results depend on it, wherever a chunk is trained.
    """

    training: LocalTraining
    who: np.ndarray
    counts: np.ndarray
    chunks: list[np.ndarray]
    models: Models
    draws: OwnerDraws
    threads: int = 1


@dataclass(frozen=True, eq=False)
class Trainer:
    """A network on a device, and the way its gradients are found: "batched", "vmap" or "serial"."""

    network: nn.Module
    path: str
    low: torch.dtype | None = None

    @property
    def layout(self) -> Layout:
        """Where each parameter stands in a row."""
        return Layout.of(self.network)

    @property
    def keyed(self) -> bool:
        """Whether owners draw a number per step, for dropout."""
        return any(isinstance(module, SeededDropout) for module in self.network.modules())

    def gradients(self) -> Any:
        """What finds gradients; each thread takes one of its own."""
        if self.path == "batched":
            return compile_network(self.network)
        return Mapped(self.network) if self.path == "vmap" else Alone(self.network)

    def train(
        self,
        gradients: Any,
        samples: DeviceSamples,
        training: LocalTraining,
        members: ChunkMembers,
        models: Models,
    ) -> tuple[list[Tensor], Tensor]:
        """The trained parameters of some owners as blocks, and whose they are: places in the rows of `models`."""
        length, augment = training.length, training.augment
        who = members.places, members.counts, members.offsets
        drawn = mini_batches(*who, length, members.streams, self.keyed, augment)
        order = torch.from_numpy(drawn.owners).to(samples.x.device)
        chunk = Chunk(drawn, order, models.start, models.centre, models.drift)
        layout, optimiser = self.layout, training.optimiser
        return train_chunk(gradients, layout, samples, chunk, optimiser, training.strength, self.low), order


def as_samples(network: nn.Module, x: np.ndarray, y: np.ndarray, scaling: Scaling, device: Any) -> DeviceSamples:
    """Samples on a device, with what a frozen part of the network makes of them found once."""
    inputs = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32 if x.dtype.kind == "f" else None))
    targets = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float32 if y.dtype.kind == "f" else np.int64))
    prepare = getattr(network, "prepare", None)
    seen = inputs if prepare is None else prepare(inputs)
    affine = affine_of(scaling) if inputs.dtype == torch.uint8 else None
    moved = None if affine is None else (affine[0].to(device), affine[1].to(device))
    return DeviceSamples(seen.to(device), targets.to(device), moved)
