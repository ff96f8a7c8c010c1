"""Who takes part in a federation: the private facts of one owner, and those of many as columns.

A million owners are a dozen arrays; the profile of one of them is made when somebody asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array
from fedabm.common.coded import Coded
from fedabm.common.errors import (
    MOST,
    InputError,
    check_kind,
    check_number,
    check_positive,
    check_range,
    check_whole,
    finite_vector,
)
from fedabm.games.costs import Cost, Linear, PowerCost, check_costs, stack
from fedabm.strategies import BestResponse, Strategy

__all__ = ["OwnerProfile", "Owners", "population"]

#: an owner that is a person of its own
NOBODY_ELSE = -1


@dataclass(frozen=True)
class OwnerProfile:
    """An owner's private facts: what its data costs, how much it has, what it does, and where it starts.

    Parameters
    ----------
    cost : Cost
        What its data cost, as a function of the contribution.
    capacity : float
        How much data it has.
    strategy : Strategy, optional
        What it does.
    start : float, optional
        What it contributes before the first step.
    eagerness : float, optional
        How much it wants others' data, where the valuation knows that (K_i of iPFL 2025).
    joins : int, optional
        The step in which it joins, from 1 on.
    role : str, optional
        What to call its kind in frames and figures.
    person : int | None, optional
        Who is behind it: owners of one number are accounts of one person (default: a person of its own).
    budget : float, optional
        The money it has; it cannot pay more than that.
    agent : type | None, optional
        The class of its Mesa agent: a subclass of `Owner` whose `decide` takes the place of the strategy.
    name : str, optional
        What to call it in frames and figures (default: its number).
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
        check_strategy(self.strategy)
        check_kind("an owner's name", self.name, str)
        check_number("capacity", self.capacity)
        check_costs(self.cost, np.array([self.capacity]))
        check_range("starting contribution", self.start, 0.0, self.capacity)
        check_positive("eagerness", self.eagerness, zero=True)
        check_whole("joins", self.joins)
        check_range("budget", self.budget, 0.0, np.inf)
        if self.agent is not None and not (isinstance(self.agent, type) and hasattr(self.agent, "decide")):
            raise InputError(f"an owner's agent must be a subclass of Owner, got {self.agent!r}; give the class itself")


def check_strategy(strategy: Any) -> None:
    """Raise unless it is a strategy that can be compared with others."""
    if not isinstance(strategy, Strategy):
        raise InputError(f"an owner's strategy must be a strategy, got {strategy!r}; write BestResponse()")
    if type(strategy).__hash__ is None:
        raise InputError(f"{type(strategy).__name__} cannot be compared; make it a frozen dataclass")


