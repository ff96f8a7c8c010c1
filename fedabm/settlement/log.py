"""Claims by round and owner: a log as CSV, Parquet, a folder of frames, a data frame, or runs of MLflow.

    round,owner,samples,cost,rejected
    1,Nordbank,500,0.002,no

`samples` may be called num-examples or num_examples, as Flower does; cost, eagerness of none, rejected and measured
may be left out; further columns that begin with "metric." are kept by recorders and not read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, MissingExtraError, nearest, shown
from fedabm.common.sheet import Sheet, read_sheet, sheet_of_frame
from fedabm.games.curves import Array, Flags
from fedabm.results.store import load

__all__ = ["Log", "log_of", "read_log"]

#: other names of columns
_ALIASES = {"num-examples": "samples", "num_examples": "samples", "claim": "samples", "step": "round", "month": "round"}
_KNOWN = ("round", "owner", "samples", "cost", "rejected", "measured")
_YES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
#: what stands before the address of a store of MLflow
_MLFLOW = "mlflow:"
_MOST_ROUNDS = 100_000


@dataclass(frozen=True)
class Log:
    """Claims (rounds, owners), not a number where an owner has no row, and what else is known of each.

    cost      unit costs that owners have stated in the log; None: the log has none
    rejected  whose update was not used
    measured  what models were worth; None: the log has none
    """

    source: str
    rounds: tuple[int, ...]
    claims: Array
    rejected: Flags
    cost: Array | None = None
    measured: Array | None = None

    def rows(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """One entry per claim, in the order of rounds and owners."""
        found = []
        for place, number in enumerate(self.rounds):
            for owner, name in enumerate(names):
                if np.isnan(self.claims[place, owner]):
                    continue
                row: dict[str, Any] = {"round": number, "owner": name, "samples": float(self.claims[place, owner])}
                if self.cost is not None:
                    row["cost"] = float(self.cost[place, owner])
                if self.measured is not None:
                    row["measured"] = float(self.measured[place, owner])
                if self.rejected[place, owner]:
                    row["rejected"] = True
                found.append(row)
        return found


def read_log(given: Any, names: Sequence[str], experiment: str | None = None) -> Log:
    """A log from a path, a data frame, or "mlflow:ADDRESS" with an experiment whose runs have a tag `owner`."""
    if isinstance(given, str) and given.startswith(_MLFLOW):
        return log_of(_from_mlflow(given.removeprefix(_MLFLOW), experiment or "fedabm"), names)
    if isinstance(given, str | Path):
        path = Path(given)
        return log_of(_from_frames(path, names) if path.is_dir() else read_sheet(path), names)
    return log_of(given if isinstance(given, Sheet) else sheet_of_frame(given, "the log"), names)


def log_of(sheet: Sheet, names: Sequence[str]) -> Log:
    """The claims in a table, whose every row is checked."""
    sheet = _renamed(sheet)
    sheet.check(("round", "owner", "samples"))
    for name in sheet.columns:
        if name not in _KNOWN and not name.startswith("metric."):
            hint = nearest(name, _KNOWN)
            raise InputError(f"{sheet.source} has a column {shown(name)} that means nothing in a log; {hint}")
    numbers = sheet.numbers("round", 0, 1e9, whole=True).astype(int)
    rounds = tuple(sorted(set(numbers.tolist())))
    if len(rounds) > _MOST_ROUNDS:
        raise InputError(f"{sheet.source} has {len(rounds)} rounds, more than {_MOST_ROUNDS}; settle them in parts")
    place = {number: row for row, number in enumerate(rounds)}
    at = np.array([place[number] for number in numbers.tolist()]), _owners(sheet, names)
    shape = len(rounds), len(names)
    _check_once(sheet, at, shape)
    found = {"claims": _spread(sheet.numbers("samples", 0.0), at, shape)}
    for name in ("cost", "measured"):
        if name in sheet.columns:
            low = 0.0 if name == "cost" else -1e100
            found[name] = _spread(sheet.numbers(name, low), at, shape)
    rejected = np.zeros(shape, dtype=bool)
    if "rejected" in sheet.columns:
        rejected[at] = _flags(sheet)
    return Log(sheet.source, rounds, rejected=rejected, **found)


def _renamed(sheet: Sheet) -> Sheet:
    """With the usual names of columns."""
    columns: dict[str, list[Any]] = {}
    for name, cells in sheet.columns.items():
        plain = _ALIASES.get(name, name)
        if plain in columns:
            raise InputError(f"{sheet.source} has two columns of {plain}: {shown(name)} is the same; remove one")
        columns[plain] = cells
    return Sheet(sheet.source, columns, sheet.first)


def _owners(sheet: Sheet, names: Sequence[str]) -> np.ndarray:
    """The number of the owner of each row."""
    known = {name: number for number, name in enumerate(names)}
    words = sheet.texts("owner")
    for row, word in enumerate(words):
        if word not in known:
            said = nearest(word, known) if len(known) <= 20 else "see the owners of the study"
            raise InputError(f"{sheet.where(row, 'owner')}: the study has no owner {shown(word, 60)}; {said}")
    return np.array([known[word] for word in words])


def _check_once(sheet: Sheet, at: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> None:
    seen: dict[tuple[int, int], int] = {}
    for row, pair in enumerate(zip(at[0].tolist(), at[1].tolist(), strict=True)):
        if pair in seen:
            before = seen[pair] + sheet.first
            raise InputError(
                f"{sheet.where(row, 'owner')}: a second claim for this round, after row {before}; remove one"
            )
        seen[pair] = row


def _spread(values: Array, at: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> Array:
    table = np.full(shape, np.nan)
    table[at] = values
    return table


def _flags(sheet: Sheet) -> list[bool]:
    found = []
    for row, cell in enumerate(sheet.columns["rejected"]):
        word = "" if cell is None else str(cell).strip().lower()
        word = {"1.0": "1", "0.0": "0"}.get(word, word)
        if word not in _YES:
            raise InputError(f"{sheet.where(row, 'rejected')} must be yes or no, got {shown(cell, 60)}; correct it")
        found.append(_YES[word])
    return found


def _from_frames(folder: Path, names: Sequence[str]) -> Sheet:
    """The owners of the one run in a folder that `fedabm run` has written, by their names or numbers."""
    frame = load(folder).owners
    runs = frame["run"].nunique()
    if runs != 1:
        raise InputError(f"{folder} has {runs} runs; a log is of one: run the study with one mechanism and one seed")
    there = frame[frame["stayed"] & frame["took_part"]] if "took_part" in frame else frame[frame["stayed"]]
    called = [
        name or (names[one] if one < len(names) else str(one))
        for name, one in zip(there["name"], there["owner"], strict=True)
    ]
    columns = {"round": there["step"].tolist(), "owner": called, "samples": there["reported_contribution"].tolist()}
    return Sheet(str(folder), columns)


def _from_mlflow(address: str, experiment: str) -> Sheet:
    """One run per owner, named by its tag `owner`; the metric num_examples has a value per step."""
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingExtraError("logs of MLflow need mlflow, which is not here; pip install mlflow-skinny") from None
    if address.startswith("sqlite:///") and not os.path.exists(address.removeprefix("sqlite:///")):
        raise InputError(f"no store of MLflow at {address}; give mlflow:sqlite:///FILE or the address of a server")
    try:
        client = MlflowClient(tracking_uri=address)
        found = client.get_experiment_by_name(experiment)
        if found is None:
            known = [one.name for one in client.search_experiments()]
            raise InputError(f"MLflow has no experiment {shown(experiment)}; {nearest(experiment, known)}")
        runs = client.search_runs([found.experiment_id], max_results=10_000)
        rows = [row for run in runs for row in _history(client, run)]
    except MlflowException as error:
        raise InputError(f"cannot read {address} by MLflow: {' '.join(str(error).split())[:200]}; check it") from None
    if not rows:
        raise InputError(f"experiment {experiment!r} of MLflow has no metric num_examples; log it by step")
    rows.sort(key=lambda row: (row[0], row[1]))
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("round", "owner", "samples"))}
    return Sheet(f"MLflow experiment {experiment!r}", columns)


def _history(client: Any, run: Any) -> list[tuple[int, str, float]]:
    owner = run.data.tags.get("owner")
    if owner is None:
        raise InputError(f"run {run.info.run_name!r} of MLflow has no tag owner; set one per site")
    metrics = client.get_metric_history(run.info.run_id, "num_examples")
    return [(int(one.step), owner, float(one.value)) for one in metrics]
