"""From objects to bytes."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from fedabm.common.archive.classes import FOREIGN, Unsaveable, class_name
from fedabm.common.archive.filling import check_attributes, may_be_code
from fedabm.common.archive.given import Given, attributes, is_code

__all__ = ["pack"]

_SEQUENCES = (list, tuple)
_SETS = (set, frozenset)


def pack(value: Any, given: Given) -> bytes:
    """A value as bytes; Unsaveable if some of it is neither data nor given."""
    writer = _Writer(given)
    try:
        root = writer.value(value)
    except RecursionError:
        raise Unsaveable("objects that are nested too deeply") from None
    text = json.dumps({"root": root, "nodes": writer.nodes}, separators=(",", ":"))
    return b"".join([text.encode(), b"\n", *writer.numbers])


class _Writer:
    """Gives every object a node."""

    def __init__(self, given: Given) -> None:
        self.nodes: list[Any] = []
        self.numbers: list[bytes] = []
        self._given = given
        self._known: dict[int, int] = {}
        self._alive: list[Any] = []
        self._arrays: dict[tuple[str, tuple[int, ...], bytes], np.ndarray] = {}
        self._end = 0

    def value(self, value: Any, *, code: bool = False) -> Any:
        """What stands for a value: itself if JSON has it, else a list with the number of its node.

        Functions that are given may stand where there is `code`.
        """
        if value is None or type(value) in (bool, int, float, str):
            return value
        if is_code(value) and not (code and self._given.place(value) is not None):
            raise Unsaveable(f"{getattr(value, '__qualname__', value)} is no plain data")
        if id(value) not in self._known:
            self._known[id(value)] = number = len(self.nodes)
            self._alive.append(value)  # so that no other object gets its id
            self.nodes.append(None)
            self.nodes[number] = self._node(value, code=code)
        return [self._known[id(value)]]

    def _values(self, values: Iterable[Any]) -> list[Any]:
        return [self.value(item) for item in values]

    def _node(self, value: Any, *, code: bool) -> list[Any]:
        place = self._given.place(value)
        kind = type(value)
        if place is not None:
            return ["given", list(place)]
        if kind in _SEQUENCES:
            return [kind.__name__, self._values(value)]
        if kind in _SETS:
            return [kind.__name__, self._values(sorted(value, key=repr))]
        if kind is dict:
            return ["dict", [[self.value(key), self.value(part, code=code)] for key, part in value.items()]]
        if kind is bytes:
            return ["bytes", self._keep(value)]
        if kind is np.ndarray or isinstance(value, np.generic):
            return self._array(value)
        if kind is np.random.Generator:
            return ["generator", *_generator(value)]
        for name, other in FOREIGN.items():
            if kind in other.types:
                return ["foreign", name, self._values(map(self._once, other.write(value)))]
        return self._object(value)

    def _once(self, part: Any) -> Any:
        """The same array for the same numbers: values of other packages copy theirs when they are read."""
        if type(part) is not np.ndarray or part.dtype.hasobject or not part.flags.c_contiguous:
            return part
        key = part.dtype.str, part.shape, hashlib.sha256(part.data).digest()
        return self._arrays.setdefault(key, part)

    def _keep(self, content: bytes) -> list[int]:
        """Put bytes behind the list; where they begin there, and how many they are."""
        begin = self._end
        self._end += len(content)
        self.numbers.append(content)
        return [begin, len(content)]

    def _array(self, value: Any) -> list[Any]:
        array = np.asarray(value)
        if array.dtype.hasobject:
            return ["objects", list(array.shape), self._values(array.ravel().tolist())]
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        kind = np.lib.format.dtype_to_descr(array.dtype)
        head = [kind, list(array.shape), order, not array.flags.writeable, self._keep(array.tobytes(order))]
        return ["array" if isinstance(value, np.ndarray) else "scalar", *head]

    def _object(self, value: Any) -> list[Any]:
        kind = type(value)
        name = class_name(kind, self._given)
        if isinstance(value, enum.Enum):
            return ["enum", name, value.name]
        if isinstance(value, tuple):
            return ["named", name, self._values(value)]
        return ["object", name, self._attributes(value)]

    def _attributes(self, value: Any) -> dict[str, Any]:
        state = attributes(value)
        try:
            check_attributes(type(value), state)
        except ValueError as error:
            raise Unsaveable(str(error)) from None
        return {name: self.value(part, code=may_be_code(type(value), name)) for name, part in state.items()}


def _generator(value: np.random.Generator) -> list[Any]:
    """What a generator is made of: its kind, its state, and the seeds of the generators it might spawn."""
    bits: Any = value.bit_generator
    seeds = bits.seed_seq
    if not isinstance(seeds, np.random.SeedSequence):
        raise Unsaveable("a random generator without seeds")
    spawned = {
        "entropy": seeds.entropy,
        "spawn_key": seeds.spawn_key,
        "pool_size": seeds.pool_size,
        "n_children_spawned": seeds.n_children_spawned,
    }
    return [type(bits).__name__, _lists(bits.state), _lists(spawned)]


def _lists(value: Any) -> Any:
    """With lists in place of arrays."""
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value
