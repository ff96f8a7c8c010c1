"""The frames of a sweep, read from its folder, also while it is being written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fedabm.results.design import read_design
from fedabm.results.frames import COLUMNS, Frames
from fedabm.results.nested import NESTED, flatten, stack
from fedabm.results.parts import latest, opened, unreadable
from fedabm.results.selection import Columns, choose_columns, choose_runs
from fedabm.views import INFORMATION

__all__ = ["NEVER", "JobState", "Results", "load_sweep", "states"]

_CHILDREN = tuple(name for name in COLUMNS if name != "runs")
_INTERNAL = ("attempt", "batch", "number")
_REASONS = ("error", "traceback")
#: columns of names among the owners', with all that there can be where it is known
_NAMES: dict[str, list[str]] = {"strategy": [], "role": [], "name": [], "information": list(INFORMATION)}
_EDGE = [name for name in COLUMNS["runs"] if name != "run"]


@dataclass(frozen=True)
class Results(Frames):
    """The frames of a sweep, parameters as columns of `runs`, and the tables of Mesa models by name.

    A parameter whose name is a column of `runs` already, such as `owners`, is found under `parameter_owners`.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per run, with parameters as columns.
    steps : pd.DataFrame
        One row per run and step.
    owners : pd.DataFrame
        One row per run, step and owner.
    transfers : pd.DataFrame
        One row per payment.
    strategies : pd.DataFrame, optional
        One row per run, step and strategy.
    imports : pd.DataFrame, optional
        One row per import of a model.
    tables : dict[str, pd.DataFrame], optional
        Tables of Mesa models, by name.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def failed(self) -> pd.DataFrame:
        """The runs that failed, with error and traceback."""
        return self.runs[self.runs["status"] == "failed"]


class JobState(NamedTuple):
    """How a job stands: its last attempt, whether that failed, and the seconds it took."""

    attempt: int
    failed: bool
    seconds: float


#: the state of a job that has no row
NEVER = JobState(attempt=-1, failed=False, seconds=0.0)


def states(folder: Path) -> dict[str, JobState]:
    """The state of each job that has a row."""
    files = opened(folder / "parts", verify=False)  # the leader has just done that
    names = ["key", "attempt", "status", "wall_time"]
    found: dict[str, JobState] = {}
    for part, file in files.items():
        table = _read(folder, part, file, names)
        for key, attempt, status, seconds in zip(*(table[name].to_pylist() for name in names), strict=True):
            found[key] = max(found.get(key, NEVER), JobState(attempt, failed=status == "failed", seconds=seconds))
    return found


def load_sweep(folder: Path, columns: Columns | None = None, runs: Sequence[int] | str | None = None) -> Results:
    """The frames of all jobs of the design that are done, in the order of the design."""
    design = read_design(folder)
    files = opened(folder / "parts")
    nested = _nested(files)
    plain = [_read(folder, name, file, _plain_columns(file)) for name, file in files.items()]
    table = stack(plain) if plain else pa.table({name: [] for name in ("key", *_INTERNAL, *_EDGE)})
    frame = _ordered(_with_reasons(table), design)
    chosen = choose_runs(frame, runs)
    usual = {name: [] if files else list(COLUMNS[name]) for name in _CHILDREN}  # what will be there, before any run is
    known = {"runs": [name for name in frame if name != "_row"], **usual, **nested}
    wanted = choose_columns(known, columns)
    frames: dict[str, pd.DataFrame] = {}
    for name in dict.fromkeys([*_CHILDREN, *nested]):
        picked = wanted.get(name, [])
        frames[name] = (
            _child(folder, files, name, picked, chosen) if picked else _empty(name, None if columns is None else [])
        )
    kept = [name for name in chosen.columns if name in wanted["runs"] or name == "run"]
    tables = {name.removeprefix("table:"): frames[name] for name in nested if name.startswith("table:")}
    picked_frames = {name: frames[name] for name in _CHILDREN}
    return Results(chosen[kept].reset_index(drop=True), **picked_frames, tables=tables)


def _read(folder: Path, name: str, file: pq.ParquetFile, columns: list[str], groups: Any = None) -> pa.Table:
    try:
        return file.read(columns) if groups is None else file.read_row_groups(groups, columns)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(folder / "parts" / name, str(error)) from None


def _plain_columns(file: pq.ParquetFile) -> list[str]:
    return [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]


def _nested(files: Mapping[str, pq.ParquetFile]) -> dict[str, list[str]]:
    """The nested tables and their columns."""
    found: dict[str, dict[str, None]] = {}
    for file in files.values():
        for column in file.schema_arrow:
            if pa.types.is_nested(column.type):
                found.setdefault(column.name.removeprefix(NESTED), {}).update(
                    dict.fromkeys(inner.name for inner in column.type.value_type)
                )
    return {name: list(columns) for name, columns in sorted(found.items())}


