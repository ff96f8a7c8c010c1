"""The costs of many owners as one: arrays where all are of one family, a row-wise mixture where they are not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import made
from fedabm.common.errors import InputError
from fedabm.games.costs.base import Cost, Flags
from fedabm.games.costs.power import Linear, PowerCost
from fedabm.games.curves import Array, Rows

Members = NDArray[np.intp]

__all__ = ["MixedCost", "costs_of", "covers", "groups", "of_one_kind", "replaced", "single", "stack"]


@dataclass(frozen=True, eq=False)
class MixedCost(Cost):
    """Owners of several families; `rows[k]` are those whose cost is `parts[k]`, in ascending order."""

    rows: tuple[Members, ...]
    parts: tuple[Cost, ...]

    @property
    def owners(self) -> int:
        """How many there are in all."""
        return sum(len(rows) for rows in self.rows)

    @property
    def columns(self) -> tuple[NDArray, ...]:
        """Those of all parts."""
        return (*self.rows, *(column for part in self.parts for column in part.columns))

    @property
    def convex(self) -> Flags:  # type: ignore[override]
        """Whose cost is convex between its kinks."""
        return self._flags(lambda part: part.convex)

    @property
    def straight(self) -> Flags:  # type: ignore[override]
        """Whose cost is straight between its kinks."""
        return self._flags(lambda part: part.straight)

    @property
    def closed(self) -> Flags:  # type: ignore[override]
        """Whose cost is of a closed family."""
        return self._flags(lambda part: part.closed)

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(part.linear for part in self.parts)

    def value(self, x: Array) -> Array:
        """c(x) of every owner, by its own function."""
        return self._ask(lambda part, own: _finite(part, own, part.value(own)), x)

    def slope(self, x: Array) -> Array:
        """c'(x) of every owner."""
        return self._ask(lambda part, own: part.slope(own), x)

    def curvature(self, x: Array) -> Array:
        """c''(x) of every owner."""
        return self._ask(lambda part, own: part.curvature(own), x)

    def unit(self, x: Array) -> Array:
        """The price of a unit of every owner."""
        return self._ask(lambda part, own: part.unit(own), x)

    def kinks(self, owners: int) -> Array:
        """The kinks of every owner."""
        return self._table((part.kinks(len(rows)) for rows, part in groups(self)), empty=np.inf)

    def figures(self) -> Array:
        """The figures of every owner."""
        return self._table((part.figures() for part in self.parts), empty=0.0)

    def scaled(self, factor: float) -> MixedCost:
        """Everybody's cost multiplied by a factor."""
        return MixedCost(self.rows, tuple(part.scaled(factor) for part in self.parts))

    def take(self, rows: Rows) -> Cost:
        """The costs of some owners only; a row may be taken twice."""
        chosen = np.arange(self.owners)[rows]
        part, place = self._places
        order = np.argsort(part[chosen], kind="stable")
        ends = np.searchsorted(part[chosen][order], np.arange(len(self.parts) + 1))
        inner = (order[low:high] for low, high in pairwise(ends))
        return _mixture((one, self.parts[k].take(place[chosen[one]])) for k, one in enumerate(inner) if len(one))

    @cached_property
    def _places(self) -> tuple[Members, Members]:
        """To which part each owner belongs, and in which row of it."""
        part, place = np.empty(self.owners, dtype=np.intp), np.empty(self.owners, dtype=np.intp)
        for number, rows in enumerate(self.rows):
            part[rows] = number
            place[rows] = np.arange(len(rows))
        return part, place

    def _ask(self, question: Callable[[Cost, Array], Any], x: Array) -> Array:
        answer = np.empty(x.shape)
        for rows, part in groups(self):
            answer[rows] = question(part, x[rows])
        return answer

    def _flags(self, question: Callable[[Cost], bool | Flags]) -> Flags:
        answer = np.empty(self.owners, dtype=bool)
        for rows, part in groups(self):
            answer[rows] = question(part)
        return answer

    def _table(self, tables: Iterable[Array], empty: float) -> Array:
        """One row of numbers per owner, as wide as the widest part's."""
        known = list(tables)
        answer = np.full((self.owners, max(table.shape[1] for table in known)), empty)
        for rows, table in zip(self.rows, known, strict=True):
            answer[rows, : table.shape[1]] = table
        return answer


def _finite(part: Cost, x: Array, seen: Any) -> Any:
    """What a user's own function answers, if that is a finite number for each contribution."""
    if not np.all(part.closed):
        if np.shape(seen) != x.shape:
            got = f"shape {np.shape(seen)} for contributions of shape {x.shape}"
            raise InputError(f"{part!r} must be elementwise, got {got}; return one cost per contribution")
        if not np.all(np.isfinite(seen)):
            point = x[~np.isfinite(seen)].flat[0]
            raise InputError(f"{part!r} is not finite at {point:g}; define it for every contribution from 0 on")
    return seen


