"""Content as a digest, the same in every process: what names a run, and whether a checkpoint is of the run at hand.

A digest is the SHA-256 of canonical JSON.  Objects of this package count by the fields of their dataclasses, by their
`content` if they have such a text, else by their public attributes: what else they hold can be found again.  Objects of
other packages count by all they hold.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import json
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from fedabm.common.archive.classes import FOREIGN
from fedabm.common.archive.given import PLAIN, attributes, found_later, is_ours
from fedabm.common.errors import InputError
from fedabm.common.sources import MAIN, sources_of

__all__ = ["Content", "digest"]


def digest(value: Any) -> str:
    """A short name of content that lasts, and of the code of the classes and functions in it.

    Numbers, texts, lists, tables, arrays and frozen dataclasses last; whatever has no such content is refused.

    >>> digest({"rate": 0.1, "owners": 5}) == digest({"owners": 5, "rate": 0.1})
    True
    """
    return _hashed(_Lasting().of(value))


@dataclass(frozen=True)
class Content:
    """The `digest` of all that a value says, and the `modules` of the classes and functions in it.

    >>> Content.of([1.0, "a"]) == Content.of([1.0, "a"]), Content.of([1.0]) == Content.of([1])
    (True, False)
    """

    digest: str
    modules: frozenset[str]

    @classmethod
    def of(cls, value: Any) -> Content:
        """What any value says."""
        found = _Anything()
        return cls(_hashed(found.of(value)), frozenset(found.modules))


def _hashed(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Lasting:
    """The content as JSON values: of what means the same in another process, with the code of its classes."""

    def of(self, value: Any) -> Any:
        """Equal content gives equal JSON."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, enum.Enum):
            return {"enum": [self._name(type(value)), value.name]}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, PurePath):
            return str(value)
        return self._items(value) if isinstance(value, list | tuple | Mapping) else self._object(value)

    def _items(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {"table": sorted([[self.of(key), self.of(item)] for key, item in value.items()], key=repr)}
        return [self.of(item) for item in value]

    def _object(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return {"array": [str(value.dtype), list(value.shape), data]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: self.of(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return {"object": [self._name(type(value)), fields]}
        if inspect.isclass(value) or inspect.isfunction(value):
            if "<" not in value.__qualname__:
                return {"code": self._name(value)}
        elif is_ours(type(value).__module__):
            return {"object": [self._name(type(value)), self.of(vars(value))]}
        raise InputError(
            f"a parameter cannot be {value!r}, it has no lasting name; give a number, text or frozen dataclass"
        )

    def _name(self, thing: Any) -> list[str]:
        """What a class or function is called, and the code that it is made of."""
        return [*_called(thing), sources_of(thing.__module__).code]


class _Anything(_Lasting):
    """The same of any value, with the code apart; objects go by their digests, each found once, shared or not."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._known: dict[int, str] = {}
        self._alive: list[Any] = []

    def _items(self, value: Any) -> Any:
        return self._once(value)

    def _object(self, value: Any) -> Any:
        return self._once(value)

    def _once(self, value: Any) -> str:
        """The digest of an object; within itself it goes by its class alone."""
        if id(value) not in self._known:
            self._alive.append(value)  # so that no other object gets its id
            name = self._name(type(value))
            self._known[id(value)] = ".".join(name)
            self._known[id(value)] = _hashed([name, self._content(value)])
        return self._known[id(value)]

    def _content(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return super()._object(value)
        if isinstance(value, type) or inspect.isroutine(value):
            return [self._name(value), *map(self.of, _code(value))]
        return [repr(part) if isinstance(part, PLAIN) else self.of(part) for part in _said(value)]

    def _name(self, thing: Any) -> list[str]:
        self.modules.add(getattr(thing, "__module__", None) or "")
        return _called(thing)


def _called(thing: Any) -> list[str]:
    """The names of a class or function and of its module; that of the script that was started is its file's."""
    home = getattr(thing, "__module__", None) or ""
    file = getattr(sys.modules.get(home), "__file__", None)
    return [Path(file).stem if home in MAIN and file else home, getattr(thing, "__qualname__", "")]


def _said(value: Any) -> Iterator[Any]:
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
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif other := next((one for one in FOREIGN.values() if kind in one.types), None):
        yield from other.write(value)
    else:
        yield from (part for item in _counted(value).items() for part in item)


def _code(value: Any) -> Iterator[Any]:
    """What a function is made of; classes go by their modules."""
    code = getattr(value, "__code__", None)
    if code is not None:
        yield code.co_code.hex()
        yield [repr(constant) for constant in code.co_consts if isinstance(constant, PLAIN)]
    if isinstance(value, types.FunctionType):
        yield [cell.cell_contents for cell in value.__closure__ or ()]
    elif isinstance(value, types.MethodType):
        yield value.__self__


def _counted(value: Any) -> dict[str, Any]:
    """What counts of an object."""
    held = {name: part for name, part in attributes(value).items() if not found_later(value, name)}
    if not is_ours(type(value).__module__):
        return held
    if dataclasses.is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
    content = getattr(value, "content", None)
    return {"content": content} if isinstance(content, str) else {n: p for n, p in held.items() if n[0] != "_"}
