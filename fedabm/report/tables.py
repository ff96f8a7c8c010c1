"""The tables of a report: headline numbers by run or cell, means by strategy, and what the scenario itself printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fedabm.analysis.looks import kind_of
from fedabm.analysis.rows import last_step
from fedabm.common.texts import readable
from fedabm.report.folder import ResultFolder

__all__ = ["Shown", "by_strategy", "headline", "shown"]

_MEASURES = ("contribution", "accuracy", "cost", "transferred", "welfare", "outside_money", "net_welfare")
_MOST = 100
#: studies of more runs with repeated labels are summed up by label
_FEW = 12
#: pixels: of a phone's page, of a letter, of a cell's edges, and of the first column at least, as style.css has them
_PAGE, _LETTER, _EDGES, _FIRST = 300, 8, 18, 136
#: smaller numbers are what rounding leaves
_ROUNDING = 1e-15


@dataclass(frozen=True)
class Shown:
    """A table ready for the page: texts, and which columns are numbers."""

    title: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @property
    def wide(self) -> bool:
        """Whether a phone's page may be too narrow: numbers do not break over lines, words do."""
        columns = list(zip(self.columns, *self.rows, strict=True))
        return _FIRST + sum(map(_narrowest, columns[1:], self.numeric[1:])) > _PAGE


def _narrowest(cells: Sequence[str], numeric: bool) -> int:
    parts = cells if numeric else [word for cell in cells for word in cell.split()]
    return _EDGES + _LETTER * max(map(len, parts), default=0)


def shown(frame: pd.DataFrame, title: str, note: str = "", most: int = _MOST, figures: Sequence[str] = ()) -> Shown:
    """A frame as texts; of long ones the first rows, and a word about the rest.  `figures` are numbers in words."""
    numeric = tuple(name in figures or pd.api.types.is_numeric_dtype(frame[name]) for name in frame)
    exact = frame.assign(seed=frame["seed"].astype(str)) if "seed" in frame else frame
    rows = tuple(tuple(text(value) for value in row) for row in exact.head(most).itertuples(index=False, name=None))
    cut = f"The first {most} of {len(frame):,} rows." if len(frame) > most else ""
    return Shown(title, tuple(map(str, frame.columns)), numeric, rows, " ".join(filter(None, (note, cut))))


