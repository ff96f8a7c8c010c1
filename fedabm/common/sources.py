"""What can change the results of code, apart from its input: the code itself and the versions of what it imports.

Counted are all modules that it imports, anywhere in its code or by way of others: its author's own and those of this
package, except for the rooms that only start runs or show what came out.  Comments, docstrings and layout do not count.
Of installed packages the version counts.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import NamedTuple

__all__ = ["MAIN", "Sources", "code_of", "sources_of", "written_since"]

#: what the script that was started is called, in the leader and in workers
MAIN = ("__main__", "__mp_main__")

#: rooms that change no results
_APART = ("fedabm.analysis", "fedabm.cli", "fedabm.report", "fedabm.sweep")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Sources:
    """The source files of some modules and of all that they import, and the installed packages that these import.

    `code` is a digest of the code, wherever its files are, and of the versions.
    """

    files: tuple[str, ...]
    packages: tuple[str, ...]
    code: str


@functools.cache
def sources_of(*modules: str) -> Sources:
    """What modules depend on.  Imports are read, not carried out, so that leader and workers find the same."""
    files: dict[str, str] = {}
    packages: set[str] = set()
    waiting = list(map(_place, modules))
    while waiting:
        file, package = waiting.pop()
        if file in files or not Path(file).is_file():
            continue
        code = _read(file)
        files[file] = code.digest
        for name in _absolute(code.imports, package):
            if _is_own(name):
                waiting += map(_place, (name, *_around(name)))
            elif _is_installed(top := name.partition(".")[0]):
                packages.add(top)
    versions = [("python", platform.python_version()), *((name, _version(name)) for name in sorted(packages))]
    digest = hashlib.sha256(repr((sorted(set(files.values())), versions)).encode()).hexdigest()
    return Sources(tuple(files), tuple(sorted(packages)), digest)


def code_of(*modules: str) -> str:
    """A digest of the code of these modules and of all that they import, and of the versions of packages among them."""
    own = _sources_among(modules)
    tops = {name.partition(".")[0] for name in modules} - {name.partition(".")[0] for name in own}
    versions = [(top, _version(top)) for top in sorted(tops - {""}) if _is_installed(top)]
    return hashlib.sha256(repr((sources_of(*own).code, versions)).encode()).hexdigest()


def written_since(moment: float, *modules: str) -> str:
    """A source file of these modules, or of what they import, that was written after this moment; "" if there is none.

    `moment` is as `time.time()` has it.
    """
    files = sources_of(*_sources_among(modules)).files
    return next((file for file in files if Path(file).exists() and Path(file).stat().st_mtime > moment), "")


def _sources_among(modules: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in modules if _is_source(name)))


def _is_source(module: str) -> bool:
    """Whether a module is somebody's own source code, also as a script that was started or found by its path."""
    top = module.partition(".")[0]
    if top == "fedabm":
        return _is_own(module)
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    known = top in sys.stdlib_module_names and module not in MAIN
    return file.endswith(".py") and not known and not _INSTALLED & set(Path(file).resolve().parts)


class _Code(NamedTuple):
    """A digest of the code in a file, and the names of the modules that it may import, as they are written there."""

    digest: str
    imports: frozenset[str]


@functools.cache
def _read(file: str) -> _Code:
    content = Path(file).read_bytes()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # not for this version of Python, so that nothing runs it
        return _Code(hashlib.sha256(content).hexdigest(), frozenset())
    names: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            inner = base if base.endswith(".") else f"{base}."
            names.update((base, *(inner + alias.name for alias in node.names)))
    return _Code(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), frozenset(names))


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The module and all statements in it, with the branches that hold some; no expressions, which are ten times more.

    >>> code = "def f():\\n  try: import a\\n  except E: from b import c"
    >>> [type(one).__name__ for one in _statements(ast.parse(code))]
    ['Module', 'FunctionDef', 'Try', 'ExceptHandler', 'ImportFrom', 'Import']
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for branch in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, branch, ())
            waiting += inside if isinstance(inside, list) else ()


def _absolute(names: Iterable[str], package: str) -> Iterator[str]:
    """Names of modules as a file in this package means them."""
    for name in sorted(names):
        yield importlib.util.resolve_name(name, package) if name.startswith(".") else name


@functools.cache
def _version(package: str) -> str:
    """The version of an installed package, by the name under which it is imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(package, ())
        return " ".join(importlib.metadata.version(name) for name in sorted(set(names)))


def _place(module: str) -> tuple[str, str]:
    """File and package of a module; no file where there is none, as for a folder without __init__."""
    loaded = sys.modules.get(module)
    if loaded is not None:  # which may be a script
        return getattr(loaded, "__file__", None) or "", getattr(loaded, "__package__", None) or ""
    spec = _spec(module)
    if spec is None:
        return "", ""
    return spec.origin or "", module if spec.submodule_search_locations is not None else module.rpartition(".")[0]


def _around(name: str) -> Iterator[str]:
    """The packages that a module is in, which are imported with it; ours as a whole imports nothing by itself."""
    while (name := name.rpartition(".")[0]) not in ("", "fedabm"):
        yield name


def _is_installed(top: str) -> bool:
    return top not in sys.stdlib_module_names and not _is_own(top) and _spec(top) is not None


@functools.cache
def _is_own(name: str) -> bool:
    """Whether a module is somebody's own source code, or ours and can change results."""
    top = name.partition(".")[0]
    if top == "fedabm":
        return not f"{name}.".startswith(tuple(f"{room}." for room in _APART)) and _spec(name) is not None
    if top in sys.stdlib_module_names or (top != name and not _is_own(top)):
        return False  # without looking further, which would import an installed package
    spec = _spec(name)
    if spec is None or not spec.origin:
        return spec is not None  # a folder without __init__
    return spec.origin.endswith(".py") and not _INSTALLED & set(Path(spec.origin).resolve().parts)


@functools.cache
def _spec(name: str) -> ModuleSpec | None:
    """Where a module is; looking for it imports the packages around it and nothing else."""
    around = name.rpartition(".")[0]
    if around and ((outer := _spec(around)) is None or outer.submodule_search_locations is None):
        return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
