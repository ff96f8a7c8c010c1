"""What is explained: a number for every run, of its end or of its long run.

A run that came to rest is in equilibrium, and its last step counts.  One that was stopped may oscillate, and its last
step says at which phase it was stopped: of such a run the mean over the second half of its steps counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, nearest
from fedabm.results.sweeps import Results, load_sweep

__all__ = ["By", "Explained", "ExplainedValues", "When", "read_outcomes"]

By = Literal["owner", "strategy"]
When = Literal["auto", "end", "mean"]

#: words for columns of the steps, as comparisons have them
_WORDS = {"data": "contribution", "net": "net_welfare", "outside": "outside_money", "paid": "transferred"}
#: what a column of the owners means for all of them, where the steps have it under another name
_IN_ALL = {"payment": "transferred", "utility": "welfare"}
#: columns that say which run it is
_NO_ANSWER = ("run", "job", "seed", "step", "owner")
#: the word for the utility of the owner that is worst off
_WORST = "worst"


class Explained(NamedTuple):
    """What is explained: which measure, of which of a script's runs, of which owner or strategy."""

    of: str
    label: str = ""
    who: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, self))


@dataclass
class ExplainedValues:
    """A number for each cell (nan: its run failed, or has none), by outcome; and what to say of them."""

    values: dict[Explained, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_outcomes(
    folder: Path, cells: int, of: Sequence[str], by: By | None = None, when: When = "auto", *, grouped: bool = False
) -> ExplainedValues:
    """The outcomes of all cells of a sweep; `grouped`: a cell has several runs, told apart by their labels."""
    found = load_sweep(folder, {"runs": None, "steps": None} | ({"owners": None} if _asks_owners(of, by) else {}))
    runs = found.runs[found.runs["status"].astype(str) != "failed"].reset_index(drop=True)
    outcomes = ExplainedValues()
    if failed := len(found.runs) - len(runs):
        errors = found.runs["error"].dropna()
        first = f": {errors.iloc[0]}" if len(errors) else ""
        outcomes.notes.append(f"{failed} of {len(found.runs)} runs failed and are left out{first}")
    if not len(runs):
        raise InputError(f"all runs failed{outcomes.notes[0].partition('left out')[2]}; mend that and run it again")
    labels = _labels(runs) if grouped else pd.Series("", index=runs.index)
    outcomes.notes += _ended(runs, when)
    for name in of:
        for who, column in _column(found, runs, name, by, when).items():
            for label in dict.fromkeys(labels):
                mine = (labels == label).to_numpy()
                values = np.full(cells, np.nan)
                number = runs["cell"].str.removeprefix("point ").astype(int).to_numpy()
                values[number[mine]] = column.reindex(runs["run"][mine]).to_numpy(float)
                outcomes.values[Explained(name, str(label), str(who))] = values
    return outcomes


def _ended(runs: pd.DataFrame, when: When) -> list[str]:
    """What is analysed of runs that came to rest, and of those that did not."""
    stopped = int((runs["status"].astype(str) == "stopped").sum())
    if when == "end":
        said = f"; {stopped} of {len(runs)} runs were stopped while owners still moved" if stopped else ""
        return [f"Analysed is the last step of every run{said}."]
    if when == "mean":
        return ["Analysed is the mean over the second half of the steps of every run (a gap: at the end)."]
    if not stopped:
        return ["Analysed is the end of every run: all came to rest."]
    rest = "" if stopped == len(runs) else "; of the others, which came to rest, it is the end"
    return [
        f"{stopped} of {len(runs)} runs were stopped before they came to rest: of these the mean over the second half "
        f"of their steps is analysed (a gap: at the end){rest}."
    ]


def _labels(runs: pd.DataFrame) -> pd.Series:
    """What tells the runs of a cell apart: their labels if all cells have the same, else their number."""
    number = runs.groupby("job").cumcount()
    texts = runs["label"].astype(str)
    sets = texts.groupby(runs["job"]).agg(tuple)
    usual = sets.iloc[0]
    if (sets == usual).all():
        return texts if len(usual) > 1 else pd.Series("", index=runs.index)
    if sets.map(len).nunique() > 1:
        raise InputError(
            f"cells make {sets.map(len).min()} to {sets.map(len).max()} runs, which cannot be told apart; "
            "hold what changes their number fixed, or give a function that makes one scenario"
        )
    return "run " + (number + 1).astype(str)


def _asks_owners(of: Sequence[str], by: By | None) -> bool:
    return by is not None or _WORST in of


def _column(found: Results, runs: pd.DataFrame, name: str, by: By | None, when: When) -> Mapping[Any, pd.Series]:
    """The value of every run, by owner or strategy where that is asked for."""
    if by is not None and name in found.owners and name not in _NO_ANSWER:
        return _split(found, runs, name, by, when)
    if name == _WORST:
        there = found.owners[found.owners["stayed"]] if "stayed" in found.owners else found.owners
        worst = there.groupby(["run", "step"], as_index=False)["utility"].min()
        return {"": _at(worst, runs, "utility", when)}
    steps = _IN_ALL.get(name, _WORDS.get(name, name))
    if steps in found.steps and steps not in _NO_ANSWER:
        return {"": _at(found.steps, runs, steps, when)}
    if name in runs and name not in _NO_ANSWER and pd.api.types.is_numeric_dtype(runs[name]):
        return {"": runs.set_index("run")[name].astype(float)}
    raise InputError(f"no run has a number called {name!r} to explain; {nearest(name, _known(found))}")


def _known(found: Results) -> list[str]:
    numeric = [
        name for name in found.runs if pd.api.types.is_numeric_dtype(found.runs[name]) and name not in _NO_ANSWER
    ]
    words = [word for word, column in (_WORDS | _IN_ALL).items() if column in found.steps]
    return [*(one for one in found.steps if one not in _NO_ANSWER), *numeric, *words, _WORST]


def _split(found: Results, runs: pd.DataFrame, name: str, by: By, when: When) -> dict[Any, pd.Series]:
    """By owner or strategy, whoever is in all runs."""
    owners = found.owners[found.owners["run"].isin(runs["run"])]
    key = owners["owner"] if by == "owner" else owners["strategy"].astype(str)
    rows = owners.assign(_who=key).groupby(["run", "step", "_who"], as_index=False, observed=True)[name].mean()
    values = {who: _at(mine, runs, name, when) for who, mine in rows.groupby("_who", observed=True)}
    for who, column in values.items():
        if len(column) < len(runs):
            raise InputError(
                f"{by} {who} is in {len(column)} of {len(runs)} runs only; hold their number fixed, or leave out --by"
            )
    names = owners.drop_duplicates("owner").set_index("owner")["name"].astype(str) if by == "owner" else {}
    return {(names.get(who, "") or f"owner {who}") if by == "owner" else who: one for who, one in values.items()}


def _at(rows: pd.DataFrame, runs: pd.DataFrame, column: str, when: When) -> pd.Series:
    """The value of every run: at its last step, or its mean over the second half of its steps."""
    last = rows.groupby("run")["step"].transform("max")
    end = rows[rows["step"] == last].groupby("run")[column].last().astype(float)
    if when == "end":
        return end
    late = rows[2 * rows["step"] > last].groupby("run")[column].mean().astype(float)
    if when == "mean":
        return late
    stopped = runs.loc[runs["status"].astype(str) == "stopped", "run"]
    return end.where(~end.index.isin(stopped), late)
