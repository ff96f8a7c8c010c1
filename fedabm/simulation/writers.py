"""What happens in every step, written to files that can be read while the run goes on: CSV and JSON lines.

One file per run, one line per step.  A run that goes on from a checkpoint goes on in its file: lines of steps that it
does again are taken out.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from fedabm.common.errors import InputError
from fedabm.common.files import as_path, check_no_link, unwritable, write
from fedabm.simulation.watching import RunBegun, Watcher

__all__ = ["CsvWriter", "JsonLinesWriter"]


class _LineWriter(Watcher):
    """One line per step."""

    ending: str

    def __init__(self, folder: str | Path) -> None:
        self._folder = as_path("the folder of a writer", folder)
        self._file: IO[str] | None = None

    def begin(self, run: RunBegun) -> None:
        """Open the file of this run; lines of steps that will be done again go."""
        path = self._folder / f"{run.name}.{self.ending}"
        check_no_link(path)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            kept = self._kept(path, run.done)
            write(path, "".join(kept))
            self._file = path.open("a", encoding="utf-8", newline="", buffering=1)
        except OSError as error:
            raise unwritable(path, error) from None

    def _kept(self, path: Path, done: int) -> list[str]:
        """The lines of the steps that are done; what was being written when the process was killed is not."""
        if not done or not path.exists():
            return []
        lines = path.read_text("utf-8").splitlines(keepends=True)
        return [line for line in lines if line.endswith("\n") and self._step(line) <= done]

    def _step(self, line: str) -> int:
        raise NotImplementedError

    def _put(self, text: str) -> None:
        if self._file is None:
            raise InputError("a writer was told of a step before its run began; call begin(run) first")
        try:
            self._file.write(text)
        except OSError as error:
            raise unwritable(Path(self._file.name), error) from None

    def end(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class CsvWriter(_LineWriter):
    """One CSV file per run, in the folder: a header, and one line per step.

    Parameters
    ----------
    folder : str | Path
        Where the files are written.
    """

    ending = "csv"

    def step(self, values: Mapping[str, Any]) -> None:
        """One line, after the header if it is the first."""
        fresh = self._file is not None and self._file.tell() == 0
        self._put((_csv_line(values) if fresh else "") + _csv_line(values.values()))

    def _step(self, line: str) -> int:
        first = line.partition(",")[0].strip()
        return int(first) if first.isdigit() else 0  # the header stays


class JsonLinesWriter(_LineWriter):
    """One file per run, in the folder: one JSON object per line and step, null where there is no number.

    Parameters
    ----------
    folder : str | Path
        Where the files are written.
    """

    ending = "jsonl"

    def step(self, values: Mapping[str, Any]) -> None:
        """One line."""
        self._put(json.dumps({name: _plain(value) for name, value in values.items()}) + "\n")

    def _step(self, line: str) -> int:
        return int(json.loads(line)["step"])


def _csv_line(cells: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow("" if cell != cell else cell for cell in cells)
    return text.getvalue()


def _plain(value: Any) -> Any:
    """JSON knows neither NaN nor infinity."""
    return value if not isinstance(value, float) or math.isfinite(value) else None
