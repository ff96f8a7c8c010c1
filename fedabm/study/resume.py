"""A study that was killed goes on: the same command again, in the same folder, ends with the same frames.

While a study is at work, its folder holds `.running/` with the command, a checkpoint of each run that took long (see
`fedabm.simulation.checkpoint`), rows of large runs so far, and results of training.  All of it goes when the study is
complete.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from fedabm.common.errors import FedabmError, InputError, check_positive
from fedabm.common.files import check_no_link, locked, unwritable, write
from fedabm.results.store import MANIFEST, is_complete, made_by, take_back
from fedabm.study.study import ROWS, Study

__all__ = ["finished", "is_begun", "left", "make_room", "tidied", "unfinished", "worth"]

_PLACE = ".running"
_COMMAND = "command"
_LOCK = "lock"


def left(folder: Path) -> str | None:
    """The command whose unfinished run a folder holds, None if it holds none or it is still at work."""
    place = folder / _PLACE
    command = _command(place)
    if command is None or is_complete(folder):
        return None
    try:
        with _held(place):
            return command
    except FedabmError:
        return None


def is_begun(folder: Path) -> bool:
    """Whether a folder holds nothing but what a command saves on its way."""
    return folder.is_dir() and {entry.name for entry in folder.iterdir()} <= {_PLACE}


def finished(folder: Path, command: str, script: str) -> bool:
    """Whether a folder holds all of what this command makes, so that nothing is left to do but to tidy up.

    What another version has made, or what was made before a script of the user's own was last changed, is another run.
    """
    if not is_complete(folder) or not made_by(folder, command) or _changed_since(folder, Path(script)):
        return False
    place = folder / _PLACE
    if place.is_dir():
        with _held(place):
            take_back(folder)
            shutil.rmtree(place, ignore_errors=True)
    return True


def tidied(folder: Path, command: str) -> bool:
    """Whether this command has finished here and was killed before it had tidied up, which is done now."""
    place = folder / _PLACE
    if not is_complete(folder) or not place.is_dir() or _command(place) not in (None, command):
        return False
    with _held(place):
        shutil.rmtree(place, ignore_errors=True)
    return True


def _changed_since(folder: Path, script: Path) -> bool:
    """Whether a script, if it is a file, is newer than the run."""
    try:
        return script.is_file() and script.stat().st_mtime > (folder / MANIFEST).stat().st_mtime
    except OSError:
        return False


def make_room(folder: Path, command: str) -> None:
    """Take away what the same command saved when it was interrupted: it goes on, and will save all of it."""
    if left(folder) == command:
        take_back(folder)


@contextlib.contextmanager
def unfinished(folder: Path, command: str, study: Study, every: float) -> Iterator[Path]:
    """Let a study go on where the same command was killed in this folder, and save it every few seconds.

    Yields the folder of what is saved on the way, which goes when all is done.
    """
    check_positive("--checkpoint", every)
    place = folder / _PLACE
    check_no_link(place)
    before = _command(place)
    if before not in (None, command):
        raise InputError(f"{folder} holds an unfinished run of `{before}`; repeat that command or choose another --out")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error, "choose a writable --out") from None
    with _held(place):
        write(place / _COMMAND, command, "choose a writable --out")
        study.saved = place / "run.checkpoint"
        study.save_every = every
        study.scratch = study.scratch or place / "training"
        if before is not None:
            study.note(f"Going on with the unfinished run in {folder}")
        done = False
        try:
            yield place
            done = True
        finally:
            if done or not worth(folder):
                shutil.rmtree(place, ignore_errors=True)


def worth(folder: Path) -> bool:
    """Whether anything was saved in this folder that a second attempt could use."""
    try:
        names = [entry.name for entry in (folder / _PLACE).iterdir()]
    except OSError:  # somebody has removed it
        return False
    return any(name not in (_COMMAND, _LOCK) and not name.endswith(ROWS) for name in names)


def _command(place: Path) -> str | None:
    """The command that works here, or did."""
    try:
        return (place / _COMMAND).read_text(encoding="utf-8")
    except OSError:
        return None


def _held(place: Path) -> AbstractContextManager[None]:
    """Only one process at a time works on a run; one that was killed lets go by itself."""
    return locked(place / _LOCK, f"another process is at work in {place.parent}; wait for it or choose another --out")
