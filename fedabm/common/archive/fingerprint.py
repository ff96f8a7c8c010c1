"""Whether two processes are given the same: a digest of all that a value says.

Objects of this package count by the fields of their dataclasses, by their `content` if they have such a text, else by
their public attributes: what else they hold can be found again.  Objects of other packages count by all they hold.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fedabm.common.archive.classes import FOREIGN
from fedabm.common.archive.given import PLAIN, attributes, found_later, is_ours

__all__ = ["fingerprint"]


def fingerprint(value: Any) -> str:
    """The digest, the same in every process.

    >>> fingerprint([1.0, "a"]) == fingerprint([1.0, "a"]), fingerprint([1.0]) == fingerprint([1])
    (True, False)
    """
    return _Digests().of(value).hex()[:32]


class _Digests:
    """Digests of objects, each found once; equal content gives equal digests, shared or not."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._alive: list[Any] = []

    def of(self, value: Any) -> bytes:
        """The digest of what an object says; within itself it goes by its class alone."""
        if isinstance(value, PLAIN):
            return hashlib.sha256(f"{type(value).__name__} {value!r}".encode()).digest()
        if id(value) not in self._known:
            self._alive.append(value)  # so that no other object gets its id
            name = f"{type(value).__module__}.{type(value).__qualname__}".encode()
            self._known[id(value)] = name
            self._known[id(value)] = hashlib.sha256(name + self._content(value)).digest()
        return self._known[id(value)]

    def _content(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        return b"".join(map(self.of, _told(value)))


def _told(value: Any) -> Iterator[Any]:
    """What an object says, in a fixed order."""
    kind = type(value)
    if isinstance(value, list | tuple):
        yield from value
    elif isinstance(value, set | frozenset):
        yield from sorted(map(repr, value))
    elif isinstance(value, Mapping):
        yield from (part for item in value.items() for part in item)
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, np.random.Generator):
        yield str(value.bit_generator.state)
    elif isinstance(value, type) or inspect.isroutine(value):
        yield from _code(value)
    elif other := next((one for one in FOREIGN.values() if kind in one.types), None):
        yield from other.write(value)
    else:
        yield from (part for item in _said(value).items() for part in item)


def _code(value: Any) -> Iterator[Any]:
    yield getattr(value, "__module__", "")
    yield getattr(value, "__qualname__", "")
    code = getattr(value, "__code__", None)
    if code is not None:
        yield code.co_code
        yield [constant for constant in code.co_consts if isinstance(constant, PLAIN)]
    if isinstance(value, types.FunctionType):
        yield [cell.cell_contents for cell in value.__closure__ or ()]
    elif isinstance(value, types.MethodType):
        yield value.__self__


def _said(value: Any) -> dict[str, Any]:
    """What counts of an object."""
    held = {name: part for name, part in attributes(value).items() if not found_later(value, name)}
    if not is_ours(type(value).__module__):
        return held
    if dataclasses.is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
    content = getattr(value, "content", None)
    return {"content": content} if isinstance(content, str) else {n: p for n, p in held.items() if n[0] != "_"}
