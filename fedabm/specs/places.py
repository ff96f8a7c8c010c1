"""What stands in a module or in a file of one's own: "package.module:name" or "path/to/file.py:name".

A file is loaded as the module of its name, and its folder is put first on the path where Python looks for modules, as
for a script: it may import its neighbours, and workers find what it defines.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from fedabm.common.errors import FedabmError, InputError, UserCodeError, nearest

__all__ = ["find_place", "is_file", "is_loading", "locate", "one_line_errors", "own_module"]

#: the files that are being loaded
_LOADING: set[Path] = set()


def is_file(text: str) -> bool:
    """Whether a text means a Python file, not a module or a scenario's name.

    >>> is_file("my_study.py"), is_file("free_riding")
    (True, False)
    """
    return text.endswith(".py") or os.sep in text


def find_place(where: str, folders: Sequence[Path] = ()) -> Any:
    """What "module:name" or "file.py:name" stands for; files are looked for in the folders, then in the current one.

    >>> find_place("fedabm.mechanisms:NoPayments").__name__
    'NoPayments'
    """
    place, _, name = where.rpartition(":")
    found: Any = own_module(locate(place, folders)) if is_file(place) else _imported(place)
    for part in name.split("."):
        if not hasattr(found, part):
            public = [one for one in vars(found) if not one.startswith("_")]
            raise InputError(f"{place} has no {name!r}; {nearest(name, public)}")
        found = getattr(found, part)
    return found


def locate(text: str, folders: Sequence[Path] = ()) -> Path:
    """The file that a path means, in one of the folders or in the current one."""
    path = Path(text).expanduser()
    candidates = [folder / path for folder in (*folders, Path())]  # an absolute path stays as it is
    found = next((one for one in candidates if os.path.isfile(one)), None)
    if found is None:
        if any(os.path.lexists(one) for one in candidates):
            raise InputError(f"{text} is no ordinary file; give the path of a Python file")
        hint = nearest(path.name, _scripts(candidates[0].parent))
        raise InputError(f"there is no file {text}; {hint}")
    return found.resolve()


def _scripts(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return [path.name for path in folder.glob("*.py")]
    return []


def own_module(path: Path) -> ModuleType:
    """The module in a file of one's own, loaded once."""
    path = path.resolve()
    known = sys.modules.get(path.stem)
    if known is not None and _file(known) == path:  # also where it was imported, as by a worker
        return known
    _check_name(path)
    with contextlib.suppress(ValueError):
        sys.path.remove(str(path.parent))
    sys.path.insert(0, str(path.parent))
    _LOADING.add(path)
    try:
        return _load(path)
    finally:
        _LOADING.discard(path)


def is_loading(path: Path) -> bool:
    """Whether a file is being loaded at this moment."""
    return path.resolve() in _LOADING


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file; give a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # before it is carried out: dataclasses look their module up
    try:
        with one_line_errors(path):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _check_name(path: Path) -> None:
    """Workers, checkpoints and names of runs find the module by its name, so that no other may have it."""
    name = path.stem
    if "." in name:
        raise InputError(f"{path.name} has a dot in its name, which no module can have; rename the file")
    other = sys.modules.get(name) or importlib.util.find_spec(name)
    file = _file(other)
    if name in sys.stdlib_module_names or file not in (None, path):
        raise InputError(f"{path.name} has the name of another module, {name} in {file or 'Python'}; rename the file")


def _file(module: ModuleType | ModuleSpec | None) -> Path | None:
    """Where a module stands; nothing for folders without __init__ and for what is built into Python."""
    file = getattr(module, "__file__", None) or getattr(module, "origin", None)
    return Path(file).resolve() if file else None


def _imported(module: str) -> ModuleType:
    if not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{module!r} is no module; write package.module:name or path/to/file.py:name")
    try:
        with one_line_errors():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        remedy = "write package.module:name or path/to/file.py:name"
        raise InputError(f"cannot import {module!r}: {error}; {remedy}") from None


@contextlib.contextmanager
def one_line_errors(path: Path | None = None) -> Iterator[None]:
    """What goes wrong while somebody's code is loaded, as one line with file and line.

    Without a `path`, a module that is not found is left to the caller.
    """
    try:
        yield
    except (FedabmError, MemoryError):
        raise
    except SyntaxError as error:
        raise UserCodeError(f"{error.filename}, line {error.lineno}: {error.msg}; correct it there") from None
    except Exception as error:
        if path is None and isinstance(error, ModuleNotFoundError):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if path is None or Path(frame.filename).is_relative_to(path.parent)] or frames
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserCodeError(f"{own[-1].filename}, line {own[-1].lineno}: {reason}; correct it there") from None