def _ordered(table: pa.Table, design: pa.Table) -> pd.DataFrame:
    """The runs frame in the order of the design, with parameters, and the place of each run in the stacked parts."""
    position = {key: place for place, key in enumerate(design["key"].to_pylist())}
    rows = latest(table)
    frame = table.take(pa.array(rows)).to_pandas().assign(_row=rows)
    frame["job"] = frame["key"].map(position)
    frame = frame[frame["job"].notna()].astype({"job": np.int64}).sort_values(["job", "number"], ignore_index=True)
    slots = np.ones(design.num_rows, dtype=np.int64)
    np.maximum.at(slots, frame["job"].to_numpy(), frame["number"].to_numpy(dtype=np.int64) + 1)
    first = np.cumsum(slots) - slots
    frame["run"] = first[frame["job"].to_numpy()] + frame["number"].to_numpy(dtype=np.int64)
    frame["cell"] = design["cell"].to_pandas()[frame["job"]].to_numpy()
    return _with_parameters(frame, design)


def _with_reasons(table: pa.Table) -> pa.Table:
    """With the columns for reasons of failure, as text, whether or not a run has ever failed."""
    for name in _REASONS:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, pa.string()))
    return table


def _with_parameters(frame: pd.DataFrame, design: pa.Table) -> pd.DataFrame:
    """Columns in order: numbers and names, what a single run has, parameters, reasons of failure."""
    settings = [json.loads(text) for text in design["parameters"].to_pylist()]
    values = pd.DataFrame(settings, index=range(len(settings))).loc[frame["job"]].reset_index(drop=True)
    values.columns = [f"parameter_{name}" if name in frame or name in _EDGE else name for name in values.columns]
    frame = frame.reindex(columns=["run", "job", "cell", "key", *_EDGE, *_REASONS, "_row"])
    front, back = frame[["run", "job", "cell", "key", *_EDGE]], frame[[*_REASONS, "_row"]]
    return pd.concat([front, values, back], axis=1)


def _child(
    folder: Path, files: Mapping[str, pq.ParquetFile], name: str, columns: list[str], chosen: pd.DataFrame
) -> pd.DataFrame:
    """One of the nested tables, for the chosen runs, in their order."""
    pieces, places = [], []
    before = 0
    wanted = chosen["_row"].to_numpy(dtype=np.int64)
    for part, file in files.items():
        rows = file.metadata.num_rows
        mine = np.sort(wanted[(wanted >= before) & (wanted < before + rows)]) - before
        if NESTED + name in file.schema_arrow.names and len(mine):
            table, kept = _rows(
                folder, part, file, mine, [f"{NESTED}{name}.list.element.{column}" for column in columns]
            )
            pieces.append(table)
            places.append(kept + before)
        before += rows
    if not pieces:
        return _empty(name, columns)
    table, place = stack(pieces), np.concatenate(places)
    order = pd.Series(np.arange(len(place)), index=place).reindex(wanted)
    have = order.notna().to_numpy()
    column = table.take(pa.array(order[have].to_numpy(dtype=np.int64)))[NESTED + name]
    owner, flat = flatten(column)
    return _framed(name, columns, flat, chosen["run"].to_numpy()[have][owner])


def _rows(
    folder: Path, part: str, file: pq.ParquetFile, rows: np.ndarray, columns: list[str]
) -> tuple[pa.Table, np.ndarray]:
    """Some rows of a part, reading only the row groups that hold them."""
    sizes = np.array([file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)])
    ends = np.cumsum(sizes)
    groups = np.unique(np.searchsorted(ends, rows, side="right"))
    table = _read(folder, part, file, columns, groups.tolist())
    present = np.concatenate([np.arange(ends[group] - sizes[group], ends[group]) for group in groups])
    inside = np.flatnonzero(np.isin(present, rows))
    return (table if len(inside) == len(present) else table.take(pa.array(inside))), present[inside]


def _framed(name: str, columns: list[str], flat: pa.Table, runs: np.ndarray) -> pd.DataFrame:
    """A frame with the run in front, columns in their usual order, names as categories."""
    frame = flat.to_pandas()
    usual = [column for column in COLUMNS.get(name, {}) if column in frame]
    frame = frame[[*usual, *(column for column in frame.columns if column not in usual)]]
    frame.insert(0, "run", runs)
    for column, known in _NAMES.items() if name in ("owners", "strategies") else ():
        if column in frame:
            seen = sorted(frame[column].dropna().unique())
            frame[column] = pd.Categorical(frame[column], categories=known if set(seen) <= set(known) else seen)
    return frame


def _empty(name: str, columns: Sequence[str] | None) -> pd.DataFrame:
    usual = list(COLUMNS.get(name, {"run": ""}))
    return pd.DataFrame({column: [] for column in (usual if columns is None else ["run", *columns])})
