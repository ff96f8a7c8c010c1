"""A long table of a run on disk while the run goes on: whole Parquet files, each with the rows of some steps.

A file is there complete or not at all, so that a killed run leaves rows that anybody can read.  When the run is saved
they become the row groups of one file, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from fedabm.common.errors import InputError
from fedabm.common.files import as_path, check_no_link, clear_drafts, draft, unwritable

__all__ = ["ROWS", "LongTable", "Stream"]

#: rows that are held in memory before they go to disk (a step may have more); some 50 MB
ROWS = 2**18

_REMEDY = "free some space and run again"


class Stream:
    """The files of one table in a folder, in order; `files` are their names, so that a checkpoint can hold it."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.folder = ""
        self.files: list[str] = []

    def open(self, folder: str | Path) -> None:
        """Write to this folder from now on; of what is there already only the own files stay.

        What a killed run has written since it was last saved is written again.
        """
        place = as_path("the folder of a stream", folder)
        check_no_link(place)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(place, error, "choose a writable folder") from None
        missing = [name for name in self.files if not (place / name).is_file()]
        if missing:
            raise InputError(f"{place / missing[0]} is not there any more; run again from the beginning")
        clear_drafts(place)
        ours = re.compile(rf"{re.escape(self.table)}-\d+\.parquet")
        for path in place.iterdir():
            if ours.fullmatch(path.name) and path.name not in self.files:
                path.unlink()
        self.folder = str(place)

    def put(self, frame: pd.DataFrame, step: int) -> None:
        """Write rows that begin with this step; when this returns they are there to stay."""
        name = f"{self.table}-{step:09d}.parquet"
        with draft(Path(self.folder) / name, _REMEDY) as path:
            frame.to_parquet(path, index=False)
        self.files.append(name)

    def frames(self) -> Iterator[pd.DataFrame]:
        """What was put there, piece by piece."""
        for name in self.files:
            path = Path(self.folder) / name
            try:
                yield pd.read_parquet(path)
            except (OSError, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise InputError(f"{path} cannot be read ({reason}); load the run from where it was saved") from None


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
