"""The owners of one engine, dealt to the workers of a cluster round by round, with as little moved as can be."""

from __future__ import annotations

import uuid
import weakref
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedabm.common.cluster import Cluster
from fedabm.data.federated import FederatedData
from fedabm.learning.engine.host import pull
from fedabm.learning.engine.local import OwnerDraws, PlannedTraining
from fedabm.learning.shards.network import frozen_bytes
from fedabm.learning.shards.pool import Host, Pool, WireTraffic, WorkerLost, pool_of
from fedabm.learning.shards.rows import Dealt, SpreadRows, SumBy
from fedabm.learning.shards.worker import PartOfSum, Shard, WorkerSettings

__all__ = ["EngineShards", "dealt"]


class EngineShards:
    """What an engine asks its workers; nothing is started before it asks.  `x` are the training samples as sent."""

    def __init__(self, cluster: Cluster, data: FederatedData, x: np.ndarray, settings: WorkerSettings) -> None:
        self._cluster, self._data, self._x, self._settings = cluster, data, x, settings
        self._engine = uuid.uuid4().hex
        self._loaded: dict[Host, set[int]] = {}
        self._pool: Pool | None = None
        #: the settings in the cluster's memory, and how many bytes of them nobody trains
        self._put: tuple[Any, int] | None = None
        self.said: set[str] = set()

    @property
    def pool(self) -> Pool:
        """The workers, which are started when they are first needed."""
        if self._pool is None or not self._pool.open:
            self._pool, self._put = pool_of(self._cluster), None
            weakref.finalize(self, self._pool.forget, self._engine)
        return self._pool

    @property
    def traffic(self) -> list[WireTraffic]:
        """What went over the wire of every worker."""
        return [host.traffic for host in self.pool.hosts]

    def ask(self, host: Host, returns: int, method: str, *given: Any, data: bool = False) -> Any:
        """Ask one worker about this engine's part of it."""
        return self.pool.send(host, returns, "ask", self._engine, method, *given, data=data)

    def train(self, planned: PlannedTraining) -> SpreadRows:
        """The models (k, P) of the owners that train, where their data are."""
        rows = SpreadRows(self, planned, planned.who, np.arange(len(planned.who)), updates=False)
        rows.begin()
        return rows

    def updates(self, planned: PlannedTraining, weights: np.ndarray | None = None) -> SpreadRows:
        """What all owners (n, P) change the start by; with `weights` (n,) no more is kept than the sum by these."""
        rows = SpreadRows(self, planned, np.arange(self._data.owners), planned.who, updates=True, weights=weights)
        rows.begin()
        return rows

    def send_out(
        self, planned: PlannedTraining, name: str, *, updates: bool, sum_by: SumBy | None, keep: bool
    ) -> Dealt:
        """One training by all workers, and what it has led to."""
        pool = self.pool
        loads = self._load(planned)
        alike = _common(planned)
        common = {id(part): pool.put(pull(part)) for part in alike}
        asked = list(loads)
        sums: list[Any] = []
        shares = [(host, mine) for host, mine in zip(pool.hosts, dealt(planned, len(pool.hosts)), strict=True) if mine]
        places = [(host, np.concatenate(chunks)) for host, chunks in shares]
        handed = None if sum_by is None else sum_by.handed(places, planned.models.start.shape[-1])
        for k, (host, chunks) in enumerate(shares):
            mine = places[k][1]
            shard = self._shard(planned, chunks, mine, common, updates=updates)
            host.traffic.down += sum(4 * len(part) for part in alike)
            part = None if handed is None or sum_by is None else PartOfSum(sum_by.weights[mine], handed[k], sums[-1:])
            answer, total = self.ask(host, 2, "train", name, shard, keep, part)
            asked.append((host, answer))
            sums += [] if part is None else [total]
        try:
            answers = pool.collect(asked)[len(loads) :]
        except WorkerLost:
            for host, _ in loads:  # nobody knows whether it came there
                self._loaded.pop(host, None)
            raise
        usable = np.ones(len(planned.who), dtype=bool)
        drawn: dict[int, Any] = {}
        for (_, mine), (screened, states) in zip(places, answers, strict=True):
            usable[mine] = screened
            drawn |= dict(zip(mine.tolist(), states, strict=False))  # no states where no generators were given
        ends = pool.collect([(places[-1][0], sums[-1])]) if sums else []
        total = torch.from_numpy(np.array(ends[0][0])) if ends else None
        return Dealt(name, pool.generation, places, usable, total, keep, drawn)

    def drop(self, dealt: Dealt) -> None:
        """Tell those who kept rows that nobody needs them any more."""
        pool = self._pool
        if pool is not None and pool.open and dealt.generation == pool.generation:
            for host, _ in dealt.places:
                pool.send(host, 1, "drop", self._engine, [dealt.name])

    def _shard(
        self,
        planned: PlannedTraining,
        chunks: list[np.ndarray],
        mine: np.ndarray,
        common: dict[int, Any],
        *,
        updates: bool,
    ) -> Shard:
        models, draws = planned.models, planned.draws

        def part(rows: Tensor | None) -> Any:
            if rows is None or id(rows) in common:
                return None if rows is None else common[id(rows)]
            return pull(rows.index_select(0, torch.from_numpy(mine).to(rows.device)))

        given = None if draws.given is None else tuple(draws.given[place] for place in mine)
        at_start = models.centre is not None and _same(models.centre, models.start)
        return Shard(
            planned.training,
            [planned.who[chunk] for chunk in chunks],
            [planned.counts[chunk] for chunk in chunks],
            part(models.start),
            None if at_start else part(models.centre),
            at_start,
            part(models.drift),
            OwnerDraws(draws.seed, draws.round, given),
            updates,
            planned.threads,
        )

    def _load(self, planned: PlannedTraining) -> list[tuple[Host, Any]]:
        """Send every worker the data of those of its owners that it does not know yet."""
        pool, data, asked = self.pool, self._data, []
        for host, chunks in zip(pool.hosts, dealt(planned, len(pool.hosts)), strict=True):
            if host not in self._loaded:
                if self._put is None:
                    self._put = pool.put(self._settings), frozen_bytes(self._settings.network)
                settings, amount = self._put
                asked.append((host, pool.send(host, 1, "open", self._engine, settings, data=True)))
                host.traffic.data += amount
                self._loaded[host] = set()
            wanted = planned.who[np.concatenate(chunks)] if chunks else np.zeros(0, dtype=np.int64)
            fresh = np.sort([owner for owner in wanted.tolist() if owner not in self._loaded[host]]).astype(np.int64)
            if len(fresh):
                rows = np.concatenate([np.arange(data.offsets[i], data.offsets[i + 1]) for i in fresh])
                sizes = data.capacities[fresh]
                sent = self.ask(host, 1, "load", fresh, sizes, self._x[rows], data.y_train[rows], data=True)
                asked.append((host, sent))
                self._loaded[host].update(fresh.tolist())
        self._loaded = {host: owners for host, owners in self._loaded.items() if host in pool.hosts}
        return asked


