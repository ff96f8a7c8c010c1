"""What happened in a round, as arrays (..., owners): (n,) of one run, (runs, n) of many that are stepped together.

A column of the frames is a function of it (`fedabm.results.columns`).  Whatever reduces along the last axis serves one
run and a stack of runs alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import InputError
from fedabm.games.costs import Cost
from fedabm.games.money import outside_money
from fedabm.results.links import Links
from fedabm.views import NO_TRAFFIC, Traffic, Transfers

__all__ = ["NotStackable", "Round", "Sums"]


class NotStackable(InputError):
    """What keeps runs from being stepped together with others; they are done one by one instead."""


class Sums:
    """Sums of columns along the last axis, each known as long as its array stands."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Callable[[Array], Any]], tuple[Array, Any]] = {}

    def of(self, name: str, column: Array, *, gains: bool = False) -> Any:
        """The sum of a column, or of its gains only."""
        return self.known(name, column, _gains if gains else _all)

    def known(self, name: str, column: Array, summed: Callable[[Array], Any]) -> Any:
        """A column `summed` in some way."""
        known = self._known.get((name, summed))
        if known is None or known[0] is not column:
            known = (column, summed(column))
            self._known[name, summed] = known
        return known[1]


def _all(column: Array) -> Any:
    return column.sum(axis=-1)


def _gains(column: Array) -> Any:
    return np.maximum(column, 0.0).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class Round:
    """One entry per owner, by the names of the columns of the owners' frame, which says what they mean.

    `reported_cost` is the cost function that owners state (None: the mechanism does not ask), `refused` and `dropped`
    say whose report and whose model update counted as nothing; `absent` and `discount` who took no part in this round
    and what is taken off late updates, as a share.  `information` and `strategy_codes` are places in
    `fedabm.views.INFORMATION` and in `labels`, the names of strategies (`follows` asks by name).  `balance` (the
    server's account) and `moved` are one number per run; `links` is who imports whose model (None: all share one), and
    `traffic` how many models went up and down; `revealed` is what the owners' updates have revealed so far, as
    `fedabm.common.privacy` adds it up (None: nothing yet).
    `transfers` and `model`, the `Federation`, are there only where a run is stepped by itself.

    >>> n = np.arange(4.0)
    >>> flags = np.ones(4, dtype=bool)
    >>> one = Round(1, *[n] * 4, None, *[n] * 8, *[flags] * 4, n, *[n.astype(int)] * 2, list("abcd"), 0.0, 0.0)
    >>> one.follows("c").tolist()
    [False, False, True, False]
    >>> float(one.total("contribution")), float(one.mean("accuracy")), one.shape
    (6.0, 1.5, ())
    """

    step: int
    capacity: Array
    contribution: Array
    reported_contribution: Array
    reported_size: Array
    reported_cost: Cost | None
    accuracy: Array
    best_accuracy: Array
    gain: Array
    cost: Array
    owed: Array
    payment: Array
    money: Array
    utility: Array
    stayed: Flags
    refused: Flags
    dropped: Flags
    absent: Flags
    discount: Array
    information: NDArray[Any]
    strategy_codes: NDArray[Any]
    labels: Sequence[str]
    balance: Any
    moved: Any
    links: Links | None = None
    traffic: Traffic = NO_TRAFFIC
    revealed: Array | None = None
    only: tuple[Any, Transfers] | None = None
    sums: Sums = field(default_factory=Sums)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a round has no {name!r}; the federation is round.model")

    @property
    def shape(self) -> tuple[int, ...]:
        """() for one run, (runs,) for a stack."""
        return self.contribution.shape[:-1]

    @property
    def owners(self) -> int:
        """How many there are in a run, those included that have left."""
        return self.contribution.shape[-1]

    @property
    def model(self) -> Any:
        """The `Federation` of a run that is stepped by itself."""
        return self._only("model")[0]

    @property
    def transfers(self) -> Transfers:
        """Who paid whom in a run that is stepped by itself."""
        return self._only("transfers")[1]

    def _only(self, name: str) -> tuple[Any, Transfers]:
        if self.only is None:
            raise NotStackable(f"round.{name} belongs to a run that is stepped by itself; read arrays of the round")
        return self.only

    @cached_property
    def took_part(self) -> Flags:
        """Who is in the federation, was there in this round and not too late."""
        return self.stayed & ~self.absent & (self.discount < 1)

    @cached_property
    def rejected(self) -> Flags:
        """Whose report or model update was unusable."""
        return self.refused | self.dropped

    @property
    def outside_money(self) -> Any:
        """Money that owners were paid from outside, less what they left there."""
        return self.sums.known("outside_money", self.payment, outside_money)

    def same(self, value: Any) -> np.ndarray:
        """One number for every run."""
        return np.full(self.shape, value)

    def total(self, name: str, *, gains: bool = False) -> Any:
        """The sum of a column over all owners, or of its gains only."""
        return self.sums.of(name, getattr(self, name), gains=gains)

    def mean(self, name: str) -> Any:
        """The mean of a column over the owners that are there; 0 where nobody is."""
        column, there = getattr(self, name), self.stayed
        if there.all() and self.owners:
            return column.mean(axis=-1)
        rows = zip(column.reshape(-1, self.owners), there.reshape(-1, self.owners), strict=True)
        means = [row[here].mean() if here.any() else 0.0 for row, here in rows]
        return np.array(means).reshape(self.shape)

    def follows(self, strategy: str) -> Flags:
        """Whose strategy has this name."""
        return np.array([label == strategy for label in self.labels], dtype=bool)[self.strategy_codes]

    def by_strategy(self, column: Array | None = None, where: Flags | None = None) -> np.ndarray:
        """How many owners of one run each strategy has, or the sum of a column over them; `where` chooses some."""
        codes = self.strategy_codes if where is None else self.strategy_codes[where]
        weights = column if column is None or where is None else column[where]
        return np.bincount(codes, weights, minlength=len(self.labels))

    def one(self, run: int) -> Round:
        """The round of a single run of a stack."""
        values = {part.name: _row(getattr(self, part.name), run) for part in fields(self) if part.name != "sums"}
        return Round(**values)


def _row(value: Any, run: int) -> Any:
    """What is known of one run."""
    if isinstance(value, Cost):
        return value.take(run)  # type: ignore[arg-type]
    return value[run] if isinstance(value, np.ndarray) else value
