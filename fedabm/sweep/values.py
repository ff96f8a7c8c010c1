"""Values of parameters in a specification, read as the annotations of the target want them.

A list becomes a tuple and a name an object where the target wants one.  What does not fit is refused here, before
anything runs: a script need not look at every value, and might take a misspelt name for another one.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

from fedabm import mechanisms, strategies
from fedabm.common.errors import InputError, nearest
from fedabm.common.names import build, find, kinds
from fedabm.games import accuracy
from fedabm.games.accuracy.base import Accuracy
from fedabm.mechanisms import Mechanism
from fedabm.strategies import Strategy
from fedabm.sweep.sampling import Span
from fedabm.sweep.targets import Target

__all__ = ["Reader"]

_PARTS: dict[Any, Any] = {Mechanism: mechanisms, Strategy: strategies, Accuracy: accuracy}
_WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class Reader:
    """Reads the values of a target's parameters."""

    def __init__(self, target: Target) -> None:
        self.target, self.hints = target, target.hints()

    def setting(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """One value per parameter."""
        return {name: self.value(name, given) for name, given in table.items()}

    def axes(self, table: Mapping[str, Any], *, spans: bool = False) -> dict[str, Any]:
        """A list of values (or a span) per parameter."""
        return {name: self._axis(name, given, spans) for name, given in table.items()}

    def _axis(self, name: str, given: Any, spans: bool) -> Any:
        self._check(name)
        if spans and isinstance(given, Mapping) and {"low", "high"} <= set(given):
            whole = {"whole": True} if self.hints.get(name) is int else {}
            return build(Span, {**whole, **given}, f"the span of {name}")
        if not isinstance(given, list):
            wanted = "a list or a span { low = ..., high = ... }" if spans else "a list"
            raise InputError(f"the values of {name} must be {wanted}, got {given!r}; write {name} = [...]")
        return [self.value(name, one) for one in given]

    def value(self, name: str, given: Any) -> Any:
        """One value, as the annotation wants it if it is one that we know."""
        self._check(name)
        return _read(name, f"{name} of {self.target.name}", given, _bare(self.hints.get(name)))

    def _check(self, name: str) -> None:
        if not self.target.takes(name):
            raise InputError(f"{self.target.name} has no parameter {name!r}; {nearest(name, self.target.parameters())}")


def _bare(hint: Any) -> Any:
    """The annotation without `| None`, as TOML has no None."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kinds_left = [one for one in typing.get_args(hint) if one is not type(None)]
        return kinds_left[0] if len(kinds_left) == 1 else None
    return hint


def _read(name: str, what: str, given: Any, hint: Any) -> Any:
    for kind, package in _PARTS.items():
        if isinstance(hint, type) and issubclass(hint, kind):
            return _part(name, given, kinds(package))
    if typing.get_origin(hint) is tuple:
        return _tuple(name, what, given, typing.get_args(hint))
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        if given not in choices:
            raise InputError(f"{what} cannot be {given!r}; {nearest(str(given), map(str, choices))}")
    return _plain(what, given, hint) if hint in _WANTED else given


def _tuple(name: str, what: str, given: Any, kinds_inside: tuple[Any, ...]) -> tuple[Any, ...]:
    if not isinstance(given, list):
        raise InputError(f"{what} must be a list, got {given!r}; in a design write {name} = [[...], [...]]")
    inside = _bare(kinds_inside[0]) if kinds_inside[1:] == (...,) else None
    return tuple(_read(name, what, one, inside) for one in given)


def _plain(what: str, given: Any, hint: Any) -> Any:
    """A number, text or truth value; whole numbers may be written as 3.0, and numbers as 3."""
    whole = isinstance(given, int) and not isinstance(given, bool) and abs(given) < 10**300
    number = whole or isinstance(given, float)
    good = {int: whole or (number and given.is_integer()), float: number}.get(hint, isinstance(given, hint))
    if not good:
        raise InputError(f"{what} must be {_WANTED[hint]}, got {given!r}; give {_WANTED[hint]}")
    return hint(given)


def _part(name: str, given: Any, choices: Mapping[str, Any]) -> Any:
    """A mechanism, strategy or accuracy from its name, or from a table with its kind and parameters."""
    values = dict(given) if isinstance(given, Mapping) else {"kind": given}
    kind = values.pop("kind", None)
    make = find(kind, choices, name)
    if "kind" in inspect.signature(make).parameters and "attack" in values:
        values["kind"] = values.pop("attack")
    nested = {key: _part(key, value, kinds(strategies)) if key == "truth" else value for key, value in values.items()}
    return build(make, nested, f"{name} {kind!r}")
