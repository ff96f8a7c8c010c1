"""Kinds of values that can be saved: numbers, texts, arrays, and containers of them."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from fedabm.common.archive.given import is_code

__all__ = [
    "ANY",
    "BYTES",
    "FLAG",
    "GENERATOR",
    "NUMBER",
    "TEXT",
    "WHOLE",
    "Each",
    "Kind",
    "Many",
    "Maybe",
    "Numbers",
    "Set",
]
__all__ += ["Dict", "Thing", "Tuple"]


class Kind(Protocol):
    """Of what kind a value is: its `schema` as text, and how it is saved and restored."""

    @property
    def schema(self) -> Any:
        """What is declared, as plain values."""

    def state(self, value: Any) -> Any:
        """The value as a checkpoint holds it."""

    def value(self, state: Any) -> Any:
        """The value that was saved; ValueError if it is of another kind."""


class Thing:
    """A value that archives know, of some types: never a function, a method or a class."""

    def __init__(self, *types: type, schema: str = "") -> None:
        self.types = types
        self.schema = schema or "|".join(f"{kind.__module__}.{kind.__qualname__}" for kind in types)

    def state(self, value: Any) -> Any:
        """As it is."""
        return value

    def value(self, state: Any) -> Any:
        """As it is, if it is of one of the types."""
        if not isinstance(state, self.types) or is_code(state):
            raise ValueError(f"{type(state).__name__} in place of {self.schema}")
        return state


FLAG = Thing(bool, np.bool_, schema="flag")
WHOLE = Thing(int, np.integer, schema="whole")
NUMBER = Thing(int, float, np.number, schema="number")
TEXT = Thing(str, schema="text")
BYTES = Thing(bytes, schema="bytes")
GENERATOR = Thing(np.random.Generator, schema="generator")
ANY = Thing(object, schema="anything")


class Numbers(Thing):
    """An array of numbers or flags with this many dimensions (None: any)."""

    def __init__(self, dimensions: int | None = 1, kinds: str = "biuf") -> None:
        super().__init__(np.ndarray, schema=f"numbers({dimensions}, {kinds})")
        self._wanted = dimensions, kinds

    def state(self, value: Any) -> Any:
        """A plain array."""
        return value if type(value) is np.ndarray else np.asarray(value)

    def value(self, state: Any) -> Any:
        """The array, if it is one."""
        dimensions, kinds = self._wanted
        if type(state) is not np.ndarray or dimensions not in (None, state.ndim) or state.dtype.kind not in kinds:
            raise ValueError(f"{type(state).__name__} in place of {self.schema}")
        return state


class Maybe:
    """None, or a value of a kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.schema = ["maybe", kind.schema]

    def state(self, value: Any) -> Any:
        """None, or what the value is saved as."""
        return None if value is None else self._kind.state(value)

    def value(self, state: Any) -> Any:
        """None, or the value."""
        return None if state is None else self._kind.value(state)


class Many:
    """A list, all of one kind."""

    of: ClassVar[type] = list

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.schema = [self.of.__name__, kind.schema]

    def state(self, value: Any) -> Any:
        """Item by item."""
        return [self._kind.state(item) for item in value]

    def value(self, state: Any) -> Any:
        """The same of the values."""
        return self.of(self._kind.value(item) for item in Thing(list).value(state))


class Each(Many):
    """A tuple of any length, all of one kind."""

    of = tuple


class Set(Many):
    """A set of numbers or texts."""

    of = set

    def state(self, value: Any) -> Any:
        """In ascending order."""
        return super().state(sorted(value))


class Tuple:
    """A tuple of this many values, each of its kind."""

    def __init__(self, *kinds: Kind) -> None:
        self._kinds = kinds
        self.schema = ["tuple", *(kind.schema for kind in kinds)]

    def state(self, value: Any) -> Any:
        """Item by item."""
        return [kind.state(item) for kind, item in zip(self._kinds, value, strict=True)]

    def value(self, state: Any) -> Any:
        """The tuple."""
        return tuple(kind.value(item) for kind, item in zip(self._kinds, Thing(list).value(state), strict=True))


class Dict:
    """A dictionary whose keys and values are of two kinds."""

    def __init__(self, key: Kind, kind: Kind) -> None:
        self._key, self._kind = key, kind
        self.schema = ["table", key.schema, kind.schema]

    def state(self, value: Any) -> Any:
        """Item by item, in its order."""
        return {key: self._kind.state(item) for key, item in value.items()}

    def value(self, state: Any) -> Any:
        """The dictionary."""
        return {self._key.value(key): self._kind.value(item) for key, item in Thing(dict).value(state).items()}
