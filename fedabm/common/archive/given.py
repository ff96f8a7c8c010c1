"""What two processes both have, such as the scenario that the same command makes again.

Whatever is found in it goes by its place, for instance `("owners", 3, "strategy")`, and need not be written down.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np

__all__ = ["PLAIN", "Given", "Place", "attributes", "found_later", "is_ours"]

#: values that take no more room than the name of a place
PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)

Place = tuple[str | int, ...]


class Given:
    """All that can be reached in a value by attributes and places in tuples.

    `modules` are those of the classes and functions among it, ours and Python's own aside: code that the user runs.

    >>> shared = (["a", "list"], 3)
    >>> Given(shared).place(shared[0]), Given(shared).at((0,))
    ((0,), ['a', 'list'])
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._places: dict[int, Place] = {}
        self._paths: dict[PurePath, Place] = {}
        self.modules: set[str] = set()
        self._walk(root, ())

    def place(self, value: Any) -> Place | None:
        """Where a value stands (for paths: an equal one); None if it is not among what is given."""
        return self._paths.get(value) if isinstance(value, PurePath) else self._places.get(id(value))

    def at(self, place: Place) -> Any:
        """What stands at a place; KeyError if nothing does."""
        found = self._root
        for step in place:
            found = dict(_parts(found))[step]
        return found

    def _walk(self, value: Any, place: Place) -> None:
        if isinstance(value, PLAIN) or id(value) in self._places or (isinstance(value, tuple) and not value):
            return
        self._places[id(value)] = place
        if isinstance(value, PurePath):
            self._paths.setdefault(value, place)
            return
        home = _home(value)
        if not is_ours(home) and home.partition(".")[0] not in sys.stdlib_module_names:
            self.modules.add(home)
        for step, part in _parts(value):
            self._walk(part, (*place, step))


def _home(value: Any) -> str:
    """The module of a class or function, or of an object's class."""
    code = isinstance(value, type) or inspect.isroutine(value)
    return getattr(value if code else type(value), "__module__", None) or ""


def is_ours(module: str) -> bool:
    """Whether a module belongs to this package."""
    return module.partition(".")[0] == "fedabm"


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """What can be reached in one step; what is only found later may not be there yet, and is left out."""
    if isinstance(value, tuple):
        yield from enumerate(value)
    elif not (isinstance(value, type) or inspect.isroutine(value) or inspect.ismodule(value)):
        yield from ((name, part) for name, part in attributes(value).items() if not found_later(value, name))


def found_later(value: Any, name: str) -> bool:
    """Whether an attribute is a `cached_property`."""
    return isinstance(inspect.getattr_static(type(value), name, None), cached_property)


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds, in slots or in its dictionary."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind) if hasattr(value, name)]
    return {**{name: getattr(value, name) for name in slots}, **getattr(value, "__dict__", {})}


def _slots(kind: type) -> list[str]:
    named = kind.__dict__.get("__slots__", ())
    return [name for name in ([named] if isinstance(named, str) else named) if not name.startswith("__")]
