"""Kills at any operation on files: from the n-th on, whatever would change a folder raises, as after a SIGKILL."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Watch:
    """Operations on files below a folder, and how many of them are allowed (None: any number)."""

    folder: str
    allowed: int | None = None
    count: int = 0


_watches: list[Watch] = []


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    """What Python tells about every operation."""
    if not _watches or (event != "open" and event not in _CHANGES):
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
        return
    for watch in _watches:
        if isinstance(arguments[0], str | os.PathLike) and os.fspath(arguments[0]).startswith(watch.folder):
            watch.count += 1
            if watch.allowed is not None and watch.count > watch.allowed:
                raise Killed


sys.addaudithook(_heard)


@contextlib.contextmanager
def watched(folder: Path, allowed: int | None = None) -> Iterator[Watch]:
    """Count the operations in a folder, or end with Killed when they are more than allowed."""
    watch = Watch(str(folder), allowed)
    _watches.append(watch)
    try:
        with contextlib.suppress(Killed):
            yield watch
    finally:
        _watches.remove(watch)
