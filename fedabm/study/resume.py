"""A study that was killed goes on: the same command again, in the same folder, ends with the same frames.

While a study is at work, its folder holds `.running/` with the command, a checkpoint of each run that took long (see
`fedabm.simulation.checkpoint`) and results of training.  All of it goes when the study is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from fedabm.common.errors import InputError, check_positive
from fedabm.results.store import MANIFEST
from fedabm.study.study import Study

__all__ = ["left", "make_room", "unfinished", "worth"]

_PLACE, _COMMAND, _LOCK = ".running", "command", "lock"
#: what a study writes
_SAVED = (".parquet", ".csv", ".png", ".graphml", ".json")


def left(folder: Path) -> str | None:
    """The command whose unfinished run a folder holds, None if it holds none or it is still at work."""
    place = folder / _PLACE
    try:
        with _held(place):
            return (place / _COMMAND).read_text()
    except (OSError, InputError):
        return None


def make_room(folder: Path, command: str) -> None:
    """Take away what the same command saved when it was interrupted: it goes on, and will save all of it."""
    manifest = folder / MANIFEST
    if left(folder) != command or not _incomplete(manifest):
        return
    written = manifest.stat().st_mtime_ns  # the manifest comes last, so younger files are somebody else's
    ours = (path for path in folder.iterdir() if path.suffix in _SAVED and not path.name.startswith("."))
    saved = [path for path in ours if path.is_file() and path.stat().st_mtime_ns <= written]
    for path in (manifest, *saved):
        path.unlink(missing_ok=True)


def _incomplete(manifest: Path) -> bool:
    """Whether a run was interrupted when it wrote this manifest; one that is absent or damaged says nothing."""
    try:
        return json.loads(manifest.read_text(encoding="utf-8")).get("complete") is False
    except (OSError, ValueError, AttributeError):
        return False


@contextlib.contextmanager
def unfinished(folder: Path, command: str, study: Study, every: float) -> Iterator[None]:
    """Let a study go on where the same command was killed in this folder, and save it every so many seconds."""
    check_positive("--checkpoint", every)
    place = folder / _PLACE
    before = (place / _COMMAND).read_text() if (place / _COMMAND).exists() else None
    if before not in (None, command):
        raise InputError(f"{folder} holds an unfinished run of `{before}`; repeat that command or choose another --out")
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / _COMMAND).write_text(command)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}; choose a writable --out") from None
    with _held(place):
        study.saved, study.save_every, study.scratch = place / "run.checkpoint", every, place / "training"
        if before is not None:
            study.note(f"Going on with the unfinished run in {folder}")
        done = False
        try:
            yield
            done = True
        finally:
            if done or not worth(folder):
                shutil.rmtree(place, ignore_errors=True)


def worth(folder: Path) -> bool:
    """Whether anything was saved in this folder that a second attempt could use."""
    return any(entry.name not in (_COMMAND, _LOCK) for entry in (folder / _PLACE).iterdir())


@contextlib.contextmanager
def _held(place: Path) -> Iterator[None]:
    """Only one process at a time works on a run; one that was killed lets go by itself."""
    with (place / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another process is at work in {place.parent}; wait for it or choose another --out"
            ) from None
        except OSError:
            pass  # a file system without locks: two processes would only do the same twice
        yield
