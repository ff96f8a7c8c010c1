"""What one worker does: it holds data and rows of its owners on its device, trains them, and answers about the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedabm.learning.engine import threads
from fedabm.learning.engine.allocator import keep_memory
from fedabm.learning.engine.elsewhere import screen_rows
from fedabm.learning.engine.host import pull
from fedabm.learning.engine.local import ChunkMembers, LocalTraining, Models, OwnerDraws, Scaling, Trainer, as_samples
from fedabm.learning.shards.held import HeldSamples
from fedabm.learning.shards.network import packed, unpacked
from fedabm.learning.shards.sums import Begun, Stretch, StretchSum

__all__ = ["Handed", "PartOfSum", "Shard", "ShardWorker", "WorkerSettings"]

#: a sum on its way to the next worker: what is complete of it, and its open block
Handed = tuple[np.ndarray | None, ...]


@dataclass(frozen=True, eq=False)
class WorkerSettings:
    """What every worker is told once: the network and how its gradients are found."""

    network: nn.Module
    path: str
    precision: str
    scaling: Scaling

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked_settings, (packed(self.network), self.path, self.precision, self.scaling)


def _unpacked_settings(network: tuple[bytes, list[np.ndarray]], *how: Any) -> WorkerSettings:
    return WorkerSettings(unpacked(*network), *how)


@dataclass(frozen=True, eq=False)
class Shard:
    """One worker's part of a training: whole chunks of owners, in the order of the plan.

    Starts, centres and drifts are one row for all or one each in that order; with `at_start` the centre is the start.
    With `updates` the rows that result are changes of the start.  `threads` are those of operators, as without workers.
    """

    training: LocalTraining
    chunks: Sequence[np.ndarray]
    counts: Sequence[np.ndarray]
    start: Any
    centre: Any
    at_start: bool
    drift: Any
    draws: OwnerDraws
    updates: bool
    threads: int = 1

    @property
    def owners(self) -> int:
        """How many owners."""
        return sum(len(chunk) for chunk in self.chunks)


@dataclass(frozen=True, eq=False)
class PartOfSum:
    """What a worker adds to a sum: by which weights, where, and to what, if another has begun it."""

    weights: np.ndarray
    stretch: Stretch
    before: list[Any]


class ShardWorker:
    """A worker's part of one engine; `fetch` brings what others have put into the cluster's memory."""

    def __init__(self, settings: WorkerSettings, device: str, fetch: Callable[[Any], Any]) -> None:
        self._device, self._fetch, self._scaling = torch.device(device), fetch, settings.scaling
        low = torch.bfloat16 if settings.precision == "bfloat16" else None
        self._trainer = Trainer(settings.network.to(self._device), settings.path, low)
        self._held = HeldSamples()
        self._rows: dict[str, Tensor] = {}
        if self._device.type == "cpu":
            keep_memory()

    def load(self, owners: np.ndarray, sizes: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Keep the training data of some owners more."""
        fresh = as_samples(self._trainer.network, x, y, self._scaling, self._device)
        self._held.add(owners, sizes, fresh)

    @torch.no_grad()
    def train(
        self, name: str, shard: Shard, keep: bool, part: PartOfSum | None
    ) -> tuple[tuple[np.ndarray, list[Any]], Handed | None]:
        """Train; which rows are usable, the state of given generators, and the sum that was asked for.

        The rows are kept under the name if they are to be, else only until they have been added.
        """
        with threads.threads_inside(shard.threads):
            return self._train(name, shard, keep, part)

    def _train(
        self, name: str, shard: Shard, keep: bool, part: PartOfSum | None
    ) -> tuple[tuple[np.ndarray, list[Any]], Handed | None]:
        size = self._trainer.layout.size
        total = None if part is None else StretchSum(part.stretch, self._tensor(part.weights))
        kept = torch.empty(shard.owners, size, device=self._device) if keep else None
        gradients, models = self._trainer.gradients(), self._models(shard)
        screened, first = [], 0
        for owners, counts in zip(shard.chunks, shard.counts, strict=True):
            last = first + len(owners)
            rows = torch.empty(len(owners), size, device=self._device) if kept is None else kept[first:last]
            self._chunk(gradients, shard, models, first, (owners, counts), rows)
            screened.append(screen_rows(rows))
            if total is not None:
                total.add(rows)
            first = last
        if kept is not None:
            self._rows[name] = kept
        streams = shard.draws.given or ()
        answer = pull(torch.cat(screened)), [stream.bit_generator.state for stream in streams]
        return answer, None if part is None or total is None else self._handed(total, part)

    def _handed(self, total: StretchSum, part: PartOfSum) -> Handed:
        """The sum with what another worker has begun, once that is there."""
        begun = self._fetch(part.before[0]) if part.before else (None, None)
        done = total.after(Begun(*(None if one is None else self._tensor(one) for one in begun)))
        return tuple(None if one is None else pull(one) for one in done)

    def _models(self, shard: Shard) -> Models:
        start = self._tensor(self._fetch(shard.start))
        centre = None if shard.centre is None else self._tensor(self._fetch(shard.centre))
        drift = None if shard.drift is None else self._tensor(self._fetch(shard.drift))
        return Models(start, start if shard.at_start else centre, drift)

    def _chunk(
        self, gradients: Any, shard: Shard, models: Models, first: int, who: tuple[np.ndarray, np.ndarray], part: Tensor
    ) -> None:
        """Train the owners of one chunk into the rows `part`."""
        owners, counts = who
        inside = slice(first, first + len(owners))
        mine = models.map(lambda rows: rows if rows.dim() == 1 else rows[inside])
        streams = shard.draws.streams(np.arange(inside.start, inside.stop), owners)
        members = ChunkMembers(np.arange(len(owners)), counts, self._held.begins(owners), streams)
        blocks, order = self._trainer.train(gradients, self._held.samples, shard.training, members, mine)
        self._trainer.layout.scatter(blocks, part, order)
        if shard.updates:
            part.sub_(mine.start)

    @torch.no_grad()
    def mixed(self, name: str, kept: np.ndarray, part: PartOfSum) -> Handed:
        """The weighted sum of those of its rows that are `kept`."""
        with threads.one_thread():
            rows = self._rows[name]
            if not kept.all():
                rows = torch.where(self._tensor(kept).unsqueeze(1), rows, 0.0)
            total = StretchSum(part.stretch, self._tensor(part.weights))
            total.add(rows)
            return self._handed(total, part)

    def cut(self, name: str, bounds: list[tuple[int, int]]) -> Any:
        """Its rows in blocks of columns; a single block by itself."""
        found = [pull(self._rows[name][:, first:last].contiguous()) for first, last in bounds]
        return found if len(found) > 1 else found[0]

    @torch.no_grad()
    def worked(
        self, shape: tuple[int, int], places: list[np.ndarray], parts: list[Any], work: Callable[[Tensor], Tensor]
    ) -> np.ndarray:
        """What some work makes of a block of columns of all rows, of which every worker has sent a part."""
        with threads.one_thread():
            block = torch.zeros(shape, device=self._device)
            for rows, part in zip(places, parts, strict=True):
                where, found = torch.from_numpy(rows), self._tensor(self._fetch(part))
                block.index_copy_(0, where[where >= 0].to(self._device), found[where >= 0])
            return pull(work(block))

    def take(self, name: str, places: np.ndarray) -> np.ndarray:
        """Some of its rows."""
        return pull(self._rows[name].index_select(0, torch.from_numpy(places).to(self._device)))

    def put(self, name: str, places: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Take other numbers in some rows; which of these are usable."""
        given = self._tensor(rows)
        self._rows[name].index_copy_(0, torch.from_numpy(places).to(self._device), given)
        return pull(screen_rows(given))

    def drop(self, names: list[str]) -> None:
        """Forget rows."""
        for name in names:
            self._rows.pop(name, None)

    def _tensor(self, numbers: np.ndarray) -> Tensor:
        """On the device, and free to be changed (what comes out of the cluster's memory is not)."""
        return torch.from_numpy(np.array(numbers)).to(self._device)
