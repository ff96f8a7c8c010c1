"""From bytes to objects, without running anything that the bytes could choose."""

from __future__ import annotations

import enum
import json
from typing import Any

import numpy as np

from fedabm.common.archive.classes import FOREIGN, find_class
from fedabm.common.archive.filling import check_fields, fill, may_be_code
from fedabm.common.archive.given import Given, is_code

__all__ = ["check_bits", "unpack"]

_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
#: where a generator reads its next number is not looked at by NumPy: that place, and the last that there is
_PLACES = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}


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
        self._left = len(numbers)
        self._given = given
        self._made: dict[int, Any] = {}

    def value(self, saved: Any, *, code: bool = False) -> Any:
        """What something stands for: a JSON value for itself, a list for a node; `code` only where that may be."""
        if not isinstance(saved, list):
            if isinstance(saved, dict):
                raise ValueError("a mapping that is no node")
            return saved
        (number,) = saved
        if number not in self._made:
            what, *parts = self._nodes[number]
            if what in ("list", "dict", "object"):
                self._fill(number, what, *parts, code=code)
            else:
                self._made[number] = getattr(self, f"_read_{what}")(*parts)
        if is_code(self._made[number]) and not code:
            raise ValueError("a function in place of data")
        return self._made[number]

    def _values(self, saved: list[Any], *, code: bool = False) -> list[Any]:
        return [self.value(item, code=code) for item in saved]

    def _fill(self, number: int, what: str, content: Any, *further: Any, code: bool) -> None:
        """Objects that may hold themselves: they are there before their content is."""
        made: Any
        if what == "list":
            made = self._made[number] = []
            made.extend(self._values(content))
        elif what == "dict":
            made = self._made[number] = {}
            made.update((self.value(key), self.value(value, code=code)) for key, value in content)
        else:
            kind = find_class(content, self._given)
            made = self._made[number] = object.__new__(kind)
            fill(made, self._attributes(kind, *further))

    def _attributes(self, kind: type, state: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(saved, code=may_be_code(kind, name)) for name, saved in state.items()}

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
        self._left -= size
        if begin < 0 or size < 0 or self._left < 0:  # all numbers are read once, so that little content stays little
            raise ValueError("numbers are missing")
        content = bytes(self._numbers[begin : begin + size])
        if len(content) != size:
            raise ValueError("numbers are missing")
        return content

    def _read_array(self, kind: Any, shape: list[int], order: Any, fixed: bool, where: list[int]) -> Any:
        dtype = np.lib.format.descr_to_dtype(kind)
        if dtype.hasobject:
            raise ValueError("an array of addresses")
        array = np.frombuffer(self._read_bytes(where), dtype).reshape(shape, order=order).copy(order="K")
        array.setflags(write=not fixed)
        return array

    def _read_scalar(self, *saved: Any) -> Any:
        return self._read_array(*saved)[()]

    def _read_objects(self, shape: list[int], items: list[Any]) -> Any:
        made = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            made[place] = self.value(item)
        return made.reshape(shape)

    def _read_generator(self, kind: str, state: Any, seeds: dict[str, Any]) -> np.random.Generator:
        if kind not in _GENERATORS:
            raise ValueError(f"no generator {kind}")
        if not 4 <= seeds["pool_size"] <= 64:
            raise ValueError("a generator with too many seeds")
        bits = getattr(np.random, kind)(np.random.SeedSequence(**seeds))
        bits.state = check_bits(state)
        return np.random.Generator(bits)

    def _read_foreign(self, name: str, parts: list[Any]) -> Any:
        return FOREIGN[name].read(*self._values(parts))

    def _read_enum(self, name: str, member: str) -> Any:
        return find_class(name, self._given, enum.Enum)[member]

    def _read_named(self, name: str, items: list[Any]) -> Any:
        kind = find_class(name, self._given, tuple)
        found = self._values(items)
        check_fields(kind, dict(zip(kind._fields, found, strict=True)))
        return tuple.__new__(kind, found)


def check_bits(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a generator; ValueError if it would read beyond its own numbers."""
    name, last = _PLACES.get(state["bit_generator"], ("", 0))
    place = {**state, **state["state"]}.get(name, 0)
    if not isinstance(place, int) or not 0 <= place <= last:
        raise ValueError("a generator beyond its numbers")
    return state
