"""A TOML value, read as an annotation wants it: numbers, texts, lists, tables, and objects by their kind.

    float           1 or 1.0                        tuple[float, ...]   [0.1, 0.2]
    int             3 or 3.0                        Literal["a", "b"]   "a"
    bool            true                            Path                "results/mine"
    Mechanism       "shapley_share" or { kind = "contribution_subsidy", rate = 0.2 }
    a dataclass     a table of its fields           a function          "package.module:name", "path/to/file.py:name"

Where None is allowed, it is written "none".  What does not fit is refused here, before anything runs: a script need not
look at every value, and might take a misspelt name for another one.
"""

from __future__ import annotations

import enum
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, as_numbers, nearest, shown
from fedabm.specs.hints import allows_none, hints_of, parameters_of, without_none
from fedabm.specs.kinds import choices, find_kind, is_a, word
from fedabm.specs.places import find_place
from fedabm.specs.plain import WANTED, read_choice, read_plain

__all__ = ["Reader", "is_list"]

_LISTS = (tuple, list, Sequence, Iterable)
_TABLES = (dict, Mapping)


@dataclass(frozen=True)
class Reader:
    """Reads values; files are looked for in `folders`, and the classes of `modules` have names too."""

    folders: tuple[Path, ...] = ()
    modules: tuple[ModuleType, ...] = ()

    def read(self, what: str, given: Any, hint: Any) -> Any:
        """One value as an annotation wants it, or an error that begins with `what`.

        >>> Reader().read("rates", [1, 0.5], tuple[float, ...])
        (1.0, 0.5)
        """
        options = without_none(hint)
        if allows_none(hint) and (given is None or (given == "none" and not _chosen(given, options))):
            return None
        if len(options) == 1:
            return self._as(what, given, options[0])
        return self._first_of(what, given, [one for one in options if _may_be(given, one)] or options)

    def make(self, maker: Callable[..., Any], table: Mapping[str, Any], what: str, kind: str = "") -> Any:
        """Call a class or function with the values of a table, each as its parameter wants it."""
        parameters, hints = parameters_of(maker), hints_of(maker)
        for key, given in table.items():
            if key not in parameters:
                raise InputError(f"unknown key {key!r} of {what}; {_hint(key, list(parameters))}")
            if isinstance(given, bool) and parameters[key].annotation in (Any, "Any"):
                raise InputError(f"{key} of {what} cannot be {given!r}; give a number, a list or a name")
        values = {key: self.read(f"{key} of {what}", given, hints[key]) for key, given in table.items()}
        missing = [name for name, one in parameters.items() if one.default is one.empty and name not in table]
        if missing:
            example = ", ".join(f"{name} = ..." for name in missing)
            remedy = f'write {{ kind = "{kind}", {example} }}' if kind else f"add {example}"
            raise InputError(f"{what} needs {', '.join(missing)}, got {_listed(table)}; {remedy}")
        return _called(maker, values, what)

    def _first_of(self, what: str, given: Any, options: Sequence[Any]) -> Any:
        """As the first of several annotations that takes it."""
        refusals = []
        for one in options:
            try:
                return self._as(what, given, one)
            except InputError as error:
                refusals.append(error)
        if len(refusals) == 1:
            raise refusals[0]
        wanted = " or ".join(map(_wanted, options))
        raise InputError(f"{what} must be {wanted}, got {shown(given)}; give one of these")

    def _as(self, what: str, given: Any, hint: Any) -> Any:
        """As a single annotation."""
        origin = typing.get_origin(hint) or hint
        if hint in WANTED:
            return read_plain(what, given, hint)
        if origin is typing.Literal:
            return read_choice(what, given, {str(one): one for one in typing.get_args(hint)})
        if origin in _LISTS:
            return self._list(what, given, hint)
        if origin in _TABLES:
            return self._table(what, given, hint)
        if origin is np.ndarray:
            return as_numbers(what, given)
        if origin is Callable:
            return self._function(what, given)
        return self._object(what, given, origin) if inspect.isclass(origin) and origin not in (Any, object) else given

    def _list(self, what: str, given: Any, hint: Any) -> Any:
        if not isinstance(given, list | tuple):
            raise InputError(f"{what} must be a list, got {shown(given)}; write [{shown(given)}]")
        inner = typing.get_args(hint)
        fixed = typing.get_origin(hint) is tuple and inner[1:] != (...,)
        if fixed and len(inner) != len(given):
            raise InputError(f"{what} must have {len(inner)} entries, got {len(given)}; give {len(inner)}")
        wanted = inner if fixed else (inner[:1] or (Any,)) * len(given)
        read = [self.read(what, one, each) for one, each in zip(given, wanted, strict=True)]
        return read if (typing.get_origin(hint) or hint) is list else tuple(read)

    def _table(self, what: str, given: Any, hint: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise InputError(f"{what} must be a table, got {shown(given)}; write {{ name = ... }}")
        inner = (typing.get_args(hint) or (str, Any))[1]
        return {key: self.read(f"{_listed([key])} of {what}", one, inner) for key, one in given.items()}

    def _function(self, what: str, given: Any) -> Any:
        found = find_place(given, self.folders) if isinstance(given, str) and ":" in given else given
        if not callable(found):
            where = "write where it stands, package.module:name or path/to/file.py:name"
            raise InputError(f"{what} must be a function, got {shown(given)}; {where}")
        return found

    def _object(self, what: str, given: Any, base: type) -> Any:
        """An object: from its name, from a table with its kind, or from a table of the class's own fields."""
        if is_a(type(given), base):
            return given
        if issubclass(base, Path):
            return base(read_plain(what, given, str))
        if issubclass(base, enum.Enum):
            return read_choice(what, given, {one.name.lower(): one for one in base})
        if base.__module__ == "builtins":
            raise InputError(
                f"{what} must be {_wanted(base)}, got {shown(given)}; no text stands for one, so leave it out"
            )
        names = choices(base, *self.modules)
        known = isinstance(given, str) and (given in names or ":" in given)
        if set(names.values()) <= {base}:
            names = {}  # there is but one class, which needs no name
        if not (known or isinstance(given, Mapping) or (isinstance(given, str) and names)):
            raise InputError(f"{what} must be {_wanted(base, names)}, got {shown(given)}; {_instead(base, names)}")
        table = dict(given) if isinstance(given, Mapping) else {"kind": given}
        if "kind" not in table and inspect.isabstract(base):
            raise InputError(f"{what} has no kind, got {_listed(table)}; {nearest('', names)}")
        if "kind" not in table or "kind" in parameters_of(base):
            return self.make(base, table, what)
        kind = table.pop("kind")
        made = self.make(find_kind(kind, base, self.folders, *self.modules), table, f"{word(base)} {kind!r}", kind)
        if not is_a(type(made), base):
            raise InputError(f"{kind!r} makes {shown(made)}, which is no {word(base)}; return one, or name another")
        return made


def is_list(hint: Any) -> bool:
    """Whether an annotation wants a list.

    >>> is_list(tuple[int, ...]), is_list(int)
    (True, False)
    """
    return (typing.get_origin(hint) or hint) in _LISTS


def _called(maker: Callable[..., Any], values: dict[str, Any], what: str) -> Any:
    try:
        return maker(**values)
    except (InputError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{what} cannot be made from {shown(values)}: {reason}; check its values") from None


def _may_be(given: Any, hint: Any) -> bool:
    """Whether a value has the shape that an annotation asks for, whatever it contains."""
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
        return origin in _LISTS or origin is np.ndarray
    if isinstance(given, Mapping):
        return origin in _TABLES or (inspect.isclass(origin) and origin not in (*WANTED, *_LISTS))
    return hint not in (int, float, bool) and origin not in (*_LISTS, *_TABLES, np.ndarray)


def _chosen(given: Any, options: Iterable[Any]) -> bool:
    """Whether it is one of the choices that an annotation lists."""
    return any(typing.get_origin(one) is typing.Literal and given in typing.get_args(one) for one in options)


def _wanted(hint: Any, names: Iterable[str] = ("any",)) -> str:
    """What an annotation wants, in words; a class of which there are no names wants a table."""
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    lists, tables = dict.fromkeys((*_LISTS, np.ndarray), "a list"), dict.fromkeys(_TABLES, "a table")
    name = word(origin) if inspect.isclass(origin) else str(hint)
    other = f"{'an' if name[:1] in 'aeiou' else 'a'} {name}" if names else "a table"
    return {**WANTED, **lists, **tables, Callable: "a function"}.get(origin, other)


def _instead(base: type, names: Iterable[str]) -> str:
    """What to write where an object of a class is wanted."""
    fields = ", ".join(f"{name} = ..." for name in parameters_of(base))
    return f"give a name or a table with a kind; {nearest('', names)}" if names else f"write {{ {fields} }}"


def _listed(keys: Iterable[str]) -> str:
    """The keys of a table, in one line."""
    return ", ".join(key if key.isidentifier() else shown(key) for key in keys) or "nothing"


def _hint(key: str, names: Sequence[str]) -> str:
    return nearest(key, names) if names else "it takes no parameters"
