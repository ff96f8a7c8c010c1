"""Values and objects as they are written in TOML: the way back from `fedabm.specs.values`."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Mapping
from pathlib import PurePath
from types import ModuleType
from typing import Any

import numpy as np

from fedabm.common.errors import shown
from fedabm.common.names import snake
from fedabm.common.table import FrozenArray
from fedabm.specs.hints import parameters_of

__all__ = ["written"]

#: longer lists are not written out
_LONG = 1000


def written(value: Any, *modules: ModuleType) -> Any:
    """The TOML value that stands for a value; the classes of `modules` go by their names, as ours do.

    None stays None, and what cannot be written, such as an open file, is described in words.

    >>> from fedabm.mechanisms import ContributionSubsidy, NoPayments
    >>> written((NoPayments(), ContributionSubsidy(0.2)))
    ['no_payments', {'kind': 'contribution_subsidy', 'rate': 0.2}]
    """
    if isinstance(value, np.generic | np.ndarray | FrozenArray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): written(item, *modules) for key, item in value.items()}
    if isinstance(value, list | tuple) and len(value) <= _LONG:
        return [written(item, *modules) for item in value]
    if inspect.isfunction(value) and "<" not in value.__qualname__:
        return _place(value)
    return _object(value, modules)


def _object(value: Any, modules: tuple[ModuleType, ...]) -> Any:
    """An object from what its constructor was given; its name alone where that was nothing unusual."""
    names = parameters_of(type(value))
    described = isinstance(value, type) or not dataclasses.is_dataclass(value)
    if described or not all(hasattr(value, name) for name in names):
        return shown(value, 200)
    usual = _usual(value)
    given = {name: getattr(value, name) for name in names}
    unusual = {name: one for name, one in given.items() if name not in usual or repr(one) != repr(usual[name])}
    fields = {name: "none" if one is None else written(one, *modules) for name, one in unusual.items()}
    kind = _kind(type(value), modules)
    return {"kind": kind, **fields} if fields else kind


def _usual(value: Any) -> dict[str, Any]:
    """The defaults of the fields that have one."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found


def _kind(kind: type, modules: tuple[ModuleType, ...]) -> str:
    known = kind.__module__.startswith("fedabm.") or any(getattr(one, kind.__name__, None) is kind for one in modules)
    return snake(kind.__name__) if known else _place(kind)


def _place(thing: Any) -> str:
    """Where a class or function is found: in a file of one's own, or in a package."""
    file = getattr(sys.modules.get(thing.__module__), "__file__", None)
    own = file is not None and "." not in thing.__module__ and "site-packages" not in PurePath(file).parts
    return f"{file if own else thing.__module__}:{thing.__qualname__}"
