"""From bytes to objects, without running anything that the bytes could choose."""

from __future__ import annotations

import enum
import json
from collections import OrderedDict
from typing import Any

import numpy as np

from fedabm.common.archive.classes import FOREIGN, find_class
from fedabm.common.archive.given import Given

__all__ = ["unpack"]

_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def unpack(content: bytes, given: Given) -> Any:
    """The value that was packed; ValueError if this cannot have been packed."""
    text, _, numbers = content.partition(b"\n")
    try:
        found = json.loads(text)
        return _Reader(found["nodes"], memoryview(numbers), given).value(found["root"])
    except ValueError:
        raise
    except Exception as error:  # whatever nonsense leads to
        raise ValueError(f"it makes no sense ({type(error).__name__}: {error})") from None


class _Reader:
    """Makes the object of every node, once."""

    def __init__(self, nodes: list[Any], numbers: memoryview, given: Given) -> None:
        self._nodes = nodes
        self._numbers = numbers
        self._given = given
        self._made: dict[int, Any] = {}

    def value(self, told: Any) -> Any:
        """What something stands for: a JSON value for itself, a list for a node."""
        if not isinstance(told, list):
            return told
        (number,) = told
        if number not in self._made:
            what, *parts = self._nodes[number]
            if what in ("list", "dict", "OrderedDict", "object"):
                self._fill(number, what, *parts)
            else:
                self._made[number] = getattr(self, f"_read_{what}")(*parts)
        return self._made[number]

    def _values(self, told: list[Any]) -> list[Any]:
        return [self.value(item) for item in told]

    def _fill(self, number: int, what: str, *parts: Any) -> None:
        """Objects that may hold themselves: they are there before their content is."""
        made: Any
        if what == "list":
            made = self._made[number] = []
            made.extend(self._values(parts[0]))
        elif what != "object":
            made = self._made[number] = {} if what == "dict" else OrderedDict()
            made.update(map(self._values, parts[0]))
        else:
            kind = find_class(parts[0], self._given)
            made = self._made[number] = object.__new__(kind)
            _set_state(made, self.value(parts[1]))

    def _read_given(self, place: list[Any]) -> Any:
        return self._given.at(tuple(place))

    def _read_tuple(self, items: list[Any]) -> Any:
        return tuple(self._values(items))

    def _read_set(self, items: list[Any]) -> Any:
        return set(self._values(items))

    def _read_frozenset(self, items: list[Any]) -> Any:
        return frozenset(self._values(items))

    def _read_bytes(self, where: list[int]) -> bytes:
        begin, size = where
        content = bytes(self._numbers[begin : begin + size])
        if begin < 0 or len(content) != size:
            raise ValueError("numbers are missing")
        return content

    def _read_array(self, kind: Any, shape: list[int], order: Any, fixed: bool, where: list[int]) -> Any:
        dtype = np.lib.format.descr_to_dtype(kind)
        if dtype.hasobject:
            raise ValueError("an array of addresses")
        array = np.frombuffer(self._read_bytes(where), dtype).reshape(shape, order=order).copy(order="K")
        array.setflags(write=not fixed)
        return array

    def _read_scalar(self, *told: Any) -> Any:
        return self._read_array(*told)[()]

    def _read_objects(self, shape: list[int], items: list[Any]) -> Any:
        made = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            made[place] = self.value(item)
        return made.reshape(shape)

    def _read_subarray(self, name: str, array: Any, state: Any) -> Any:
        made = self.value(array).view(find_class(name, self._given, np.ndarray))
        vars(made).update(self.value(state))
        return made

    def _read_generator(self, kind: str, state: Any, seeds: dict[str, Any]) -> np.random.Generator:
        if kind not in _GENERATORS:
            raise ValueError(f"no generator {kind}")
        bits = getattr(np.random, kind)(np.random.SeedSequence(**seeds))
        bits.state = state
        return np.random.Generator(bits)

    def _read_foreign(self, name: str, parts: list[Any]) -> Any:
        return FOREIGN[name].read(*self._values(parts))

    def _read_class(self, name: str) -> type:
        return find_class(name, self._given)

    def _read_enum(self, name: str, member: str) -> Any:
        return find_class(name, self._given, enum.Enum)[member]

    def _read_named(self, name: str, items: list[Any]) -> Any:
        return tuple.__new__(find_class(name, self._given, tuple), self._values(items))


def _set_state(made: Any, state: Any) -> None:
    """Give an object its content: by its own `__setstate__` if it has one."""
    if hasattr(type(made), "__setstate__"):
        made.__setstate__(state)
        return
    for name, value in state.items():
        object.__setattr__(made, name, value)
