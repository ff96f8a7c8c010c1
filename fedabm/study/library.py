"""Finds scenario scripts, reads their parameters and checks what a user gives for them.

A script has a docstring, whose first line says which question it answers, and a function

    def run(study: Study, owners: int = 12, rate: float = 0.02) -> None: ...

whose keyword arguments are its parameters: name, type and default are read from the signature.  A line
`device = "cuda"` beside it says where its models train, unless `--device` or a sweep does.  Scripts of the package
`fedabm.scenarios` and those that installed packages announce as entry points of that name go by name, any other one by
the path of its file.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fedabm.common.device import check_written, preferring
from fedabm.common.errors import InputError, nearest
from fedabm.specs.hints import hints_of, parameters_of
from fedabm.specs.kinds import EntryPointKind, announced
from fedabm.specs.places import is_file, locate, own_module
from fedabm.specs.values import Reader
from fedabm.specs.words import value_of

__all__ = ["Script", "find", "names", "question"]

#: the package with the scripts, which nothing in the library imports, and the entry points of further ones
_SCENARIOS = "fedabm.scenarios"


@dataclass(frozen=True)
class Script:
    """A scenario script: its name, the question it answers, its function and its parameters with their defaults.

    `where` finds it again: its name, or the path of its file.
    """

    name: str
    question: str
    run: Callable[..., None]
    defaults: dict[str, Any]
    where: str

    @property
    def module(self) -> ModuleType:
        """The module that it is in, whose classes have names in its parameters."""
        return sys.modules[self.run.__module__]

    def parameters(self, settings: Sequence[str]) -> dict[str, Any]:
        """The defaults, changed by settings of the form key=value."""
        hints, read = hints_of(self.run), Reader(modules=(self.module,)).read
        chosen = dict(self.defaults)
        for setting in settings:
            key, equals, text = setting.partition("=")
            if not equals:
                known = next(iter(chosen), "key")
                raise InputError(f"--set takes key=value, got {setting!r}; write for instance --set {known}=1")
            if key not in chosen:
                raise InputError(f"{self.name} has no parameter {key!r}; {nearest(key, chosen)}")
            chosen[key] = read(key, value_of(key, text, hints[key]), hints[key])
        missing = [name for name, value in chosen.items() if value is inspect.Parameter.empty]
        if missing:
            raise InputError(f"{self.name} needs {', '.join(missing)}; give it with --set {missing[0]}=...")
        return chosen


def names() -> list[str]:
    """The names of all scripts that have one."""
    return sorted({*_packaged(), *_announced()})


def question(name: str) -> str:
    """The question that a script answers, read without importing it; nothing where its source is not at hand."""
    module = f"{_SCENARIOS}.{name}" if name in _packaged() else _announced()[name].entry.module
    try:
        spec = importlib.util.find_spec(module)
        text = Path(spec.origin).read_bytes() if spec and spec.origin else b""
        return _first_line(ast.get_docstring(ast.parse(text)))
    except (ImportError, OSError, SyntaxError, ValueError):
        return ""


def find(name: str, folders: Sequence[Path] = ()) -> Script:
    """The script of that name, or in that file; files are looked for in the folders, then in the current one."""
    if is_file(name):
        path = locate(name, folders)
        if path not in _packaged().values():
            return describe(own_module(path), path.stem, str(path))
        name = path.stem
    if name in _packaged():
        return describe(importlib.import_module(f"{_SCENARIOS}.{name}"), name, name)
    if name in _announced():
        return describe(_announced()[name].load(), name, name)
    file = f"{name}.py"
    hint = f"write {file} for the file of that name" if os.path.isfile(file) else nearest(name, names())
    raise InputError(f"unknown scenario {name!r}; {hint}")


def describe(module: ModuleType, name: str, where: str) -> Script:
    """What a script's module says about itself."""
    file, run = getattr(module, "__file__", name), getattr(module, "run", None)
    if not inspect.isfunction(run):
        functions = [one for one, value in vars(module).items() if inspect.isfunction(value)]
        hint = nearest("run", functions) if functions else "it has no functions"
        raise InputError(f"{file} has no function run(study, ...); {hint}")
    parameters = list(parameters_of(run).values())
    if not parameters:
        line = run.__code__.co_firstlineno
        raise InputError(f"{file}, line {line}: run takes no study; write def run(study, ...)")
    device = getattr(module, "device", "auto")
    if isinstance(device, str) and device != "auto":
        run = preferring(check_written(device))(run)
    return Script(name, _first_line(module.__doc__), run, {one.name: one.default for one in parameters[1:]}, where)


def _packaged() -> dict[str, Path]:
    """The files of the scripts in our package, by name."""
    folders = importlib.import_module(_SCENARIOS).__path__
    files = (path for folder in folders for path in Path(folder).glob("*.py"))
    return {path.stem: path.resolve() for path in files if not path.stem.startswith("_")}


def _announced() -> dict[str, EntryPointKind]:
    """The scripts of other packages, by name."""
    return {entry.name: entry for entry in announced(_SCENARIOS)}


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
