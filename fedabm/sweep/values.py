"""The parameters of a target in a specification: one value each, lists of them, or spans."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedabm.common.errors import InputError, nearest, shown
from fedabm.specs.hints import hints_of, without_none
from fedabm.specs.shapes import is_list
from fedabm.specs.values import Reader
from fedabm.sweep.sampling import Span
from fedabm.sweep.targets import Target

__all__ = ["Parameters"]


class Parameters:
    """Reads values as the annotations of a target want them."""

    def __init__(self, target: Target, folders: tuple[Path, ...] = ()) -> None:
        found = target.find()
        self.target, self.hints = target, hints_of(found)
        self._reader = Reader(folders, (sys.modules[found.__module__],))

    def setting(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """One value per parameter."""
        return {name: self.value(name, given) for name, given in table.items()}

    def axes(self, table: Mapping[str, Any], *, spans: bool = False) -> dict[str, Any]:
        """A list of values (or a span) per parameter."""
        return {name: self._axis(name, given, spans=spans) for name, given in table.items()}

    def _axis(self, name: str, given: Any, *, spans: bool) -> Any:
        hint = self.hint(name)
        if spans and isinstance(given, Mapping) and {"low", "high"} <= set(given):
            whole = {"whole": True} if hint is int else {}
            return self._reader.make(Span, {**whole, **given}, f"the span of {name}")
        if not isinstance(given, list):
            wanted = "a list or a span { low = ..., high = ... }" if spans else "a list"
            raise InputError(f"the values of {name} must be {wanted}, got {shown(given)}; write {name} = [...]")
        return [self.value(name, one) for one in given]

    def value(self, name: str, given: Any) -> Any:
        """A value as the target wants it."""
        hint, what = self.hint(name), f"{name} of {self.target.name}"
        if all(map(is_list, without_none(hint))) and not isinstance(given, list):
            raise InputError(f"{what} must be a list, got {shown(given)}; in a design write {name} = [[...], [...]]")
        return self._reader.read(what, given, hint)

    def hint(self, name: str) -> Any:
        """What the target wants for a parameter, if it has that parameter."""
        if not self.target.takes(name):
            raise InputError(f"{self.target.name} has no parameter {name!r}; {nearest(name, self.target.parameters())}")
        return self.hints.get(name, Any)
