"""Files that are whole or not there, also after a kill or a power failure; and locks that a killed process lets go.

A file is written under a hidden name beside its place, `.NAME.XXXXXXXX.part`, brought to the disk and renamed.  So a
killed process leaves at most such drafts, which nobody takes for the file, and older content stays until the new is
complete.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import filelock

from fedabm.common.errors import BusyError, InputError, shown

__all__ = [
    "DRAFT",
    "Unwritable",
    "as_path",
    "check_no_link",
    "clear_drafts",
    "draft",
    "locked",
    "new_folder",
    "probe",
    "read_bytes",
    "read_json",
    "unwritable",
    "write",
]

#: how the names of drafts end
DRAFT = ".part"
_OUR_DRAFT = re.compile(rf"\.(.+)\.[0-9a-f]{{8}}{re.escape(DRAFT)}")
#: what to do about a disk that takes no more
_REMEDY = "free some space and try again"
#: what to do about a place that does not let us write
_ELSEWHERE = "choose a place that can be written to"
#: what to do about reasons that no free space helps against
_REMEDIES = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _ELSEWHERE),
    errno.ENOENT: "the folder is not there or was removed while we worked; make it, or choose another place",
    errno.ENOTDIR: "a part of that path is a file; choose another place",
    errno.EISDIR: "that is a folder; give the name of a file",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EIO: "the disk has failed; look at it, or choose another place",
}
#: bytes of a name that its draft repeats: file systems take 255, and the draft's own marks need some
_REPEATED = 200


def as_path(what: str, value: Any) -> Path:
    """A path, or an error."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise InputError(f"{what} must be a path, got {shown(value)}; give a text or a Path")
    return Path(value)


@contextlib.contextmanager
def draft(path: Path, remedy: str = _REMEDY) -> Iterator[Path]:
    """Gives the hidden path to write to; it goes to its place when the body ends well, and away when it does not.

    A link is not replaced: what it points to is somebody else's.
    """
    check_no_link(path)
    hidden = path.with_name(f".{_cut(path.name)}.{secrets.token_hex(4)}{DRAFT}")
    try:
        yield hidden
        with hidden.open("rb+") as file:
            os.fsync(file.fileno())
        hidden.replace(path)
    except OSError as error:
        raise unwritable(path, error, remedy) from None
    finally:
        with contextlib.suppress(OSError):
            hidden.unlink(missing_ok=True)


def _cut(name: str) -> str:
    """As much of a name as the name of its draft has room for."""
    return os.fsencode(name)[:_REPEATED].decode(errors="ignore")


def write(path: Path, content: str | bytes | memoryview, remedy: str = _REMEDY) -> Path:
    """Put a file with this content in place; text is written as UTF-8."""
    with draft(path, remedy) as hidden:
        hidden.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@contextlib.contextmanager
def new_folder(folder: Path, remedy: str = _ELSEWHERE) -> Iterator[Path]:
    """Make a folder, if it is not there, and make sure that it takes files before any work is done.

    If nothing comes of it, what was made goes again.
    """
    made = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
    try:
        _try(folder, remedy)
        yield folder
    finally:
        with contextlib.suppress(OSError):  # the first that is not empty
            for one in made:
                one.rmdir()


def _try(folder: Path, remedy: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe(folder)
    except OSError as error:
        raise unwritable(folder, error, remedy) from None


def probe(folder: Path) -> None:
    """An OSError if a folder takes no files; the file that tries it has no name, where that is possible."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def read_bytes(path: Path) -> bytes:
    """The content of a file; of a pipe or a device, where we could wait for ever, an OSError."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(number, "rb") as file:
        kind = os.fstat(number).st_mode
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
        return file.read()


def read_json(path: Path) -> Any:
    """What a JSON file holds; what is none is a ValueError, however deep it is."""
    try:
        return json.loads(read_bytes(path).decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def clear_drafts(folder: Path, names: Iterable[str] | None = None) -> None:
    """Remove what killed writers left in a folder, or of files of these names only; nobody may be writing there."""
    known = None if names is None else {_cut(name) for name in names}
    for leftover in folder.glob(f".*{DRAFT}"):
        ours = _OUR_DRAFT.fullmatch(leftover.name)
        if ours and (known is None or ours[1] in known):
            leftover.unlink(missing_ok=True)


def check_no_link(path: Path) -> None:
    """Raise if a file of ours would be a link."""
    if path.is_symlink():
        raise InputError(f"{path} is a link and is left alone; remove it or choose another place")


class Unwritable(InputError):
    """The disk has refused; nothing is wrong with what was asked for, and it can be tried again."""


def unwritable(path: Path, error: OSError, remedy: str = _REMEDY) -> Unwritable:
    """What to say about a disk that is full or read-only, and about a folder that is gone."""
    if remedy.startswith("free some space"):
        remedy = _REMEDIES.get(error.errno or 0, remedy)
    return Unwritable(f"cannot write to {path}: {error.strerror or error}; {remedy}")


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock in this file while the body runs, or raise BusyError with the words `busy` if another has it.

    Where the file system has no locks the body runs all the same.
    """
    check_no_link(path)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(filelock.FileLock(path, timeout=0))
        except filelock.Timeout:
            raise BusyError(busy) from None
        except (OSError, NotImplementedError):
            pass
        yield
