"""Finds the scenario scripts, reads their parameters and checks what a user gives for them.

A script in `scenarios/` has a docstring, whose first line says which question it answers, and a function

    def run(study: Study, owners: int = 12, rate: float = 0.02) -> None: ...

whose keyword arguments are its parameters: name, type and default are read from the signature.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fedabm.common.errors import InputError, nearest

__all__ = ["Script", "find", "names", "question"]


@dataclass(frozen=True)
class Script:
    """One scenario script: its name, the question it answers, its function and its parameters with defaults."""

    name: str
    question: str
    run: Callable[..., None]
    defaults: dict[str, Any]

    def parameters(self, settings: list[str]) -> dict[str, Any]:
        """The defaults, changed by settings of the form key=value."""
        chosen = dict(self.defaults)
        hints = typing.get_type_hints(self.run)
        for setting in settings:
            key, equals, text = setting.partition("=")
            if not equals:
                known = next(iter(chosen), "key")
                raise InputError(f"--set takes key=value, got {setting!r}; write for instance --set {known}=1")
            if key not in chosen:
                raise InputError(f"{self.name} has no parameter {key!r}; {nearest(key, chosen)}")
            chosen[key] = convert(key, text, hints[key])
        return chosen


def names() -> list[str]:
    """The names of all scenario scripts."""
    package = importlib.import_module("fedabm.scenarios")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def question(name: str) -> str:
    """The question that a script answers, read without importing it."""
    text = pkgutil.get_data("fedabm.scenarios", f"{name}.py") or b""
    return _first_line(ast.get_docstring(ast.parse(text)))


def find(name: str) -> Script:
    """The script of that name."""
    if name not in names():
        raise InputError(f"unknown scenario {name!r}; {nearest(name, names())}")
    return describe(importlib.import_module(f"fedabm.scenarios.{name}"), name)


def describe(module: ModuleType, name: str) -> Script:
    """What a script's module says about itself."""
    parameters = list(inspect.signature(module.run).parameters.values())[1:]
    return Script(name, _first_line(module.__doc__), module.run, {p.name: p.default for p in parameters})


def convert(key: str, text: str, kind: Any) -> Any:
    """Read a value of the wanted type from text; lists are comma-separated.

    >>> convert("rates", "0.1,0.2", tuple[float, ...])
    (0.1, 0.2)
    """
    if typing.get_origin(kind) is tuple:
        parts = [part for part in text.split(",") if part]
        if not parts:
            raise InputError(f"{key} needs at least one value, got none; write for instance {key}=1,2")
        return tuple(convert(key, part, typing.get_args(kind)[0]) for part in parts)
    if typing.get_origin(kind) is typing.Literal:
        if text not in typing.get_args(kind):
            raise InputError(f"{key} cannot be {text!r}; {nearest(text, typing.get_args(kind))}")
        return text
    if kind is bool:
        return _truth(key, text)
    try:
        return kind(text)
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}.get(kind, kind.__name__)
        raise InputError(f"{key} must be {wanted}, got {text!r}; write for instance {key}=1") from None


def _truth(key: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
        raise InputError(f"{key} must be true or false, got {text!r}; write {key}=true")
    return text.lower() in ("true", "yes", "1")


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
