"""What owners sent in a round, where they trained: rows of models or updates that lie with workers."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from fedabm.common.log import LOG
from fedabm.learning.engine.elsewhere import MANY, PIECE, RowsElsewhere, blocks_of_sums, order_of_sums, weighted
from fedabm.learning.engine.host import pull
from fedabm.learning.engine.local import PlannedTraining
from fedabm.learning.shards.pool import Host, Pool
from fedabm.learning.shards.sums import Stretch, stretches
from fedabm.learning.shards.worker import PartOfSum

__all__ = ["Dealt", "SpreadRows", "SumBy"]

Result = TypeVar("Result")
#: columns that are worked on side by side, or a multiple of them
_LANES = 1024


@dataclass(frozen=True, eq=False)
class Dealt:
    """A training that workers have done: which places each has, which rows are usable, and a sum that was asked for.

    `drawn` has the states in which they left generators that were given, by place.
    """

    name: str
    generation: int
    places: list[tuple[Host, np.ndarray]]
    usable: np.ndarray
    total: Tensor | None
    kept: bool
    drawn: dict[int, Any]


@dataclass(frozen=True, eq=False)
class SumBy:
    """A sum of rows: the weight of each, and the block it is added in."""

    weights: np.ndarray
    blocks: np.ndarray

    def handed(self, places: list[tuple[Host, np.ndarray]], size: int) -> list[Stretch]:
        """What is whose part of it; counts what workers hand on to each other."""
        found = stretches([self.blocks[mine] for _, mine in places])
        for (giver, _), (taker, _), part in zip(places, places[1:], found, strict=False):
            amount = 4 * size * part.models(int(found[0].blocks[0]))
            giver.traffic.up += amount
            taker.traffic.down += amount
        return found


class RowKeepers(Protocol):
    """What these rows need of the workers of an engine."""

    said: set[str]

    @property
    def pool(self) -> Pool:
        """All of them."""

    def ask(self, host: Host, returns: int, method: str, *given: Any, data: bool = False) -> Any:
        """Ask one."""

    def send_out(
        self, planned: PlannedTraining, name: str, *, updates: bool, sum_by: SumBy | None, keep: bool
    ) -> Dealt:
        """Let all train."""

    def drop(self, dealt: Dealt) -> None:
        """Tell those who kept rows that nobody needs them any more."""


class SpreadRows(RowsElsewhere):
    """One row for each of some owners; zeros for who did not train, whose rows nobody has.

    `rows` are those that trained, in the order of the plan's `who`.  Should a worker be lost, or rows be asked for that
    were not kept, the training is done again, to the same bits.
    """

    def __init__(
        self,
        shards: RowKeepers,
        planned: PlannedTraining,
        owners: np.ndarray,
        rows: np.ndarray,
        *,
        updates: bool,
        weights: np.ndarray | None = None,
    ) -> None:
        # The caller's generators go on; copies stay as they are, so that training that is done again draws the same.
        self._streams, own = planned.draws.given, replace(planned.draws, given=deepcopy(planned.draws.given))
        self._shards, self._planned, self._updates = shards, replace(planned, draws=own), updates
        start = planned.models.start
        self.device, self._shape, self._rows = start.device, (len(owners), int(start.shape[-1])), rows
        # A sum can be made where owners train only if they train in the order in which they are added.
        known = weights is not None and self._in_plan(self._order_of_sums())
        self._weights = torch.from_numpy(weights).to(torch.float32) if known else None
        self._dealt: Dealt | None = None
        self._other: dict[int, Tensor] = {}

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def _size(self) -> int:
        return self._shape[1]

    def begin(self) -> None:
        """Train."""
        self._asked(lambda dealt: None, keep=self._weights is None)

    def _asked(self, work: Callable[[Dealt], Result], *, keep: bool = True) -> Result:
        """Do something with the rows, which are trained again where they are gone."""
        pool = self._shards.pool

        def attempt() -> Result:
            dealt = self._dealt
            if dealt is None or (keep and (dealt.generation != pool.generation or not dealt.kept)):
                sum_by = None if keep or self._weights is None else self._sum_by(pull(self._weights))
                how = self._planned, uuid.uuid4().hex
                dealt = self._shards.send_out(*how, updates=self._updates, sum_by=sum_by, keep=keep)
                self._go_on(dealt)
                self._dealt = dealt
                if self._other:
                    self._put(dealt, np.array(list(self._other)), torch.stack(list(self._other.values())))
            return work(dealt)

        return pool.attempt(attempt)

    def _go_on(self, dealt: Dealt) -> None:
        """The caller's generators go on from where workers left them when this was trained first."""
        if self._dealt is None and self._streams is not None:
            for place, state in dealt.drawn.items():
                self._streams[place].bit_generator.state = state

    def __del__(self) -> None:
        dealt = getattr(self, "_dealt", None)
        if dealt is not None and dealt.kept and not sys.is_finalizing():
            self._shards.drop(dealt)

    def usable(self) -> Tensor:
        """Which rows hold finite numbers only, (n,); zeros do."""
        screened = self._asked(lambda dealt: dealt.usable, keep=False)
        usable = np.ones(self._shape[0], dtype=bool)
        usable[self._rows] = screened
        return torch.from_numpy(usable).to(self.device)

    def mixed(self, weights: Tensor, kept: Tensor, order: Tensor | None) -> Tensor:
        """As stated; a sum that was asked for when training began is there already."""
        wanted, used = weights.to("cpu", torch.float32), kept.cpu()
        planned = self._in_plan(order)
        if planned and self._weights is not None and bool(used.all()) and torch.equal(wanted, self._weights):
            total = self._asked(lambda dealt: dealt.total, keep=False)
            if total is not None and not self._other:
                return total.to(self.device)
        if planned:
            by, there = self._sum_by(pull(wanted)), pull(used)[self._rows]
            return self._asked(lambda dealt: self._chain(dealt, by, there)).to(self.device)
        few = pull((wanted != 0) & used).nonzero()[0]
        if len(few) <= len(self._shards.pool.hosts) and len(self) <= MANY:
            places = torch.from_numpy(few)
            return (wanted[places].unsqueeze(0).to(self.device) @ self.take(places))[0]
        return self.by_columns(_Mixed(wanted.unsqueeze(0), used, None if order is None else order.cpu()))[0]

    def _sum_by(self, weights: np.ndarray) -> SumBy:
        """The sum by weights (n,) of all owners."""
        return SumBy(weights[self._rows], blocks_of_sums(self._steps())[self._rows])

    def _steps(self) -> np.ndarray:
        steps = np.zeros(self._shape[0], dtype=np.int64)
        steps[self._rows] = self._planned.training.length.lengths(self._planned.counts)
        return steps

    def _order_of_sums(self) -> Tensor | None:
        found = order_of_sums(self._steps())
        return None if found is None else torch.from_numpy(found)

    def _in_plan(self, order: Tensor | None) -> bool:
        """Whether owners are to be added in the order in which they lie with the workers."""
        trained = np.concatenate([self._rows[chunk] for chunk in self._planned.chunks] or [self._rows[:0]])
        wanted = np.arange(self._shape[0]) if order is None else pull(order)
        return bool(np.array_equal(trained, wanted[np.isin(wanted, self._rows)]))

    def _chain(self, dealt: Dealt, by: SumBy, kept: np.ndarray) -> Tensor:
        """The sum, from worker to worker."""
        last: list[tuple[Host, Any]] = []
        for (host, places), stretch in zip(dealt.places, by.handed(dealt.places, self._size), strict=True):
            part = PartOfSum(by.weights[places], stretch, [reference for _, reference in last])
            last = [(host, self._shards.ask(host, 1, "mixed", dealt.name, kept[places], part))]
        found = self._shards.pool.collect(last)
        return torch.from_numpy(np.array(found[0][0])) if found else torch.zeros(self._size)

    def by_columns(self, work: Callable[[Tensor], Tensor]) -> Tensor:
        return self.worked_by_columns(work, np.arange(self._shape[0]))

    def products(self, work: Callable[[Tensor], Tensor]) -> Tensor:
        return self.worked_products(work, np.arange(self._shape[0]))

    def worked_by_columns(self, work: Callable[[Tensor], Tensor], of: np.ndarray) -> Tensor:
        """`by_columns` of some of the rows."""
        pieces = _split(self._size, max(PIECE // max(len(of), 1), 1))
        share = -(-self._size // len(self._shards.pool.hosts))
        # Where a piece is cut, sums down its columns must fall into the same lanes of the processor as in one piece.
        bounds = [part for piece in pieces for part in _cut(*piece, max(share // _LANES, 1) * _LANES)]
        return torch.cat(self._asked(lambda dealt: self._worked(dealt, work, bounds, of)), dim=-1).to(self.device)

    def worked_products(self, work: Callable[[Tensor], Tensor], of: np.ndarray) -> Tensor:
        """`products` of some of the rows."""
        bounds = _split(self._size, max(PIECE // max(len(of), 1), 1))
        found = self._asked(lambda dealt: self._worked(dealt, work, bounds, of))
        total = torch.zeros_like(found[0])
        for part in found:
            total += part
        return total.to(self.device)

    def _worked(
        self, dealt: Dealt, work: Callable[[Tensor], Tensor], bounds: list[tuple[int, int]], of: np.ndarray
    ) -> list[Tensor]:
        """What some work makes of blocks of columns, which the workers exchange among each other."""
        hosts = [host for host, _ in dealt.places]
        wanted = _places(of, self._shape[0])
        where = [wanted[self._rows[places]] for _, places in dealt.places]
        cuts = []
        for host, places in dealt.places:
            parts = self._shards.ask(host, len(bounds), "cut", dealt.name, bounds)
            cuts.append(parts if len(bounds) > 1 else [parts])
            away = sum(last - first for k, (first, last) in enumerate(bounds) if hosts[k % len(hosts)] is not host)
            host.traffic.up += 4 * len(places) * away
        asked = []
        for k, (first, last) in enumerate(bounds):
            turn = k % len(hosts)
            others = len(self._rows) - len(dealt.places[turn][1])
            hosts[turn].traffic.down += 4 * others * (last - first)
            given = (len(of), last - first), where, [cut[k] for cut in cuts], work
            asked.append((hosts[turn], self._shards.ask(hosts[turn], 1, "worked", *given)))
        return [torch.from_numpy(np.array(found)) for found in self._shards.pool.collect(asked)]

    def select(self, rows: Tensor) -> RowsElsewhere:
        return _Some(self, pull(rows))

    def take(self, rows: Tensor) -> Tensor:
        wanted = pull(rows)

        def brought(dealt: Dealt) -> Tensor:
            found = torch.zeros(len(wanted), self._size)
            asked, places = [], []
            for host, mine in dealt.places:
                here = _places(self._rows[mine], self._shape[0])[wanted]
                if np.any(here >= 0):
                    asked.append((host, self._shards.ask(host, 1, "take", dealt.name, here[here >= 0])))
                    places.append(torch.from_numpy(np.flatnonzero(here >= 0)))
            for place, part in zip(places, self._shards.pool.collect(asked), strict=True):
                found[place] = torch.from_numpy(np.array(part))
            return found

        return self._asked(brought).to(self.device)

    def replaced(self, rows: Tensor, by: Tensor) -> RowsElsewhere | Tensor:
        """These rows themselves, with other numbers in some of them."""
        wanted = pull(rows)
        if not np.isin(wanted, self._rows).all():  # nobody has the rows of owners that did not train
            return self.gathered("owners without data send updates").index_copy_(0, rows, by)
        self._other.update(zip(wanted.tolist(), by.to("cpu", torch.float32), strict=True))
        self._asked(lambda dealt: self._put(dealt, wanted, by))
        return self

    def _put(self, dealt: Dealt, wanted: np.ndarray, rows: Tensor) -> None:
        asked, whose = [], []
        for host, mine in dealt.places:
            here = _places(self._rows[mine], self._shape[0])[wanted]
            if np.any(here >= 0):
                inside = torch.from_numpy(here >= 0).to(rows.device)
                given = here[here >= 0], pull(rows[inside])
                asked.append((host, self._shards.ask(host, 1, "put", dealt.name, *given)))
                whose.append(mine[here[here >= 0]])
        for places, screened in zip(whose, self._shards.pool.collect(asked), strict=True):
            dealt.usable[places] = screened

    def gathered(self, reason: str) -> Tensor:
        if reason not in self._shards.said:
            self._shards.said.add(reason)
            LOG.warning(f"{reason}: {4e-6 * self._size * len(self._rows):.3g} MB come from the workers in a round")
        return self.take(torch.arange(self._shape[0]))


class _Some(RowsElsewhere):
    """Some of the rows that lie with workers."""

    def __init__(self, whole: SpreadRows, rows: np.ndarray) -> None:
        self._whole, self._rows, self.device = whole, rows, whole.device

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._rows), self._whole.shape[1]

    def usable(self) -> Tensor:
        return self._whole.usable()[torch.from_numpy(self._rows).to(self.device)]

    def mixed(self, weights: Tensor, kept: Tensor, order: Tensor | None) -> Tensor:
        if order is not None or len(self._whole) > MANY:
            how = weights.cpu().unsqueeze(0), kept.cpu(), None if order is None else order.cpu()
            return self.by_columns(_Mixed(*how))[0]
        every = torch.zeros(len(self._whole))
        every[torch.from_numpy(self._rows)] = weights.to("cpu", torch.float32)
        there = torch.zeros(len(self._whole), dtype=torch.bool)
        there[torch.from_numpy(self._rows)] = kept.cpu()
        return self._whole.mixed(every, there, None)

    def by_columns(self, work: Callable[[Tensor], Tensor]) -> Tensor:
        return self._whole.worked_by_columns(work, self._rows)

    def products(self, work: Callable[[Tensor], Tensor]) -> Tensor:
        return self._whole.worked_products(work, self._rows)

    def select(self, rows: Tensor) -> RowsElsewhere:
        return _Some(self._whole, self._rows[pull(rows)])

    def take(self, rows: Tensor) -> Tensor:
        return self._whole.take(torch.from_numpy(self._rows[pull(rows)]))

    def replaced(self, rows: Tensor, by: Tensor) -> RowsElsewhere | Tensor:
        return self.gathered("some of some owners' updates are tampered with").index_copy_(0, rows, by)

    def gathered(self, reason: str) -> Tensor:
        return self._whole.gathered(reason)[torch.from_numpy(self._rows).to(self.device)]


@dataclass(frozen=True, eq=False)
class _Mixed:
    """A weighted sum of the rows of a piece, those that are not kept left out."""

    weights: Tensor
    kept: Tensor
    order: Tensor | None = None

    def __call__(self, part: Tensor) -> Tensor:
        weights, kept = self.weights.to(part.device), self.kept.to(part.device)
        rows = torch.where(kept.unsqueeze(1), part, 0.0)
        if self.order is None:
            return weighted(weights, rows)
        order = self.order.to(part.device)
        return weighted(weights.index_select(1, order), rows.index_select(0, order))


def _split(size: int, width: int) -> list[tuple[int, int]]:
    """Where `Tensor.split` cuts."""
    return [(first, min(first + width, size)) for first in range(0, size, width)]


def _cut(first: int, last: int, width: int) -> list[tuple[int, int]]:
    """A range in parts of this width, the rest with the last of them.

    >>> _cut(0, 11, 4), _cut(0, 3, 4)
    ([(0, 4), (4, 11)], [(0, 3)])
    """
    begins = list(range(first, max(last - width, first) + 1, width)) or [first]
    return list(zip(begins, [*begins[1:], last], strict=True))


def _places(rows: np.ndarray, size: int) -> np.ndarray:
    """Where each of this many rows stands among some of them; -1 for the others."""
    found = np.full(size, -1, dtype=np.int64)
    found[rows] = np.arange(len(rows))
    return found