@dataclass(frozen=True, eq=False, repr=False)
class Owners(Sequence[OwnerProfile]):
    """The owners of a scenario, one row each; as a sequence they are their profiles.

    >>> owners = population([0.1, 0.2, 0.3], 10.0)
    >>> len(owners), owners[1].cost.rate, owners[:2].capacity.tolist()
    (3, 0.2, [10.0, 10.0])
    """

    cost: Cost
    capacity: Array
    start: Array
    eagerness: Array
    joins: NDArray[np.int64]
    person: NDArray[np.int64]
    budget: Array
    strategy: Coded
    role: Coded
    name: Coded
    agent: Coded

    @classmethod
    def of(cls, profiles: Any) -> Owners:
        """The owners with these profiles."""
        if isinstance(profiles, Owners):
            return profiles
        given = tuple(profiles) if isinstance(profiles, Iterable) else (profiles,)
        if not given:
            raise InputError("a scenario needs owners, got none; give at least one OwnerProfile")
        for profile in given:
            check_kind("an owner", profile, OwnerProfile)
        person = [NOBODY_ELSE if one.person is None else one.person for one in given]
        made = cls(
            stack([one.cost for one in given]),
            np.array([one.capacity for one in given], dtype=float),
            np.array([one.start for one in given], dtype=float),
            np.array([one.eagerness for one in given], dtype=float),
            np.array([one.joins for one in given]),
            np.array(person),
            np.array([one.budget for one in given], dtype=float),
            *(Coded.of(getattr(one, name) for one in given) for name in ("strategy", "role", "name", "agent")),
        )
        # Users' own costs are looked at again and again if their profiles are made anew.
        object.__setattr__(made, "_profiles", given)
        return made

    @classmethod
    def uniform(
        cls, cost: PowerCost, capacity: Array, strategy: Coded, start: Array, agent: type | None, name: Coded
    ) -> Owners:
        """Owners who differ in costs, data, strategies, starts and names only."""
        n = len(capacity)
        columns = np.zeros(n), np.ones(n, dtype=np.int64), np.full(n, NOBODY_ELSE), np.full(n, np.inf)
        roles, agents = Coded.same("owner", n), Coded.same(agent, n)
        made = cls(cost, capacity, start, *columns, strategy, roles, name, agents)
        bad = ~((capacity > 0) & (capacity <= MOST) & (start >= 0) & (start <= capacity))
        for row in (0, *np.flatnonzero(bad)[:1].tolist()):
            made[row]  # a profile says what is wrong with it
        return made

    def __post_init__(self) -> None:
        for column in (*self.cost.columns, self.capacity, self.start, self.eagerness, self.joins, self.budget):
            column.setflags(write=False)

    @classmethod
    def joined(cls, parts: Sequence[Owners]) -> Owners:
        """The owners of several populations, one after the other."""
        costs = [part.cost for part in parts]
        if not all(cost.power for cost in costs):
            return cls.of([owner for part in parts for owner in part])
        columns: dict[str, Any] = {"cost": costs[0].concatenated(costs)}
        for name in (one.name for one in fields(cls) if one.name != "cost"):
            several = [getattr(part, name) for part in parts]
            columns[name] = Coded.joined(several) if isinstance(several[0], Coded) else np.concatenate(several)
        return cls(**columns)

    def __len__(self) -> int:
        return len(self.capacity)

    @overload
    def __getitem__(self, row: int) -> OwnerProfile: ...
    @overload
    def __getitem__(self, row: slice) -> Owners: ...
    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return self._take(np.arange(len(self))[row])
        row = range(len(self))[row]
        given = vars(self).get("_profiles")
        return self._made(row) if given is None else given[row]

    def __iter__(self) -> Iterator[OwnerProfile]:
        return (self[row] for row in range(len(self)))

    def _made(self, row: int) -> OwnerProfile:
        cost = PowerCost(*(column[row].item() for column in self.cost.columns))
        person = int(self.person[row])
        return OwnerProfile(
            cost,
            float(self.capacity[row]),
            self.strategy[row],
            float(self.start[row]),
            float(self.eagerness[row]),
            int(self.joins[row]),
            self.role[row],
            None if person == NOBODY_ELSE else person,
            float(self.budget[row]),
            self.agent[row],
            self.name[row],
        )

    def _take(self, rows: NDArray[np.intp]) -> Owners:
        given = vars(self).get("_profiles")
        if given is not None:
            return Owners.of([given[row] for row in rows.tolist()])
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        some: dict[str, Any] = {
            name: part[rows] if isinstance(part, np.ndarray) else part.take(rows) for name, part in columns.items()
        }
        return Owners(**some)

    def __add__(self, other: Iterable[OwnerProfile]) -> Owners:
        return Owners.of((*self, *other))

    def __radd__(self, other: Iterable[OwnerProfile]) -> Owners:
        return Owners.of((*other, *self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented
        if not isinstance(other, Owners) or "_profiles" in vars(self) or "_profiles" in vars(other):
            return tuple(self) == tuple(other)
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self) if one.name != "cost")
        same = all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)
        costs = zip(self.cost.columns, other.cost.columns, strict=True)
        return same and all(np.array_equal(a, b) for a, b in costs)

    def __hash__(self) -> int:
        return hash((len(self), self.capacity.tobytes()))

    def __repr__(self) -> str:
        return repr(tuple(self)) if len(self) <= 8 else f"Owners({self[0]!r}, and {len(self) - 1} more)"

    def check_names(self) -> None:
        """Raise if two owners have the same name."""
        times = Counter(dict(enumerate(np.bincount(self.name.codes, minlength=len(self.name.values)).tolist())))
        twice = [code for code, count in times.items() if count > 1 and self.name.values[code]]
        if twice:
            called = self.name.values[twice[0]]
            raise InputError(f"{times[twice[0]]} owners are called {called!r}; give each a name of its own")