def dealt(planned: PlannedTraining, workers: int) -> list[list[np.ndarray]]:
    """The chunks of each worker: a stretch of the plan each, of about as many steps of local training.

    >>> import torch
    >>> from fedabm.learning.engine.batches import TrainingLength
    >>> from fedabm.learning.engine.local import LocalTraining, Models
    >>> from fedabm.learning.engine.optimisers import SGD
    >>> training = LocalTraining(TrainingLength(10, 1), SGD(0.1))
    >>> chunks = [np.array([0, 1]), np.array([2]), np.array([3])]
    >>> planned = PlannedTraining(training, np.arange(4), np.full(4, 20), chunks, Models(torch.zeros(1)), OwnerDraws())
    >>> [[chunk.tolist() for chunk in mine] for mine in dealt(planned, 2)]
    [[[0, 1]], [[2], [3]]]
    """
    lengths = planned.training.length.lengths(planned.counts)
    work = np.array([lengths[chunk].sum() + 1e-3 * len(chunk) for chunk in planned.chunks])
    middles = np.cumsum(work) - work / 2
    whose = np.floor(workers * middles / max(work.sum(), 1e-12)).astype(int).clip(0, workers - 1)
    return [
        [chunk for chunk, one in zip(planned.chunks, whose, strict=True) if one == worker] for worker in range(workers)
    ]


def _common(planned: PlannedTraining) -> list[Tensor]:
    """The rows that are the same for all owners, each once."""
    models = planned.models
    found = [models.start]
    found += [rows for rows in (models.centre, models.drift) if rows is not None and not _same(rows, models.start)]
    return [rows for rows in found if rows.dim() == 1]


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are one and the same numbers in memory."""
    return one.data_ptr() == other.data_ptr() and one.shape == other.shape and one.stride() == other.stride()
