"""Objects that say what changes in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from fedabm.common.archive import Unsaveable
from fedabm.common.state.kinds import Kind
from fedabm.common.state.records import check_names, values_of

__all__ = ["StatePart", "Stateful"]


class StatePart:
    """A part of an object with a state of its own, by its class."""

    def __init__(self, of: type[Stateful]) -> None:
        self.of = of

    @property
    def schema(self) -> Any:
        """What the part declares."""
        return [self.of.__qualname__, self.of.schema()]


class Stateful:
    """An object that says what changes in it."""

    #: what a checkpoint holds, by attribute
    _changing: ClassVar[Mapping[str, Kind | StatePart]] = {}
    #: attributes that are the same in a fresh object, or found again
    _remade: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def schema(cls) -> Any:
        """The names and kinds of all that is declared."""
        return {name: kind.schema for name, kind in cls._changing.items()}

    def state(self) -> dict[str, Any]:
        """What changes, as plain data; Unsaveable if it holds anything that is not declared."""
        if extra := sorted(set(vars(self)) - set(self._changing) - self._remade):
            raise Unsaveable(f"the attribute {extra[0]} of {type(self).__name__} is not declared")
        kinds = self._changing.items()
        return {name: _state(kind, getattr(self, name)) for name, kind in kinds}

    def from_state(self, state: Any) -> Self:
        """This fresh object as it was saved; ValueError if that is not what it declares."""
        parts = {name: kind for name, kind in self._changing.items() if isinstance(kind, StatePart)}
        kinds = {name: kind for name, kind in self._changing.items() if not isinstance(kind, StatePart)}
        check_names(self._changing, state, type(self).__name__)
        found = values_of(kinds, {name: state[name] for name in kinds}, type(self).__name__)
        for name, value in found.items():
            setattr(self, name, value)
        for name in parts:
            getattr(self, name).from_state(state[name])
        return self


def _state(kind: Kind | StatePart, value: Any) -> Any:
    return value.state() if isinstance(kind, StatePart) else kind.state(value)
