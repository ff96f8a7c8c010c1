"""The source files that a target depends on: its own, and those of the modules it imports that are not installed."""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

__all__ = ["sources_of"]

#: where the package itself is, whose code is counted as a whole, and the standard library
_ELSEWHERE = (Path(__file__).resolve().parents[1], Path(sysconfig.get_paths()["stdlib"]).resolve())
_INSTALLED = {"site-packages", "dist-packages"}


@functools.cache
def sources_of(module: str) -> tuple[str, ...]:
    """The files of a module and of what it imports anywhere in its code, in the order in which they are met.

    Imports are read, not carried out, so that leader and workers find the same whatever they have loaded.
    """
    loaded = sys.modules.get(module)
    first = getattr(loaded, "__file__", None)
    found: dict[str, None] = {}
    waiting = [(first, getattr(loaded, "__package__", None) or "")] if first else []
    while waiting:
        file, package = waiting.pop()
        if file in found or not Path(file).is_file():
            continue
        found[file] = None
        waiting += [known for name in _imported(file, package) if (known := _local(name))]
    return tuple(found)


def _imported(file: str, package: str) -> Iterator[str]:
    """The names of all modules that a file imports, and of what might be a module among what it imports from them."""
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _local(name: str) -> tuple[str, str] | None:
    """File and package of a module that is somebody's own source code; no file for a folder without __init__."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or (top not in (name, "fedabm") and not _local(top)):
        return None  # without looking further, which would import an installed package
    spec = _spec(name)
    if spec is None:
        return None
    package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
    if not spec.origin or not spec.origin.endswith(".py"):
        return ("", package) if package == name else None
    path = Path(spec.origin).resolve()
    foreign = _INSTALLED & set(path.parts) or any(path.is_relative_to(place) for place in _ELSEWHERE)
    return None if foreign else (spec.origin, package)


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is; looking for it imports the packages around it and nothing else."""
    around = name.rpartition(".")[0]
    if around and ((outer := _spec(around)) is None or outer.submodule_search_locations is None):
        return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
