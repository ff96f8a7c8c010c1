"""Tidy frames of what happened: runs, steps, owners, transfers, imports of models, and sums by strategy if wanted.

`COLUMNS` says what every column means.  The frames of equal runs are equal bit for bit, except for `runs`, where
whatever may differ between equal runs, such as wall time, has its place.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.common.names import spelled
from fedabm.common.notebooks import as_html
from fedabm.results.columns import COLUMNS
from fedabm.results.graphs import Graphs, graphs_of
from fedabm.results.streams import LongTable

__all__ = [
    "COLUMNS",
    "NAMED",
    "Frames",
    "Streamed",
    "no_rows",
    "run_frame",
    "run_row",
    "shorten",
    "split",
    "versions",
]


#: columns of names, the same in every step
NAMED = ("strategy", "role", "name")
#: columns of runs where nothing is known, trained or without effect
_UNKNOWN: dict[str, Any] = {
    "machine": "",
    "knowledge": "",
    "knowledge_error": np.nan,
    "knowledge_cost": 0,
    "without_effect": "",
    "estimated": "",
}


#: columns of the runs that a notebook shows
_SHOWN = ("run", "label", "mechanism", "seed", "steps", "status", "gap")


def no_rows(name: str) -> pd.DataFrame:
    """The frame of that name without any row."""
    return pd.DataFrame({column: [] for column in COLUMNS[name]})


@dataclass(frozen=True, repr=False)
class Frames:
    """The pandas frames of one or more runs.

    `strategies` has rows only where they were asked for, `imports` where owners have models of their own.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per run: parameters, seed, status, certified gap.
    steps : pd.DataFrame
        One row per run and step: sums and means over owners.
    owners : pd.DataFrame
        One row per run, step and owner.
    transfers : pd.DataFrame
        One row per payment: payer, payee, amount, reason.
    strategies : pd.DataFrame, optional
        One row per run, step and strategy, where asked for.
    imports : pd.DataFrame, optional
        One row per import of a model, where owners have models of their own.
    """

    runs: pd.DataFrame
    steps: pd.DataFrame
    owners: pd.DataFrame
    transfers: pd.DataFrame
    strategies: pd.DataFrame = field(default_factory=lambda: no_rows("strategies"))
    imports: pd.DataFrame = field(default_factory=lambda: no_rows("imports"))

    def __repr__(self) -> str:
        rows = {name: _length(self.table(name)) for name in COLUMNS}
        rows = {name: count for name, count in rows.items() if count or name not in ("strategies", "imports")}
        return f"Frames({', '.join(f'{name}: {count:,} rows' for name, count in rows.items())})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.runs[[*_SHOWN]].astype(object).to_dict("records"))

    @classmethod
    def join(cls, parts: Sequence[Frames]) -> Frames:
        """Several runs in one set of frames, numbered from 0; what lies on disk stays there until it is asked for."""
        joined = {name: _Joined(name, tuple(part.table(name) for part in parts)) for name in COLUMNS}
        if any(isinstance(part, Streamed) for part in parts):
            return Streamed(**joined)
        return cls(**{name: table.frame() for name, table in joined.items()})

    def table(self, name: str) -> pd.DataFrame | LongTable | _Joined:
        """A frame, or where its rows lie."""
        return getattr(self, name)

    def pieces(self, name: str) -> Iterator[pd.DataFrame]:
        """A frame piece by piece, as it is to be written: at least one piece, all with the same columns."""
        return _pieces(self.table(name))

    def at_end(self, name: str) -> pd.DataFrame:
        """The rows of each run's last step in a frame; of a table on disk no more is held in memory at once."""
        last = self.steps.groupby("run")["step"].max()
        ends = [piece[piece["step"] == piece["run"].map(last)] for piece in self.pieces(name)]
        return pd.concat(ends, ignore_index=True)

    def graph(self, step: int, run: int = 0) -> Graphs:
        """Who imports whose model and who paid whom in one step of a run, as NetworkX graphs `imports`, `transfers`."""
        rows = {name: _rows(self.pieces(name), step, run) for name in ("owners", "imports", "transfers")}
        if not len(rows["owners"]):
            raise InputError(f"no owners are kept of step {step} of run {run}; choose one of the steps in `owners`")
        return graphs_of(**rows)


class Streamed(Frames):
    """Frames whose long tables lie on disk: each is read when it is first asked for, and saved without being read."""

    def __init__(self, **tables: pd.DataFrame | LongTable | _Joined) -> None:
        object.__setattr__(self, "_tables", tables)

    def __getattr__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise AttributeError(name)
        object.__setattr__(self, name, _whole(self._tables[name]))
        return getattr(self, name)

    def table(self, name: str) -> pd.DataFrame | LongTable | _Joined:
        """Where the rows of a frame lie."""
        return self._tables[name]


