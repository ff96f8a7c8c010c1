"""Attributes that an object may be given from an archive: data where its class has data, and nothing else.

An attribute that has the name of a method or property would stand in for it.  So a name must be a slot, a field of a
dataclass, a `cached_property`, a constant of the class, or one for which the class has no other use; dataclasses of
this package have no others.  Fields of this package that are declared as numbers, texts, arrays or containers hold
such.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.common.archive.given import PLAIN, is_code, is_ours
from fedabm.common.archive.kept import CODE

__all__ = ["check_attributes", "check_fields", "fill", "may_be_code"]

_ABSENT = object()
_NUMBER = (int, float, np.number, np.bool_)
#: kinds by the words that declare them
_KINDS: dict[str, Any] = {
    "None": type(None),
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": _NUMBER,
    "str": str,
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "Array": (np.ndarray, *_NUMBER),
    "Flags": (np.ndarray, bool, np.bool_),
    "Members": np.ndarray,
    "NDArray": np.ndarray,
}


def fill(made: Any, state: Mapping[str, Any]) -> None:
    """Give an object its attributes, without calling anything of its class."""
    kind = type(made)
    check_attributes(kind, state)
    for name, value in state.items():
        if isinstance(inspect.getattr_static(kind, name, None), types.MemberDescriptorType):
            object.__setattr__(made, name, value)
        else:
            vars(made)[name] = value


def check_attributes(kind: type, state: Mapping[str, Any]) -> None:
    """Raise ValueError unless objects of this class may have these attributes."""
    for name, value in state.items():
        if not _settable(kind, name, value):
            raise ValueError(f"{name} is no data of {kind.__qualname__}")
        if is_code(value) and not may_be_code(kind, name):
            raise ValueError(f"{name} of {kind.__qualname__} is code")
    check_fields(kind, state)


def may_be_code(kind: type, name: str) -> bool:
    """Whether an attribute may hold a function that is given: any of the user's own classes, few of this package's."""
    return name in CODE or not is_ours(kind.__module__)


def _settable(kind: type, name: str, value: Any) -> bool:
    if name.startswith("__"):
        return False
    known = inspect.getattr_static(kind, name, _ABSENT)
    if isinstance(known, types.MemberDescriptorType | cached_property):
        return True
    if name in getattr(kind, "__dataclass_fields__", ()):
        return not inspect.isdatadescriptor(known)
    if known is _ABSENT:
        return not (dataclasses.is_dataclass(kind) and is_ours(kind.__module__)) or _is_declared(kind, name)
    return isinstance(known, PLAIN) and (isinstance(value, PLAIN) or _is_declared(kind, name))


def _is_declared(kind: type, name: str) -> bool:
    return any(name in vars(base).get("__annotations__", ()) for base in kind.__mro__)


def check_fields(kind: type, state: Mapping[str, Any]) -> None:
    """Raise ValueError if a field of a class of this package holds another kind of thing than it declares."""
    for base in kind.__mro__:
        declared = vars(base).get("__annotations__", {}) if is_ours(base.__module__) else {}
        for name in declared.keys() & state.keys():
            if isinstance(declared[name], str) and not _fits(state[name], declared[name]):
                raise ValueError(f"{name} of {kind.__qualname__} is no {declared[name]}")


def _fits(value: Any, declared: str) -> bool:
    """Whether a value is what a declaration says, as far as it is one of the kinds above."""
    words = [option.partition("[")[0].strip() for option in declared.split(" | ")]
    return any(word not in _KINDS or isinstance(value, _KINDS[word]) for word in words)
