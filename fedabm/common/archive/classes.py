"""Which classes an archive may name, and how values of other packages are written."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedabm.common.archive.given import Given, is_ours

__all__ = ["FOREIGN", "Unsaveable", "class_name", "find_class", "foreign", "is_trusted"]


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


def is_trusted(module: str, given: Given) -> bool:
    """Whether classes of a module may be named."""
    return is_ours(module) or module in given.modules


def class_name(kind: type, given: Given) -> str:
    """The name of a class, by which a reader finds it."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        found = find_class(name, given)
    except ValueError:
        found = None
    if found is not kind:
        raise Unsaveable(f"{kind.__module__}.{kind.__qualname__} is no plain data")
    return name


def find_class(name: str, given: Given, base: type = object) -> Any:
    """The class of that name, if it is trusted and objects of it can be filled in without further ado."""
    module, _, path = name.partition(":")
    if not is_trusted(module, given):
        raise ValueError(f"it names {name}, which is not trusted")
    found: Any = importlib.import_module(module) if is_ours(module) else sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    own = f"{getattr(found, '__module__', None)}:{getattr(found, '__qualname__', None)}"
    if not isinstance(found, type) or own != name or not issubclass(found, base) or hasattr(found, "__del__"):
        raise ValueError(f"it names {name}, which is no class of plain data")
    return found