def groups(cost: Cost, owners: int = 0) -> Iterator[tuple[Members, Cost]]:
    """The families in a cost: the rows of each, and their costs.  One function serves all of `owners`."""
    if isinstance(cost, MixedCost):
        return zip(cost.rows, cost.parts, strict=True)
    return iter([(np.arange(cost.owners or owners), cost)])


def single(cost: Cost, row: int) -> Cost:
    """The cost of one owner, with single numbers."""
    (_, own), *_ = groups(cost.take([row]), 1)
    return PowerCost(*(float(column[0]) for column in own.columns)) if own.power else own


def _mixture(pieces: Iterable[tuple[Members, Cost]]) -> Cost:
    """The cost of all owners from those of some rows each, whose families are held together."""
    families: dict[Hashable, list[tuple[Members, Cost]]] = {}
    for rows, part in pieces:
        families.setdefault(part.family, []).append((rows, part))
    rows_of, parts = [], []
    for members in families.values():
        rows = np.concatenate([rows for rows, _ in members])
        order = np.argsort(rows, kind="stable")
        one = members[0][1]
        one = one.each(len(rows)) if len(members) == 1 else one.concatenated([part for _, part in members])
        rows_of.append(rows[order])
        parts.append(one.take(order))
    return parts[0] if len(parts) == 1 and parts[0].owners is not None else MixedCost(tuple(rows_of), tuple(parts))


def stack(costs: Sequence[Cost]) -> Cost:
    """Put the costs of many owners into one `Cost` with one row per owner.

    >>> stack([Linear(0.1), PowerCost(0.25, 2.0)]).value(np.array([2.0, 2.0]))
    array([0.2, 1. ])
    """
    if not costs:
        raise InputError("no owners: got an empty list of costs; give at least one owner")
    if any(cost.owners is not None for cost in costs):
        raise InputError("one of the costs is that of several owners; list one cost per owner, with single numbers")
    if all(cost.power for cost in costs):
        return costs[0].concatenated(costs)
    return _mixture((np.array([row]), cost) for row, cost in enumerate(costs))


def costs_of(costs: Any, owners: int = 1) -> Cost:
    """Costs of all owners, one row each, from a list of costs or numbers (linear rates) or a stacked `Cost`.

    A single cost or number is that of each of `owners`.

    >>> costs_of([0.1, PowerCost(0.25, 2.0)]).rate
    array([0.1 , 0.25])

    Parameters
    ----------
    costs : Any
        A list of costs or numbers (linear rates), a stacked `Cost`, or one of them for all.
    owners : int, optional
        How many owners there are.

    Returns
    -------
    Cost
        Costs of all owners, one row each.
    """
    if isinstance(costs, Cost):
        return _mixture(groups(costs.each(owners), owners))
    several = isinstance(costs, (Sequence, np.ndarray)) and not isinstance(costs, str)
    several = several and getattr(costs, "ndim", 1) > 0
    items = list(costs) if several else [costs] * owners
    return stack([item if isinstance(item, Cost) else Linear(_rate(item)) for item in items])


def replaced(cost: Cost, rows: Members, others: Cost) -> Cost:
    """The costs of all owners, with those in `rows` replaced by others; a row after the last is a newcomer's."""
    known = cost.owners or 0
    if cost.power and others.power and np.max(rows, initial=0) < known:
        columns = [column.copy() for column in cost.columns]
        for column, other in zip(columns, others.columns, strict=True):
            column[rows] = other
        rate, exponent, fixed = columns
        return made(PowerCost, rate=rate, exponent=exponent, fixed=fixed)
    kept = np.setdiff1d(np.arange(known), rows)
    old = ((kept[inner], part) for inner, part in groups(cost.take(kept)) if len(inner))
    new = ((rows[inner], part.each(len(inner))) for inner, part in groups(others, len(rows)) if len(inner))
    return _mixture([*old, *new])


def of_one_kind(cost: Cost, other: Cost, owners: int) -> Flags:
    """For which owners two costs are of the same kind, so that only their figures differ."""
    if not isinstance(cost, MixedCost) and not isinstance(other, MixedCost):
        return np.broadcast_to(cost.same_family(other), owners)
    answer = np.zeros(owners, dtype=bool)
    for rows, part in groups(cost, owners):
        for inner, one in groups(other.take(rows), len(rows)):
            answer[rows[inner]] = part.take(inner).same_family(one)
    return answer


def covers(cost: Cost, part: Cost, owners: int) -> Flags:
    """For which owners a part is of the same kind and has no larger figure, so that what is left is such a cost too."""
    whole, less = cost.figures(), part.figures()
    shared = min(whole.shape[1], less.shape[1])
    enough = np.all(whole[:, :shared] >= less[:, :shared], axis=1) & np.all(less[:, shared:] <= 0, axis=1)
    return of_one_kind(cost, part, owners) & enough


def _rate(item: Any) -> float:
    """One number as the rate of a linear cost."""
    try:
        return float(item)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"a cost must be a number or a Cost, got {item!r}; give the cost of one unit of data"
        ) from None
