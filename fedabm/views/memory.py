"""What a strategy remembers: arrays by name, one row per owner; a table may hold further tables.

The population keeps it and slices it like everything else, so that a strategy stays a frozen description: nothing
survives from one run to the next, and one owner or ten thousand remember by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.curves import Flags, Rows

__all__ = ["Memory", "changed_rows", "check_memory", "held", "put_rows", "row_of", "same_rows", "take_rows"]

#: arrays by name, whose first axis runs over owners, or tables of such arrays
Memory = Mapping[str, Any]


def held(given: Memory | None, rows: int, who: str) -> dict[str, Any]:
    """A memory of one's own, to be written to, from what a strategy said that it wants to remember."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{who} wants to remember {type(given).__name__}; give arrays by name, one row per owner")
    kept: dict[str, Any] = {}
    for name, part in given.items():
        if isinstance(part, Mapping):
            kept[name] = held(part, rows, who)
            continue
        array = np.array(part)
        if array.dtype.kind not in "biuf" or array.ndim == 0 or len(array) != rows:
            got = f"shape {array.shape}" if array.dtype.kind in "biuf" else "something else than numbers"
            raise InputError(f"{who} wants to remember {name!r} with {got}; give {rows} rows of numbers, one per owner")
        kept[name] = array
    return kept


def check_memory(known: Memory, given: Memory, rows: int, who: str) -> None:
    """Raise unless what is to be remembered has the names and shapes that the strategy began with."""
    if not isinstance(given, Mapping) or set(given) != set(known):
        got = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        raise InputError(
            f"{who} began with a memory of {', '.join(known) or 'nothing'} and now gives {got or 'nothing'}; "
            "give all of it, or None to leave it as it is"
        )
    for name, part in known.items():
        if isinstance(part, Mapping):
            check_memory(part, given[name], rows, who)
            continue
        new = np.asarray(given[name])
        if new.shape != (rows, *part.shape[1:]):
            raise InputError(
                f"{who} remembers {name!r} of shape {new.shape}; give {(rows, *part.shape[1:])}, "
                "one row per row of the view"
            )
        if not np.can_cast(new.dtype, part.dtype, "same_kind"):
            raise InputError(
                f"{who} began with {part.dtype} as {name!r} and now gives {new.dtype}; begin with {new.dtype}, or round"
            )


def take_rows(memory: Memory, rows: Rows | None) -> dict[str, Any]:
    """Some owners' memory (None: everybody's), as a strategy sees it: it cannot be written to."""
    seen: dict[str, Any] = {}
    for name, part in memory.items():
        if isinstance(part, Mapping):
            seen[name] = take_rows(part, rows)
            continue
        seen[name] = part.view() if rows is None else part[rows]
        seen[name].setflags(write=False)
    return seen


def row_of(memory: Memory, row: int) -> dict[str, Any]:
    """One owner's memory: numbers, and arrays where it has several of a name."""
    return {
        name: row_of(part, row) if isinstance(part, Mapping) else np.copy(part[row])[()]
        for name, part in memory.items()
    }


def put_rows(memory: dict[str, Any], rows: Rows | None, given: Memory) -> None:
    """Overwrite some owners' memory (None: everybody's)."""
    for name, part in memory.items():
        if isinstance(part, Mapping):
            put_rows(memory[name], rows, given[name])
        else:
            part[slice(None) if rows is None else rows] = given[name]


def changed_rows(one: Memory, other: Memory, rows: int) -> Flags:
    """Which of this many rows of two memories differ."""
    changed = np.zeros(rows, dtype=bool)
    for name, part in one.items():
        if isinstance(part, Mapping):
            changed |= changed_rows(part, other[name], rows)
            continue
        new = np.asarray(other[name])
        same = (part == new) | (np.isnan(part) & np.isnan(new) if part.dtype.kind == "f" else False)
        changed |= ~np.all(same.reshape(rows, -1), axis=1)
    return changed


def same_rows(one: Memory, other: Memory) -> bool:
    """Whether two memories hold the same numbers."""
    for name, part in one.items():
        if isinstance(part, Mapping):
            if not same_rows(part, other[name]):
                return False
        elif not np.array_equal(part, other[name], equal_nan=part.dtype.kind == "f"):
            return False
    return True
