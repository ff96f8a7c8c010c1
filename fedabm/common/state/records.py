"""Frozen values, saved field by field."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from fedabm.common.archive import Unsaveable, is_foreign, name_of
from fedabm.common.archive.given import is_ours
from fedabm.common.digest import Content
from fedabm.common.state.kinds import Kind
from fedabm.common.table import FrozenArray

__all__ = ["Fields", "FrozenRecord", "Same", "Varied", "check_names", "values_of"]

_PLAIN = (type(None), bool, int, float, str, bytes, np.bool_, np.number, FrozenArray)


class FrozenRecord:
    """A frozen value: its class, or what else `makes` it, is called with what was saved of its fields."""

    def __init__(self, makes: Callable[..., Any], /, **fields: Kind) -> None:
        self._makes, self._fields = makes, fields
        self._name = getattr(makes, "func", makes).__qualname__
        self.schema = [self._name, {name: kind.schema for name, kind in fields.items()}]

    def state(self, value: Any) -> Any:
        """Field by field."""
        return {name: kind.state(getattr(value, name)) for name, kind in self._fields.items()}

    def value(self, state: Any) -> Any:
        """A new one."""
        return self._makes(**values_of(self._fields, state, self._name))


class Same:
    """The one value that whoever goes on has, too."""

    schema = "same"

    def __init__(self, only: Any) -> None:
        self._only = only

    def state(self, value: Any) -> None:
        """Nothing."""
        if value is not self._only:
            raise Unsaveable(f"{type(value).__name__} has changed, which it does not declare")

    def value(self, state: Any) -> Any:
        """The value."""
        if state is not None:
            raise ValueError(f"{type(state).__name__} in place of nothing")
        return self._only


class Fields:
    """A frozen dataclass of some classes or of one below, field by field, without any declaration.

    Fields hold arrays, numbers, texts, None, tables, tuples of these, and other values of these classes.
    """

    def __init__(self, *classes: type) -> None:
        self._classes = classes
        self.schema = ["fields", *(kind.__qualname__ for kind in classes)]

    def state(self, value: Any) -> Any:
        """The name of its class, and its fields."""
        kind = type(value)
        if self._found(name_of(kind)) is not kind:
            raise Unsaveable(f"{kind.__qualname__} is no frozen dataclass that can be found again by its name")
        return {"class": name_of(kind), "fields": {name: self.plain(value, name) for name in _names(kind)}}

    def value(self, state: Any) -> Any:
        """A new one."""
        check_names(("class", "fields"), state, "a value")
        kind = self._found(state["class"])
        if kind is None:
            raise ValueError(f"it names {state['class']}, which is not known")
        check_names(_names(kind), state["fields"], kind.__qualname__)
        return kind(**{name: self.back(part) for name, part in state["fields"].items()})

    def plain(self, value: Any, name: str) -> Any:
        """A field of a value as plain data; Unsaveable if it is none."""
        found = self._plain(getattr(value, name))
        if found is NotImplemented:
            what = f"{name} of {type(value).__name__} is {type(getattr(value, name)).__name__}"
            raise Unsaveable(f"{what}; arrays, numbers, texts, tuples and states can be saved")
        return found

    def _plain(self, value: Any) -> Any:
        if isinstance(value, _PLAIN) or _is_array(value) or is_foreign(value):
            return value
        if isinstance(value, self._classes):
            return self.state(value)
        if type(value) is not tuple:
            return NotImplemented
        items = tuple(self._plain(item) for item in value)
        return NotImplemented if any(item is NotImplemented for item in items) else items

    def back(self, state: Any) -> Any:
        """What a field was; ValueError if that is no plain data."""
        if isinstance(state, _PLAIN) or _is_array(state) or is_foreign(state):
            return state
        if type(state) is tuple:
            return tuple(self.back(item) for item in state)
        return self.value(state)

    def _found(self, name: Any) -> Any:
        every = (one for kind in self._classes for one in (kind, *_below(kind)))
        return next((one for one in every if name_of(one) == name and _is_frozen(one)), None)


class Varied:
    """A frozen dataclass like a given one but for some fields, which alone are saved.

    Classes of this package declare which `fields` these are; of a user's own class any may differ.
    """

    def __init__(self, like: Any, fields: Mapping[str, Kind]) -> None:
        self._like, self._fields = like, fields
        self._own = Fields() if not is_ours(type(like).__module__) else None
        self.schema = [type(like).__qualname__, {name: kind.schema for name, kind in fields.items()}]

    def state(self, value: Any) -> Any:
        """The fields in which it differs."""
        if type(value) is not type(self._like):
            raise Unsaveable(f"{type(self._like).__name__} has become {type(value).__name__}")
        names = [name for name in _names(type(value)) if not _same(getattr(value, name), getattr(self._like, name))]
        return {name: self._saved(value, name) for name in names}

    def _saved(self, value: Any, name: str) -> Any:
        if name in self._fields:
            return self._fields[name].state(getattr(value, name))
        if self._own is None:
            raise Unsaveable(f"{name} of {type(value).__name__} has changed and is not declared")
        return self._own.plain(value, name)

    def value(self, state: Any) -> Any:
        """The given one with these fields."""
        kind = type(self._like)
        known = set(self._fields) if self._own is None else set(_names(kind))
        if type(state) is not dict or not set(state) <= known:
            raise ValueError(f"{kind.__name__} differs in something that it does not declare")
        found = {name: self._restored(name, part) for name, part in state.items()}
        return dataclasses.replace(self._like, **found) if found else self._like

    def _restored(self, name: str, state: Any) -> Any:
        return self._fields[name].value(state) if name in self._fields else Fields().back(state)


def _same(one: Any, other: Any) -> bool:
    return one is other or Content.of(one).digest == Content.of(other).digest


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and not value.dtype.hasobject


def _is_frozen(kind: Any) -> bool:
    return getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)


def _names(kind: Any) -> list[str]:
    return [one.name for one in dataclasses.fields(kind) if one.init]


def _below(kind: type) -> Iterator[type]:
    children: list[type] = kind.__subclasses__()
    for child in children:
        yield child
        yield from _below(child)


def values_of(kinds: Mapping[str, Kind], state: Any, what: str) -> dict[str, Any]:
    """The values by their names, each of its kind."""
    check_names(kinds, state, what)
    found = {}
    for name, kind in kinds.items():
        try:
            found[name] = kind.value(state[name])
        except ValueError as error:
            raise ValueError(f"{name} of {what}: {error}") from None
    return found


def check_names(wanted: Iterable[str], state: Any, what: str) -> None:
    """Raise ValueError unless a state has these names and no others."""
    if type(state) is not dict or set(state) != set(wanted):
        other = set(state) ^ set(wanted) if isinstance(state, dict) else {type(state).__name__}
        raise ValueError(f"{what} has {', '.join(sorted(map(str, other)))} too much or not at all")
