"""A table that somebody filled in: CSV, Parquet or a data frame; what is wrong is said with file, row and column."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, nearest, shown, with_point
from fedabm.common.files import read_bytes

__all__ = ["Sheet", "read_sheet", "sheet_of_frame"]

#: files of more bytes than this are no tables that people fill in
_MOST_BYTES = 2**28


@dataclass(frozen=True)
class Sheet:
    """Columns of cells by name, and where they come from; `first` is what the source calls its first row of cells."""

    source: str
    columns: dict[str, list[Any]]
    first: int = 1

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def where(self, row: int, name: str) -> str:
        """How messages name a cell."""
        return f"{self.source}, row {row + self.first}, column {name!r}"

    def check(self, needed: Iterable[str], known: Sequence[str] | None = None) -> None:
        """Raise unless the columns that are needed are there, and no other than those that are known."""
        for name in needed:
            if name not in self.columns:
                has = ", ".join(map(shown, self.columns)) or "none"
                raise InputError(f"{self.source} has no column {name!r}, got {has}; add it, or rename one")
        for name in self.columns if known is not None else ():
            if name not in known:  # type: ignore[operator]
                raise InputError(
                    f"{self.source} has a column {shown(name)} that means nothing here; {_hint(name, known)}"
                )
        if not len(self):
            raise InputError(f"{self.source} has no rows below its head; add some")

    def texts(self, name: str) -> list[str]:
        """A column of words, none of them empty."""
        found = [_text(cell) for cell in self.columns[name]]
        for row, word in enumerate(found):
            if not word:
                raise InputError(f"{self.where(row, name)} is empty; fill it in")
        return found

    def numbers(
        self, name: str, low: float = -1e100, high: float = 1e100, *, whole: bool = False, gaps: bool = False
    ) -> np.ndarray:
        """A column of finite numbers in a range; with `gaps` an empty cell is NaN, else an error."""
        return np.array(
            [
                self._number(row, name, cell, (low, high), whole=whole, gaps=gaps)
                for row, cell in enumerate(self.columns[name])
            ]
        )

    def _number(self, row: int, name: str, cell: Any, limits: tuple[float, float], *, whole: bool, gaps: bool) -> float:
        if cell is None or _text(cell) == "":
            if gaps:
                return math.nan
            raise InputError(f"{self.where(row, name)} is empty; fill in a number")
        try:
            number = float("x" if isinstance(cell, bool | np.bool_) else cell)
        except (TypeError, ValueError, OverflowError):
            remedy = with_point(cell, "correct it")
            raise InputError(f"{self.where(row, name)} must be a number, got {shown(cell, 60)}; {remedy}") from None
        if not math.isfinite(number):
            raise InputError(f"{self.where(row, name)} must be a finite number, got {shown(cell, 60)}; correct it")
        if not limits[0] <= number <= limits[1]:
            wanted = f"at least {limits[0]:g}" if limits[1] >= 1e100 else f"from {limits[0]:g} to {limits[1]:g}"
            raise InputError(f"{self.where(row, name)} must be {wanted}, got {number:g}; correct it")
        if whole and number != round(number):
            raise InputError(f"{self.where(row, name)} must be a whole number, got {number:g}; correct it")
        return number


def read_sheet(path: str | Path) -> Sheet:
    """The table in a CSV file (comma, semicolon or tab; a point for decimals) or, by its ending, a Parquet file."""
    path = Path(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} has more than {_MOST_BYTES:,} bytes; give a smaller table")
        raw = read_bytes(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give the path of a CSV file") from None
    return _parquet(path) if path.suffix in (".parquet", ".pq") else _csv(str(path), raw)


def sheet_of_frame(frame: Any, source: str) -> Sheet:
    """The columns of a data frame; what is missing there is an empty cell."""
    names = [str(name) for name in frame.columns]
    _check_names(source, names)
    gaps = frame.isna().to_numpy()
    columns = {
        name: [None if gaps[row, place] else cell for row, cell in enumerate(frame.iloc[:, place].tolist())]
        for place, name in enumerate(names)
    }
    return Sheet(source, columns)


def _parquet(path: Path) -> Sheet:
    import pandas as pd  # slow to import

    try:
        frame = pd.read_parquet(path)
    except Exception as error:  # the reader has kinds of its own
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"cannot read {path} as Parquet: {reason}; write it anew, or give CSV") from None
    return sheet_of_frame(frame, str(path))


def _csv(source: str, raw: bytes) -> Sheet:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"cannot read {source}: it is not UTF-8 text; save it as CSV in UTF-8") from None
    head = text.lstrip("\r\n").partition("\n")[0]
    separator = max(",;\t", key=head.count)
    try:
        rows = list(csv.reader(text.splitlines(keepends=True), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(f"{source} is not valid CSV: {error}; correct it there") from None
    lines = [(number, [cell.strip() for cell in row]) for number, row in enumerate(rows, 1)]
    filled = [(number, row) for number, row in lines if any(row)]
    if not filled:
        raise InputError(f"{source} is empty; write a head with the names of columns, and rows below it")
    names = filled[0][1]
    _check_names(source, names)
    first = filled[0][0] + 1
    body = filled[1:]
    for place, (number, row) in enumerate(body):
        if number != first + place:
            raise InputError(f"{source}, row {first + place} is empty; remove it")
        if len(row) != len(names):
            raise InputError(f"{source}, row {number} has {len(row)} cells but the head {len(names)}; correct it")
    return Sheet(source, {name: [row[place] for _, row in body] for place, name in enumerate(names)}, first)


def _check_names(source: str, names: list[str]) -> None:
    if not all(names):
        raise InputError(f"{source}: column {names.index('') + 1} has no name in the head; name it")
    if twice := sorted({shown(name) for name in names if names.count(name) > 1}):
        raise InputError(f"{source} has the column {twice[0]} twice; remove or rename one")


def _text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else " ".join(str(cell).split())


def _hint(name: str, known: Iterable[str] | None) -> str:
    return f"remove it, or {nearest(name, known or ())}"
