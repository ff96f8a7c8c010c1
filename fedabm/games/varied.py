"""Parts of scenarios that are equal but for some numbers, as one part that holds these numbers as columns.

Where many runs are stepped together, or many games solved, rules with rates 0.1 and 0.2 are one rule whose `rate` is a
column, one number per run, (runs, 1): formulas that work along the last axis serve it as they are.  A class lists in
`columns` which of its numbers may be columns, in `derives` what follows from them and is computed run by run, and as
its `form` whatever decides which way a formula goes: it must be the same for all runs.  A subclass says all of that
itself, since it may have formulas of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from fedabm.common.arrays import Array, Rows, made

__all__ = ["Joinable", "joined", "mapped", "picked", "rows_of", "sort_of", "spread"]

_Part = TypeVar("_Part")
#: where a part keeps the names of its columns
_NAMES = "_columns"


class Joinable:
    """What a class says of its numbers; by default that none may be a column."""

    columns: ClassVar[tuple[str, ...]] = ()
    derives: ClassVar[tuple[str, ...]] = ()

    @property
    def form(self) -> Hashable:
        """What must be the same for all runs beside the numbers that vary."""
        return ()

    @property
    def in_columns(self) -> bool:
        """Whether some of its numbers are columns."""
        return _NAMES in vars(self)


def sort_of(part: Any) -> Hashable:
    """What must be equal of two parts to be joined: all but the numbers that vary."""
    names = vars(type(part)).get("columns", ())
    if not names:
        return part
    values = ((one.name, getattr(part, one.name)) for one in fields(part))
    return type(part), part.form, *(("" if name in names and _number(value) else value) for name, value in values)


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def joined(parts: Sequence[_Part]) -> _Part:
    """One part for many runs, which are of one sort: numbers that differ are columns (runs, 1)."""
    kind, columns = type(parts[0]), {}
    for name in (*vars(kind).get("columns", ()), *vars(kind).get("derives", ())):
        values = [getattr(part, name) for part in parts]
        if any(value != values[0] for value in values):
            columns[name] = np.array(values, dtype=float)[:, None]
    return _with(parts[0], columns) if columns else parts[0]


def mapped(part: _Part, change: Callable[[Array], Array]) -> _Part:
    """The same with every column changed."""
    known = vars(part)
    names = known.get(_NAMES)
    return _with(part, {name: change(known[name]) for name in names}) if names else part


def _with(part: Any, columns: dict[str, Array]) -> Any:
    """A part with these columns; nothing that it has found out about other numbers is kept."""
    kind, known = type(part), vars(part)
    names = (*(one.name for one in fields(kind)), *kind.derives)
    kept = {name: known[name] for name in names if name in known}
    return made(kind, **{**kept, **columns, _NAMES: tuple(columns)})


def spread(number: Any, shape: tuple[int, ...]) -> Any:
    """A number as it is, a column (runs, 1) as one number for each owner."""
    return number if np.ndim(number) == 0 else np.broadcast_to(number, shape)


def picked(number: Any, rows: Rows) -> Any:
    """Some rows of a column that was spread; a number as it is."""
    return number if np.ndim(number) == 0 else number[rows]


def rows_of(part: _Part, rows: Rows) -> _Part:
    """Some rows of all columns."""
    return mapped(part, lambda column: column[rows])
