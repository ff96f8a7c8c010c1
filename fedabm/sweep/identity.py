"""A run is named by what can change its result: target, parameters, seed, code and versions.

The name is the SHA-256 digest of canonical JSON.  Parameters are numbers, texts, lists, tables, arrays and frozen
dataclasses such as mechanisms and strategies; whatever has no such content has no name and is refused.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.sweep.sources import sources_of

__all__ = ["canonical", "digest"]

#: what the script that was started is called, in the leader and in workers
MAIN = ("__main__", "__mp_main__")


def digest(content: Any) -> str:
    """A short name of any content that `canonical` understands.

    >>> digest({"rate": 0.1, "owners": 5}) == digest({"owners": 5, "rate": 0.1})
    True
    """
    text = json.dumps(canonical(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def canonical(value: Any) -> Any:
    """The content as JSON values; equal content gives equal JSON, in any process."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, enum.Enum):
        return {"enum": [_name(type(value)), value.name]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"table": sorted([[canonical(key), canonical(item)] for key, item in value.items()], key=repr)}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return _object(value)


def _object(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"array": [str(value.dtype), list(value.shape), data]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: canonical(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"object": [_name(type(value)), fields]}
    if inspect.isclass(value) or inspect.isfunction(value):
        if "<" not in value.__qualname__:
            return {"code": _name(value)}
    elif type(value).__module__.startswith("fedabm."):
        return {"object": [_name(type(value)), canonical(vars(value))]}
    raise InputError(
        f"a parameter cannot be {value!r}, it has no lasting name; give a number, text or frozen dataclass"
    )


def _name(thing: Any) -> list[str]:
    """What a class or function is called, and the code that it is made of."""
    module = sys.modules.get(thing.__module__)
    file = getattr(module, "__file__", None)
    name = Path(file).stem if thing.__module__ in MAIN and file else thing.__module__
    return [name, thing.__qualname__, sources_of(thing.__module__).code]
