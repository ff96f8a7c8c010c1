"""One frozen, validated description of a study's run; vary it with `dataclasses.replace`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np

from fedabm.common.errors import (
    InputError,
    check_kind,
    check_number,
    check_positive,
    check_range,
    check_whole,
    finite_vector,
)
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost, Linear, check_costs
from fedabm.games.valuation import Received, Valuation
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.results.columns import Column
from fedabm.simulation.activation import Activation, Simultaneous
from fedabm.simulation.network import check_network
from fedabm.simulation.stopping import AtRest, Stopping
from fedabm.strategies import BestResponse, Strategy

__all__ = ["OwnerProfile", "Scenario", "population"]


@dataclass(frozen=True)
class OwnerProfile:
    """An owner's private facts: what its data costs, how much it has, what it does, and where it starts.

    eagerness  how much it wants others' data, where the valuation knows that (K_i of iPFL 2025)
    joins      the step in which it joins the federation
    role       what to call its kind in frames and figures
    name       what to call it in frames and figures, such as "St. Mary" (default: its number)
    person     who is behind it: owners of the same number are accounts of one person (default: a person of its own)
    budget     the money it has; it cannot pay more than that (see `Treasury`)
    agent      the class of its Mesa agent: a subclass of `Owner` whose `decide` takes the place of the strategy
    """

    cost: Cost
    capacity: float
    strategy: Strategy = field(default_factory=BestResponse)
    start: float = 0.0
    eagerness: float = 0.0
    joins: int = 1
    role: str = "owner"
    person: int | None = None
    budget: float = np.inf
    agent: type | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.cost, Cost):
            raise InputError(f"an owner's cost must be a cost function, got {self.cost!r}; write Linear(0.1)")
        if self.cost.owners is not None:
            raise InputError(f"an owner has one cost, got {self.cost!r}; give one OwnerProfile per owner")
        if not isinstance(self.strategy, Strategy):
            raise InputError(f"an owner's strategy must be a strategy, got {self.strategy!r}; write BestResponse()")
        check_kind("an owner's name", self.name, str)
        if type(self.strategy).__hash__ is None:
            raise InputError(f"{type(self.strategy).__name__} cannot be compared; make it a frozen dataclass")
        check_number("capacity", self.capacity)
        check_costs(self.cost, np.array([self.capacity]))
        check_range("starting contribution", self.start, 0.0, self.capacity)
        check_positive("eagerness", self.eagerness, zero=True)
        check_whole("joins", self.joins)
        check_range("budget", self.budget, 0.0, np.inf)
        if self.agent is not None and not (isinstance(self.agent, type) and hasattr(self.agent, "decide")):
            raise InputError(f"an owner's agent must be a subclass of Owner, got {self.agent!r}; give the class itself")


@dataclass(frozen=True)
class Scenario:
    """Who plays (owners), for what (accuracy), under which rule (mechanism), in which order, for how long.

    `valuation` is what a settled step is worth to owners: by default the accuracy they receive less their cost.
    A run ends after `steps`, or earlier by its `stopping` rule: by default when nobody moves by more than `tolerance`
    times its capacity any more.  It has converged only if the certified gap is then at most `gap_tolerance`.
    `network` is a NetworkX graph of who sees whom (`fedabm.simulation.network`), `columns` are further columns of the
    frames (`fedabm.results.columns.Column`).  `seats` is the number of owners that the accuracy knows where that is
    more than there are at the beginning: room for those who are added while the run goes on.
    `record` keeps every k-th step in the frames (None: the last step only), so that memory stays bounded.
    `pay_every` is the number of steps in a stage: payments are kept and settled at its end (see `Treasury`).
    """

    owners: tuple[OwnerProfile, ...]
    accuracy: Accuracy
    mechanism: Mechanism = field(default_factory=NoPayments)
    activation: Activation = field(default_factory=Simultaneous)
    steps: int = 200
    tolerance: float = 1e-9
    record: int | None = 1
    name: str = "scenario"
    valuation: Valuation = field(default_factory=Received)
    pay_every: int = 1
    stopping: Stopping = field(default_factory=AtRest)
    gap_tolerance: float = 1e-8
    network: nx.Graph | None = None
    columns: tuple[Column, ...] = ()
    seats: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "owners", tuple(self.owners) if isinstance(self.owners, Iterable) else (self.owners,))
        if not self.owners:
            raise InputError("a scenario needs owners, got none; give at least one OwnerProfile")
        for owner in self.owners:
            check_kind("an owner", owner, OwnerProfile)
        _check_names([owner.name for owner in self.owners if owner.name])
        for what, value, kind in (
            ("accuracy", self.accuracy, Accuracy),
            ("mechanism", self.mechanism, Mechanism),
            ("activation", self.activation, Activation),
            ("valuation", self.valuation, Valuation),
            ("stopping", self.stopping, Stopping),
        ):
            check_kind(what, value, kind)
        wanted = getattr(self.accuracy, "owners", None)
        if wanted is not None and wanted != self.room:
            raise InputError(f"{self.room} owners but an accuracy for {wanted}; give the same number")
        if self.network is not None:
            check_network(self.network, len(self.owners))
        object.__setattr__(self, "columns", tuple(self.columns))
        for column in self.columns:
            check_kind("a column", column, Column)
        check_whole("steps", self.steps)
        if self.seats is not None:
            check_whole("seats", self.seats, len(self.owners))
        check_whole("pay_every", self.pay_every)
        check_positive("tolerance", self.tolerance, zero=True)
        check_positive("gap_tolerance", self.gap_tolerance, zero=True)
        if self.record is not None:
            check_whole("record", self.record)

    @property
    def room(self) -> int:
        """For how many owners there is room if the accuracy needs to know."""
        return len(self.owners) if self.seats is None else self.seats


def population(
    costs: Sequence[Any],
    capacities: Any,
    strategies: Strategy | Sequence[Strategy] | None = None,
    starts: Any = 0.0,
    agent: type | None = None,
    names: Sequence[str] = (),
) -> tuple[OwnerProfile, ...]:
    """Make one owner per cost; numbers are linear rates, single values serve everybody.

    >>> [owner.capacity for owner in population([0.1, 0.2], 10.0)]
    [10.0, 10.0]
    """
    if np.ndim(costs) == 0:
        raise InputError(f"costs must be a list, got {costs!r}; give one cost per owner")
    n = len(costs)
    if n == 0:
        raise InputError("a population needs owners, got an empty list of costs; give one cost per owner")
    made = [cost if isinstance(cost, Cost) else Linear(cost) for cost in costs]
    size, start = finite_vector("capacities", capacities, n), finite_vector("starts", starts, n)
    chosen = list(strategies) if isinstance(strategies, Sequence) else [strategies or BestResponse()] * n
    if len(chosen) != n:
        raise InputError(f"{len(chosen)} strategies but {n} costs; give one strategy per owner")
    if names and len(names) != n:
        raise InputError(f"{len(names)} names but {n} costs; give one name per owner, or none")
    called = list(names) or [""] * n
    columns = zip(made, size.tolist(), chosen, np.minimum(start, size).tolist(), called, strict=True)
    return tuple(
        OwnerProfile(cost, capacity, strategy, begin, agent=agent, name=name)
        for cost, capacity, strategy, begin, name in columns
    )


def _check_names(names: Sequence[str]) -> None:
    """Raise if two owners have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"{names.count(twice[0])} owners are called {twice[0]!r}; give each a name of its own")
