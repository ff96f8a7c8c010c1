"""A long table of a run on disk while the run goes on: whole Parquet files, each with the rows of some steps.

A file is there complete or not at all, so that a killed run leaves rows that anybody can read.  When the run is saved
they become the row groups of one file, one after the other.  A run knows its files by their digests: rows that another
run has put in their place are refused, as are damaged ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from fedabm.common.errors import InputError, UnreadableError
from fedabm.common.files import as_path, check_no_link, clear_drafts, draft, unwritable
from fedabm.common.state import TEXT, Dict, Stateful

__all__ = ["ROWS", "LongTable", "Stream"]

#: rows that are held in memory before they go to disk (a step may have more); some 50 MB
ROWS = 2**18

_REMEDY = "free some space and run again"


class Stream(Stateful):
    """The files of one table in a folder; `files` are their names, in order, and digests: a checkpoint holds these."""

    _changing: ClassVar = {"files": Dict(TEXT, TEXT)}
    _remade = frozenset({"table", "folder"})

    def __init__(self, table: str) -> None:
        self.table = table
        self.folder = ""
        self.files: dict[str, str] = {}

    def open(self, folder: str | Path) -> None:
        """Write to this folder from now on; of what is there already only the own files stay, if they are unchanged.

        What a killed run has written since it was last saved is written again.
        """
        place = as_path("the folder of a stream", folder)
        check_no_link(place)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(place, error, "choose a writable folder") from None
        self.check()
        missing = [name for name in self.files if not (place / name).is_file()]
        if missing:
            raise InputError(f"{place / missing[0]} is not there any more; run again from the beginning")
        for name in self.files:
            with self._opened(place / name):
                pass
        clear_drafts(place)
        for path in place.iterdir():
            if self._ours(path.name) and path.name not in self.files:
                path.unlink()
        self.folder = str(place)

    def from_state(self, state: Any) -> Self:
        """With the files that were written; whoever goes on says where."""
        super().from_state(state)
        self.check()
        return self

    def check(self) -> None:
        """Raise unless its files have names that it gives them: no others are read."""
        if not all(self._ours(name) for name in self.files):
            raise InputError(f"{self.table} lie in a file of another name; run again from the beginning")

    def _ours(self, name: str) -> bool:
        return bool(re.fullmatch(rf"{re.escape(self.table)}-\d+\.parquet", name))

    def put(self, frame: pd.DataFrame, step: int) -> None:
        """Write rows that begin with this step; when this returns they are there to stay."""
        name = f"{self.table}-{step:09d}.parquet"
        with draft(Path(self.folder) / name, _REMEDY) as path:
            frame.to_parquet(path, index=False)
            with path.open("rb") as file:
                digest = _digest(file)
        self.files[name] = digest

    def frames(self) -> Iterator[pd.DataFrame]:
        """What was put there, piece by piece."""
        for name in self.files:
            with self._opened(Path(self.folder) / name) as file:
                piece = pd.read_parquet(file)
            yield piece

    @contextlib.contextmanager
    def _opened(self, path: Path) -> Iterator[BufferedReader]:
        """A file that was checked, open: nobody can replace it before it is read."""
        try:
            with path.open("rb") as file:
                self._check(path, file)
                file.seek(0)
                yield file
        except OSError as error:
            reason = str(error).splitlines()[0]
            raise UnreadableError(f"{path} cannot be read ({reason}); load the run from where it was saved") from None

    def _check(self, path: Path, file: BufferedReader) -> None:
        """Raise unless a file is byte for byte what was put there."""
        if _digest(file) != self.files[path.name]:
            raise InputError(
                f"{path} does not hold the rows that this run wrote there, it is damaged or another run's; "
                "run again, each run with a folder of its own"
            )


def _digest(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _as_it_is(piece: pd.DataFrame) -> pd.DataFrame:
    """A piece that needs no finish."""
    return piece


@dataclass(frozen=True)
class LongTable:
    """The rows on disk, then those that are not; `finish` makes all pieces alike (kinds and categories)."""

    stream: Stream
    rest: pd.DataFrame
    finish: Callable[[pd.DataFrame], pd.DataFrame] = field(default=_as_it_is)

    def pieces(self) -> Iterator[pd.DataFrame]:
        """Some steps after the other."""
        yield from map(self.finish, self.stream.frames())
        yield self.finish(self.rest)

    def frame(self) -> pd.DataFrame:
        """All of it, in memory."""
        whole = [piece for piece in self.pieces() if len(piece)]
        return pd.concat(whole, ignore_index=True) if len(whole) > 1 else (whole or [self.finish(self.rest)])[0]

    def head(self) -> pd.DataFrame:
        """A piece that shows the columns and their kinds."""
        return next(self.pieces()) if self.rest.empty else self.finish(self.rest)
