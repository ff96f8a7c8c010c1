"""What two processes both have, such as the scenario that the same command makes again.

Whatever is found in it goes by its place, for instance `("owners", 3, "strategy")`, and need not be written down.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any

import numpy as np

__all__ = ["PLAIN", "Given", "Place", "attributes", "found_later", "is_code", "is_ours", "name_of"]

#: values that take no more room than the name of a place
PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)

#: packages whose classes are neither ours nor the user's
_LIBRARIES = {"mesa", "networkx", "numpy", "pandas", "pyarrow", "scipy", "torch"}

#: where NetworkX keeps what it, or somebody else, has found in a graph until that is changed
_KEPT_WITH_GRAPHS = "__networkx_cache__"

Place = tuple[str | int, ...]


class Given:
    """All that can be reached in a value by attributes and places in tuples.

    `classes` are the user's own classes of which there is an object among it, by name.

    >>> shared = (["a", "list"], 3)
    >>> Given(shared).place(shared[0]), Given(shared).at((0,))
    ((0,), ['a', 'list'])
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._places: dict[int, Place] = {}
        self._paths: dict[PurePath, Place] = {}
        self.classes: dict[str, type] = {}
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
        if _is_users(type(value)):
            self.classes.setdefault(name_of(type(value)), type(value))
        for step, part in _parts(value):
            self._walk(part, (*place, step))


def name_of(kind: type) -> str:
    """A class by its own module and name."""
    return f"{kind.__module__}:{kind.__qualname__}"


def is_code(value: Any) -> bool:
    """Whether a value is a class, a function or a method, and not data."""
    return isinstance(value, type | partial) or inspect.isroutine(value)


def is_ours(module: str) -> bool:
    """Whether a module belongs to this package."""
    return module.partition(".")[0] == "fedabm"


def _is_users(kind: type) -> bool:
    """Whether a class is the user's own."""
    package = kind.__module__.partition(".")[0]
    return not is_ours(package) and package not in sys.stdlib_module_names and package not in _LIBRARIES


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """What can be reached in one step; what is only found later may not be there yet, and is left out."""
    if isinstance(value, tuple):
        yield from enumerate(value)
    elif not (isinstance(value, type) or inspect.isroutine(value) or inspect.ismodule(value)):
        yield from ((name, part) for name, part in attributes(value).items() if not found_later(value, name))


def found_later(value: Any, name: str) -> bool:
    """Whether an attribute is a `cached_property`, or what NetworkX keeps beside a graph."""
    return name == _KEPT_WITH_GRAPHS or isinstance(inspect.getattr_static(type(value), name, None), cached_property)


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds, in slots or in its dictionary."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind) if hasattr(value, name)]
    return {**{name: getattr(value, name) for name in slots}, **getattr(value, "__dict__", {})}


def _slots(kind: type) -> list[str]:
    named = kind.__dict__.get("__slots__", ())
    return [name for name in ([named] if isinstance(named, str) else named) if not name.startswith("__")]
