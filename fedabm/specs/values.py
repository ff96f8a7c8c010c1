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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fedabm.common.errors import FedabmError, InputError, as_numbers, nearest, shown
from fedabm.specs.hints import allows_none, hints_of, parameters_of, without_none
from fedabm.specs.kinds import choices, find_kind, is_a, word
from fedabm.specs.places import find_place
from fedabm.specs.plain import WANTED, read_choice, read_plain
from fedabm.specs.shapes import LISTS, TABLES, is_choice, keys_of, may_be, wanted

__all__ = ["Reader"]


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
        if allows_none(hint) and (given is None or (given == "none" and not is_choice(given, options))):
            return None
        if len(options) == 1:
            return self._as(what, given, options[0])
        return self._first_of(what, given, [one for one in options if may_be(given, one)] or options)

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
            raise InputError(f"{what} needs {', '.join(missing)}, got {keys_of(table)}; {remedy}")
        return _called(maker, values, what)

    def _first_of(self, what: str, given: Any, options: Sequence[Any]) -> Any:
        """As the first of several annotations that takes it."""
        refusals = []
        for one in options:
            try:
                return self._as(what, given, one)
            except FedabmError as error:
                refusals.append(error)
        if len(refusals) == 1:
            raise refusals[0]
        words = " or ".join(map(wanted, options))
        raise InputError(f"{what} must be {words}, got {shown(given)}; give one of these")

    def _as(self, what: str, given: Any, hint: Any) -> Any:
        """As a single annotation."""
        origin = typing.get_origin(hint) or hint
        if hint in WANTED:
            return read_plain(what, given, hint)
        if origin is typing.Literal:
            return read_choice(what, given, {str(one): one for one in typing.get_args(hint)})
        if origin in LISTS:
            return self._list(what, given, hint)
        if origin in TABLES:
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
        hints = inner if fixed else (inner[:1] or (Any,)) * len(given)
        read = [self.read(what, one, each) for one, each in zip(given, hints, strict=True)]
        return read if (typing.get_origin(hint) or hint) is list else tuple(read)

    def _table(self, what: str, given: Any, hint: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise InputError(f"{what} must be a table, got {shown(given)}; write {{ name = ... }}")
        inner = (typing.get_args(hint) or (str, Any))[1]
        return {key: self.read(f"{keys_of([key])} of {what}", one, inner) for key, one in given.items()}

    def _function(self, what: str, given: Any) -> Any:
        found = find_place(given, self.folders) if isinstance(given, str) and ":" in given else given
        if not callable(found):
            where = "write where it stands, package.module:name or path/to/file.py:name"
            raise InputError(f"{what} must be a function, got {shown(given)}; {where}")
        return found

    def _object(self, what: str, given: Any, base: type) -> Any:
        """An object of a class."""
        if is_a(type(given), base):
            return given
        if issubclass(base, Path):
            return self._path(base(read_plain(what, given, str)))
        if issubclass(base, enum.Enum):
            return read_choice(what, given, {one.name.lower(): one for one in base})
        if base.__module__ == "builtins":
            raise InputError(
                f"{what} must be {wanted(base)}, got {shown(given)}; no text stands for that, leave it out"
            )
        if isinstance(given, Mapping):
            return self._from_table(what, given, base)
        self._check_name(what, given, base)
        return self._from_table(what, {"kind": given}, base)

    def _path(self, path: Path) -> Path:
        """Where it lies in the first of the folders that has it, else as it is given."""
        found = [folder / path for folder in self.folders if _exists(folder / path)]
        return found[0] if found else path

    def _check_name(self, what: str, given: Any, base: type) -> None:
        """Raise unless this is a name, or might be a misspelt one; where there is but one class, nobody needs one."""
        names = choices(base, *self.modules)
        single = set(names.values()) <= {base}
        if isinstance(given, str) and (given in names or ":" in given or not single):
            return
        if single:
            fields = ", ".join(f"{name} = ..." for name in parameters_of(base))
            raise InputError(f"{what} must be a table, got {shown(given)}; write {{ {fields} }}")
        remedy = f"give a name or a table with a kind; {nearest('', names)}"
        raise InputError(f"{what} must be {wanted(base)}, got {shown(given)}; {remedy}")

    def _from_table(self, what: str, given: Mapping[str, Any], base: type) -> Any:
        """From its kind and parameters, or without a kind from the fields of the class itself."""
        if "kind" not in given and inspect.isabstract(base):
            raise InputError(f"{what} has no kind, got {keys_of(given)}; {nearest('', choices(base, *self.modules))}")
        if "kind" not in given or "kind" in parameters_of(base):
            return self.make(base, given, what)
        kind, table = given["kind"], {key: value for key, value in given.items() if key != "kind"}
        made = self.make(find_kind(kind, base, self.folders, *self.modules), table, f"{word(base)} {kind!r}", kind)
        if not is_a(type(made), base):
            raise InputError(f"{kind!r} makes {shown(made)}, which is no {word(base)}; return one, or name another")
        return made


def _called(maker: Callable[..., Any], values: dict[str, Any], what: str) -> Any:
    try:
        return maker(**values)
    except (FedabmError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{what} cannot be made from {shown(values)}: {reason}; check its values") from None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # names that no file system takes
        return False


def _hint(key: str, names: Sequence[str]) -> str:
    return nearest(key, names) if names else "it takes no parameters"
