"""Which shapes of values annotations ask for, and what to call them in messages."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fedabm.common.errors import shown
from fedabm.specs.kinds import word
from fedabm.specs.plain import WANTED

__all__ = ["LISTS", "TABLES", "is_choice", "is_list", "keys_of", "may_be", "wanted"]

#: annotations that want a list, and that want a table
LISTS = (tuple, list, Sequence, Iterable)
TABLES = (dict, Mapping)


def is_list(hint: Any) -> bool:
    """Whether an annotation wants a list.

    >>> is_list(tuple[int, ...]), is_list(int)
    (True, False)
    """
    return (typing.get_origin(hint) or hint) in LISTS


def is_choice(given: Any, options: Iterable[Any]) -> bool:
    """Whether a value is among the choices that one of several annotations lists."""
    return any(typing.get_origin(one) is typing.Literal and given in typing.get_args(one) for one in options)


def may_be(given: Any, hint: Any) -> bool:
    """Whether a value has the shape that an annotation asks for, whatever it contains.

    >>> may_be("optmal", typing.Literal["optimal"]), may_be("optmal", float)
    (True, False)
    """
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return type(given) in map(type, typing.get_args(hint))
    if hint is Any:
        return True
    if isinstance(given, bool):
        return hint is bool
    if isinstance(given, int | float):
        return hint in (int, float)
    if isinstance(given, list | tuple):
        return origin in LISTS or origin is np.ndarray
    if isinstance(given, Mapping):
        if getattr(origin, "only_tables", False):
            return "kind" not in given
        return origin in TABLES or (inspect.isclass(origin) and origin not in (*WANTED, *LISTS))
    if getattr(origin, "only_tables", False):  # nothing of it has a name
        return False
    return hint not in (int, float, bool) and origin not in (*LISTS, *TABLES, np.ndarray)


def wanted(hint: Any) -> str:
    """What an annotation wants, in words.

    >>> wanted(float), wanted(tuple[int, ...]), wanted(typing.Literal["a", "b"])
    ('a number', 'a list', "'a' or 'b'")
    """
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    lists, tables = dict.fromkeys((*LISTS, np.ndarray), "a list"), dict.fromkeys(TABLES, "a table")
    name = word(origin) if inspect.isclass(origin) else str(hint)
    article = "an" if name[:1] in "aeiou" else "a"
    return {**WANTED, **lists, **tables, Callable: "a function"}.get(origin, f"{article} {name}")


def keys_of(table: Iterable[str]) -> str:
    """The keys of a table, in one line."""
    return ", ".join(key if key.isidentifier() else shown(key) for key in table) or "nothing"