def population(
    costs: Any,
    capacities: Any,
    strategies: Strategy | Sequence[Strategy] | None = None,
    starts: Any = 0.0,
    agent: type | None = None,
    names: Sequence[str] = (),
    codes: Any = None,
) -> Owners:
    """Make one owner per cost; numbers are linear rates, single values serve everybody.

    With `codes` owner k has the strategy `strategies[codes[k]]`, so that a million owners need a few strategies and
    some arrays; several costs can also be given as one with arrays, `Quadratic(rates)`.

    >>> [owner.capacity for owner in population([0.1, 0.2], 10.0)]
    [10.0, 10.0]

    Parameters
    ----------
    costs : Any
        One cost per owner; numbers are rates of linear costs.
    capacities : Any
        How much data each owner has: one number per owner, or one for all.
    strategies : Strategy | Sequence[Strategy] | None, optional
        One strategy for all, or one per owner, or those that `codes` choose from.
    starts : Any, optional
        What owners contribute before the first step.
    agent : type | None, optional
        The class of their Mesa agents, if not `Owner`.
    names : Sequence[str], optional
        What to call them.
    codes : Any, optional
        Owner k has the strategy `strategies[codes[k]]`.

    Returns
    -------
    Owners
        The owners, as a table that reads as a sequence of profiles.
    """
    made = _costs(costs)
    n = len(made) if isinstance(made, list) else made.owners
    if not n:
        raise InputError("a population needs owners, got an empty list of costs; give one cost per owner")
    size = np.array(finite_vector("capacities", capacities, n))
    start = np.minimum(finite_vector("starts", starts, n), size)
    chosen = _strategies(strategies, codes, n)
    if names and len(names) != n:
        raise InputError(f"{len(names)} names but {n} costs; give one name per owner, or none")
    for name in names:
        check_kind("an owner's name", name, str)
    called = Coded.of(names) if names else Coded.same("", n)
    if not isinstance(made, list):
        return Owners.uniform(made.each(n), size, chosen, start, agent, called)
    return Owners.of(
        OwnerProfile(cost, float(size[row]), chosen[row], float(start[row]), agent=agent, name=called[row])
        for row, cost in enumerate(made)
    )


def _costs(costs: Any) -> PowerCost | list[Cost]:
    """The costs as one of the closed family, or one by one if some are of others."""
    if isinstance(costs, Cost) and costs.power and costs.owners is not None:
        return costs.as_power()
    if np.ndim(costs) == 0:
        raise InputError(f"costs must be a list, got {costs!r}; give one cost per owner")
    if isinstance(costs, np.ndarray) and costs.ndim == 1 and costs.dtype.kind in "fiu" and len(costs):
        return PowerCost(costs.astype(float))
    made = [cost if isinstance(cost, Cost) else Linear(cost) for cost in costs]
    if made and all(cost.power and cost.owners is None for cost in made):
        return stack(made)  # type: ignore[return-value]
    return made


def _strategies(strategies: Any, codes: Any, n: int) -> Coded:
    """The strategy of every owner."""
    if codes is not None:
        numbers, several = np.asarray(codes), isinstance(strategies, Sequence)
        if not several or numbers.shape != (n,) or numbers.dtype.kind not in "iu":
            raise InputError(f"codes of strategies must be {n} whole numbers beside a list of strategies; give both")
        if numbers.min() < 0 or numbers.max() >= len(strategies):
            raise InputError(
                f"codes of strategies must lie between 0 and {len(strategies) - 1}; give places in the list"
            )
        for strategy in strategies:
            check_strategy(strategy)
        return Coded(tuple(strategies), numbers.astype(np.int32))
    if isinstance(strategies, str):
        check_strategy(strategies)
    if not isinstance(strategies, Sequence):
        return Coded.same(strategies or BestResponse(), n)
    if len(strategies) != n:
        raise InputError(f"{len(strategies)} strategies but {n} costs; give one strategy per owner")
    for strategy in strategies:
        check_strategy(strategy)
    return Coded.of(strategies)
