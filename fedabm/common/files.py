"""Files that are whole or not there, also after a kill or a power failure; and locks that a killed process lets go.

A file is written under a hidden name beside its place, `.NAME.XXXXXXXX.part`, brought to the disk and renamed.  So a
killed process leaves at most such drafts, which nobody takes for the file, and older content stays until the new is
complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock

from fedabm.common.errors import InputError, shown

__all__ = ["DRAFT", "as_path", "check_no_link", "clear_drafts", "draft", "locked", "unwritable", "write"]

#: how the names of drafts end
DRAFT = ".part"
_OUR_DRAFT = re.compile(rf"\..+\.[0-9a-f]{{8}}{re.escape(DRAFT)}")
#: what to do about a disk that takes no more
_REMEDY = "free some space and try again"


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
    hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}{DRAFT}")
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


def write(path: Path, content: str | bytes | memoryview, remedy: str = _REMEDY) -> Path:
    """Put a file with this content in place; text is written as UTF-8."""
    with draft(path, remedy) as hidden:
        hidden.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def clear_drafts(folder: Path) -> None:
    """Remove what killed writers left in a folder, and no other file; nobody may be writing there."""
    for leftover in folder.glob(f".*{DRAFT}"):
        if _OUR_DRAFT.fullmatch(leftover.name):
            leftover.unlink(missing_ok=True)


def check_no_link(path: Path) -> None:
    """Raise if a file of ours would be a link."""
    if path.is_symlink():
        raise InputError(f"{path} is a link and is left alone; remove it or choose another place")


def unwritable(path: Path, error: OSError, remedy: str = _REMEDY) -> InputError:
    """What to say about a full or read-only disk."""
    return InputError(f"cannot write to {path}: {error.strerror or error}; {remedy}")


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock in this file while the body runs, or raise InputError with the words `busy` if another has it.

    Where the file system has no locks the body runs all the same.
    """
    check_no_link(path)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(filelock.FileLock(path, timeout=0))
        except filelock.Timeout:
            raise InputError(busy) from None
        except (OSError, NotImplementedError):
            pass
        yield
