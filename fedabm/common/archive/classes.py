"""Which classes an archive may name, and how values of other packages are written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedabm.common.archive.given import Given, name_of
from fedabm.common.archive.kept import KEPT

__all__ = ["FOREIGN", "Unsaveable", "class_name", "find_class", "foreign", "is_foreign"]


class Unsaveable(TypeError):
    """Something that cannot be written down as data."""


@dataclass(frozen=True)
class _Foreign:
    types: tuple[type, ...]
    write: Callable[[Any], Sequence[Any]]
    read: Callable[..., Any]


FOREIGN: dict[str, _Foreign] = {}


def foreign(name: str, *types: type, write: Callable[[Any], Sequence[Any]], read: Callable[..., Any]) -> None:
    """Teach archives values of another package: `read` makes one of what `write` gives, and does nothing else."""
    FOREIGN[name] = _Foreign(types, write, read)


def is_foreign(value: Any) -> bool:
    """Whether a value is of another package that archives know."""
    return any(type(value) in other.types for other in FOREIGN.values())


def class_name(kind: type, given: Given) -> str:
    """The name of a class, by which a reader finds it."""
    name = name_of(kind)
    try:
        found = find_class(name, given)
    except ValueError:
        found = None
    if found is not kind:
        raise Unsaveable(f"{kind.__module__}.{kind.__qualname__} is no plain data")
    return name


def find_class(name: str, given: Given, base: type = object) -> Any:
    """The class of that name: one of the closed list, or the user's own if an object of it is given.

    It is looked up among what is loaded, so that an archive imports nothing, and by its own name only.
    """
    found = _kept(name) if name in KEPT else given.classes.get(name)
    if found is None or not issubclass(found, base) or not _is_plain(found):
        raise ValueError(f"it names {name}, which is no class of plain data")
    return found


def _kept(name: str) -> type | None:
    module, _, path = name.partition(":")
    found = getattr(sys.modules.get(module), path, None)
    return found if isinstance(found, type) and name_of(found) == name else None


def _is_plain(kind: type) -> bool:
    """Whether objects of a class can be filled in without code that is meant for pickles."""
    return kind.__getstate__ is object.__getstate__ and not (hasattr(kind, "__setstate__") or hasattr(kind, "__del__"))
