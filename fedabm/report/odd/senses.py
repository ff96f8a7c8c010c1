"""What strategies look at: the entries of an owner's view that their code reads."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from types import FunctionType
from typing import Any

from fedabm.views import OwnerView

__all__ = ["entries_read"]

_ENTRIES = tuple(one.name for one in fields(OwnerView))
#: functions beside a strategy that it may call on its view
_NEAR = "fedabm.strategies"


def entries_read(strategy: Any) -> tuple[str, ...]:
    """The entries of the view that the code of a strategy names, in their order there.

    Functions that it calls are followed within its own module and within `fedabm.strategies`.  What a strategy does
    with a strategy that it wraps is told of that one.
    """
    act = type(strategy).act
    if not isinstance(act, FunctionType):
        return ()
    names = set(_names(act, type(strategy), {act}))
    return tuple(one for one in _ENTRIES if one in names)


def _names(function: FunctionType, owner: type, seen: set[FunctionType]) -> Iterator[str]:
    """All names in the code of a function, and in that of what it calls."""
    own = {name for code in _codes(function.__code__) for name in code.co_names}
    yield from own
    for name in own:
        called = function.__globals__.get(name, inspect.getattr_static(owner, name, None))
        near = isinstance(called, FunctionType) and (
            called.__module__ == function.__module__ or called.__module__.startswith(_NEAR)
        )
        if near and called not in seen:
            seen.add(called)
            yield from _names(called, owner, seen)


def _codes(code: Any) -> Iterator[Any]:
    """A code and those of functions within it."""
    yield code
    for one in code.co_consts:
        if inspect.iscode(one):
            yield from _codes(one)