@dataclass(frozen=True)
class _Joined:
    """One frame of several runs, numbered from 0."""

    name: str
    parts: tuple[pd.DataFrame | LongTable | _Joined, ...]

    def frame(self) -> pd.DataFrame:
        """All rows, in memory."""
        return self._numbered([_whole(part) for part in self.parts])

    def head(self) -> pd.DataFrame:
        """Some rows that show the columns and their kinds."""
        return self._numbered([part[:1] if isinstance(part, pd.DataFrame) else part.head()[:1] for part in self.parts])

    def pieces(self) -> Iterator[pd.DataFrame]:
        """Run after run, and within a run as it was written."""
        head = self.head()
        rows = 0
        for number, part in enumerate(self.parts):
            for piece in _pieces(part):
                rows += len(piece)
                if len(piece):
                    yield piece.assign(run=number).reindex(columns=head.columns).astype(head.dtypes.to_dict())
        if not rows:
            yield head

    def _numbered(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        return _concatenate(self.name, [frame.assign(run=number) for number, frame in enumerate(frames)])


def _rows(pieces: Iterator[pd.DataFrame], step: int, run: int) -> pd.DataFrame:
    """The rows of one step of a run."""
    return pd.concat([piece[(piece["step"] == step) & (piece["run"] == run)] for piece in pieces], ignore_index=True)


def _whole(table: pd.DataFrame | LongTable | _Joined) -> pd.DataFrame:
    return table if isinstance(table, pd.DataFrame) else table.frame()


def _length(table: pd.DataFrame | LongTable | _Joined) -> int:
    """How many rows there are, also where they lie on disk."""
    return len(table) if isinstance(table, pd.DataFrame) else sum(map(len, table.pieces()))


def _pieces(table: pd.DataFrame | LongTable | _Joined) -> Iterator[pd.DataFrame]:
    if isinstance(table, pd.DataFrame):
        yield table
    else:
        yield from table.pieces()


def split(frames: Frames) -> Iterator[Frames]:
    """The frames of each run that did not fail by itself, with the columns of a single run, numbered 0.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.

    Yields
    ------
    Iterator[Frames]
        The frames of one run.
    """
    parts = {name: dict(iter(getattr(frames, name).groupby("run", sort=False))) for name in COLUMNS}
    for number, status in zip(frames.runs["run"], frames.runs["status"], strict=True):
        if status == "failed":
            continue
        found = {name: parts[name].get(number, getattr(frames, name)[:0]) for name in COLUMNS}
        kept = {name: frame.reindex(columns=_had(name, frame)).assign(run=0) for name, frame in found.items()}
        yield Frames(**{name: frame.reset_index(drop=True) for name, frame in kept.items()})


def _had(name: str, frame: pd.DataFrame) -> list[str]:
    """The columns of a run in a frame: ours, and of the further ones those that are its own."""
    further = [column for column in frame.columns if column not in COLUMNS[name]]
    return [*COLUMNS[name], *(column for column in further if frame[column].notna().any())]


def shorten(text: str, most: int = 200) -> str:
    """Cut a long text."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _concatenate(name: str, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other, with strategies and roles as common categories."""
    if not frames:
        return no_rows(name)
    if name == "owners" and len(frames) > 1:
        for named in NAMED:
            labels = sorted({label for frame in frames for label in frame[named].cat.categories})
            frames = [frame.assign(**{named: frame[named].cat.set_categories(labels)}) for frame in frames]
    kept = [frame for frame in frames if len(frame)] or frames[:1]
    joined = pd.concat(kept, ignore_index=True) if len(kept) > 1 else kept[0].reset_index(drop=True)
    order = [*COLUMNS[name], *(column for column in joined.columns if column not in COLUMNS[name])]
    return joined if list(joined.columns) == order else joined[order]


@cache
def versions() -> dict[str, str]:
    """The versions that a run depends on."""
    packages = {name: version(name) for name in ("fedabm", "mesa", "numpy")}
    return {**packages, "python": platform.python_version()}


def run_row(
    status: str, parameters: dict[str, Any] | str = "{}", mechanism: Any = None, accuracy: Any = None, **known: Any
) -> dict[str, Any]:
    """The row of a run, by column: what is known of it, in the order of the table; the versions stand in every row."""
    row: dict[str, Any] = {**_UNKNOWN, "converged": status == "converged", "stacked": False, "status": status}
    row["parameters"] = parameters if isinstance(parameters, str) else json.dumps(parameters, sort_keys=True)
    if mechanism is not None:
        row |= {"mechanism": shorten(spelled(mechanism)), "accuracy": shorten(spelled(accuracy))}
    row |= {"label": type(mechanism).__name__, **known, **versions()}
    return {name: row[name] for name in dict.fromkeys([*COLUMNS["runs"], *row]) if name in row}


def run_frame(row: dict[str, Any]) -> pd.DataFrame:
    """A `runs` frame of one row."""
    known = {"run": 0, **row}
    return pd.DataFrame({name: [known[name]] for name in COLUMNS["runs"]})
