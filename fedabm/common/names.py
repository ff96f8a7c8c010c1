"""Names of mechanisms, accuracies and costs in text files: the class name in snake_case."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from fedabm.common.errors import InputError, nearest

__all__ = ["build", "find", "kinds", "snake"]


def snake(name: str) -> str:
    """ShapleyShare -> shapley_share.

    >>> snake("PacBound")
    'pac_bound'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def kinds(package: ModuleType) -> dict[str, type]:
    """The classes that a package exports and that can be made, by their names in text files."""
    exported = (getattr(package, name) for name in package.__all__)
    return {snake(one.__name__): one for one in exported if inspect.isclass(one) and not inspect.isabstract(one)}


def find(name: Any, choices: Mapping[str, Callable[..., Any]], what: str) -> Callable[..., Any]:
    """What a name stands for, or an error with the nearest valid name."""
    if not isinstance(name, str):
        raise InputError(f"the kind of {what} must be a name, got {name!r}; {nearest('', choices)}")
    if name not in choices:
        raise InputError(f"unknown {what} {name!r}; {nearest(name, choices)}")
    return choices[name]


def build(make: Callable[..., Any], values: Mapping[str, Any], what: str) -> Any:
    """Call a class or function with the values of a table, after checking names and types of its parameters."""
    parameters = inspect.signature(make).parameters
    for key, value in values.items():
        if key not in parameters:
            raise InputError(f"unknown key {key!r} of {what}; {_hint(key, list(parameters))}")
        _check_type(f"{key} of {what}", value, str(parameters[key].annotation))
    required = [name for name, one in parameters.items() if one.default is inspect.Parameter.empty]
    missing = [name for name in required if name not in values]
    if missing:
        given, example = ", ".join(values) or "nothing", ", ".join(f"{name} = ..." for name in missing)
        raise InputError(f"{what} needs {', '.join(missing)}, got {given}; write {{ kind = ..., {example} }}")
    try:
        return make(**values)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} cannot be made from {dict(values)}: {error}; check its values") from None


def _hint(key: str, names: list[str]) -> str:
    return nearest(key, names) if names else "it takes no parameters"


def _check_type(what: str, value: Any, annotation: str) -> None:
    """Plain numbers and truth values are checked here; everything else is up to the class."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if annotation == "float" and not number:
        raise InputError(f"{what} must be a number, got {value!r}; give a number")
    if annotation == "int" and not (number and float(value).is_integer()):
        raise InputError(f"{what} must be a whole number, got {value!r}; give a whole number")
    if annotation == "bool" and not isinstance(value, bool):
        raise InputError(f"{what} must be true or false, got {value!r}; write one of them")
    if annotation != "bool" and isinstance(value, bool):
        raise InputError(f"{what} cannot be {value!r}; give a number, a list or a name")