def text(value: Any) -> str:
    """A cell: numbers with four digits, truth values as yes and no, nothing as a dash."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)) or value is pd.NaT:
        return "–"
    if isinstance(value, float | np.floating) and np.isinf(value):
        return "∞" if value > 0 else "-∞"
    if isinstance(value, float | np.floating):
        value = 0.0 if abs(float(value)) < _ROUNDING else value
        return readable(float(value))
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    return str(value)


def headline(source: ResultFolder) -> Shown:
    """One row per run; of a sweep, one row per cell and mechanism with means and standard deviations over runs."""
    if not source.federated:
        return _other_models(source)
    facts = source.frames.runs.drop(columns=[*_MEASURES], errors="ignore")  # `accuracy` of a run names its oracle
    known = source.ends.reindex(columns=["run", *_MEASURES])  # folders from before 0.3.0 have no outside money
    runs = facts.merge(known, on="run", how="left")
    if source.kind == "sweep":
        return _of_groups(runs, "cell", "Each cell of the design")
    repeated = len(runs) > _FEW and runs["label"].nunique() < len(runs)
    return _of_groups(runs, "label", "Each label") if repeated else _of_runs(runs, source)


def _of_runs(runs: pd.DataFrame, source: ResultFolder) -> Shown:
    least = last_step(source.frames.owners).groupby("run")["utility"].min()
    table = runs[["label", "mechanism", "owners", "steps", "status", "gap", *_measures(runs)]].copy()
    table["mechanism"] = table["mechanism"].map(kind_of)
    table["least utility"] = runs["run"].map(least)
    return shown(table.rename(columns={"label": "run", "transferred": "paid"}), "Each run at its last step", _WORDS)


def _of_groups(runs: pd.DataFrame, by: str, what: str) -> Shown:
    """Means and standard deviations over the runs of each cell or label."""
    runs = runs.assign(rule=runs["mechanism"].map(lambda one: kind_of(one) if isinstance(one, str) else "–"))
    rows = []
    for (name, rule), part in runs.groupby([by, "rule"], sort=False):
        good = part[part["status"] != "failed"]
        row = {by: name, "mechanism": rule, "runs": len(part), "failed": len(part) - len(good)}
        row |= {"converged": f"{100 * good['converged'].astype(bool).mean():.0f}%" if len(good) else "–"}
        rows.append(row | {name: _spread(good[name]) for name in _measures(runs)})
    names = [by, "mechanism", "runs", "failed", "converged", *_measures(runs)]
    table = pd.DataFrame(rows, columns=names).rename(columns={"transferred": "paid"})
    title = f"{what}: mean ± standard deviation over runs, last step"
    return shown(table, title, _WORDS, figures=list(table)[4:])


def _measures(runs: pd.DataFrame) -> tuple[str, ...]:
    """What is shown of runs: outside money where there is any, as welfare is net of it everywhere else."""
    return _MEASURES if runs["outside_money"].fillna(0.0).astype(float).any() else _MEASURES[:-2]


_WORDS = (
    "Contribution, cost and what owners are paid are sums, accuracy is their mean, welfare the sum of utilities; "
    "outside money, where there is any, is what owners get from nobody among them, net welfare is welfare without it; "
    "the gap is the most any owner could still gain by changing its own contribution."
)


def _spread(values: pd.Series) -> str:
    known = values.dropna().astype(float)
    if known.empty:
        return "–"
    return text(float(known.mean())) + (f" ± {_rounded(known.std(ddof=1))}" if len(known) > 1 else "")


def _rounded(value: float) -> str:
    """Two digits that count, without an exponent where it can be: 1.1e+02 is 110."""
    return text(float(f"{value:.2g}")) if np.isfinite(value) else text(value)


def _other_models(source: ResultFolder) -> Shown:
    """Mesa models of the user's own: what is known of each run, and its last model reporters."""
    ends = source.ends.drop(columns="step", errors="ignore")
    plain = ends.select_dtypes(["number", "bool"])
    names = ["cell", "seed", "owners", "steps", "status"]
    table = source.frames.runs[["run", *names]].merge(plain, on="run", how="left", suffixes=("", " at the end"))
    return shown(table.rename(columns={"owners": "agents"}).drop(columns="run"), "Each run at its last step")


def by_strategy(source: ResultFolder) -> Shown | None:
    """Means over owners by mechanism and strategy at the last step; None where nothing was recorded."""
    final = last_step(source.frames.owners)
    if not source.federated or final.empty:
        return None
    runs = source.frames.runs.set_index("run")
    group = runs["label"] if source.by == "label" else runs["mechanism"].astype(str).map(kind_of)
    rows = final.assign(group=final["run"].map(group), strategy=final["strategy"].astype(str))
    columns: Sequence[str] = ("contribution", "accuracy", "cost", "payment", "utility")
    several = "role" in rows and rows["role"].nunique() > 1
    rows = rows.assign(role=rows["role"].astype(str)) if several else rows
    groups = rows.groupby(["group", "strategy", *(["role"] if several else [])], sort=False)
    table = groups[list(columns)].mean().reset_index()
    table.insert(table.columns.get_loc("contribution"), "owners", groups.size().to_numpy())
    table["negative utility"] = groups["utility"].agg(lambda u: int((u < 0).sum())).to_numpy()
    name = "run" if source.by == "label" else "mechanism"
    title = f"Means over owners by strategy, last step{', all cells together' if source.varied else ''}"
    return shown(table.rename(columns={"group": name}), title)
