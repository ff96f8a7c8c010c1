"""Indices of sensitivity: tables, figures and sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError, nearest
from fedabm.common.files import draft
from fedabm.common.notebooks import as_html
from fedabm.results.tables import write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SensitivityIndices"]


@dataclass(frozen=True, repr=False)
class SensitivityIndices:
    """How much each input matters for each outcome.

    Parameters
    ----------
    indices : pd.DataFrame
        One row per outcome (of, label, who), kind of index and input: value, half its 95% interval (`±`), and the value
        at half of the runs (`at half`).  `with` is the second input of a pair.
    curves : pd.DataFrame
        Outcomes along one input: mean with half its 95% interval, and the middle 80% of the runs.
    points : pd.DataFrame
        One row per point: inputs, seed and outcomes.
    method : str
        sobol, morris or pawn.
    order : tuple[str, str]
        The kind of index that ranks inputs, and the one to see beside it.
    n : int
        How many blocks of points the method drew.
    runs : int
        How many runs were made.
    notes : tuple[str, ...]
        What to know of them, in sentences.
    folder : Path
        Where the runs are.
    """

    indices: pd.DataFrame
    curves: pd.DataFrame
    points: pd.DataFrame
    method: str
    order: tuple[str, str]
    n: int
    runs: int
    notes: tuple[str, ...]
    folder: Path

    def __repr__(self) -> str:
        inputs, outcomes = self.indices["input"].nunique(), len(self.outcomes)
        return f"SensitivityIndices({self.method}, {inputs} inputs, {outcomes} outcomes, {self.runs:,} runs)"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.table().to_dict("records"))

    @property
    def outcomes(self) -> list[str]:
        """What is explained, in words."""
        return list(dict.fromkeys(self._named()["outcome"]))

    def table(self, outcome: str | None = None) -> pd.DataFrame:
        """One row per outcome and input, the most important first; indices, half their intervals, and at half the runs.

        Parameters
        ----------
        outcome : str | None, optional
            Only this one, as `outcomes` names it.

        Returns
        -------
        pd.DataFrame
            The table.
        """
        rows = self._single(outcome)
        kinds = list(dict.fromkeys(rows["index"]))
        wide = rows.pivot(index=["outcome", "input"], columns="index", values=["value", "±", "at half"])
        table = pd.DataFrame(index=wide.index)
        for kind in kinds:
            table[kind] = wide["value", kind]
            if wide["±", kind].notna().any():
                table[f"{kind} ±"] = wide["±", kind]
        table[f"{self.order[0]} at half"] = wide["at half", self.order[0]]
        table = table.reset_index()
        places = {name: place for place, name in enumerate(self.outcomes)}
        ranked = table.assign(_place=table["outcome"].map(places), _rank=-table[self.order[0]])
        return ranked.sort_values(["_place", "_rank"], kind="stable", ignore_index=True)[list(table)]

    def pairs(self) -> pd.DataFrame:
        """What two inputs explain only together: second order, the largest first."""
        rows = self._named()
        rows = rows[rows["with"] != ""]
        order = rows["value"].abs().sort_values(ascending=False, kind="stable").index
        return rows.loc[order, ["outcome", "input", "with", "value", "±", "at half"]].reset_index(drop=True)

    def bars(self) -> Figure:
        """A panel per outcome with a bar per input and its 95% interval."""
        from fedabm.analysis.sensitivity import index_bars  # Matplotlib is slow to import

        return index_bars(self._named(), list(dict.fromkeys(reversed(self.order))))

    def against(self) -> Figure:
        """Total order against first order (of Morris the spread against the mean), with intervals."""
        from fedabm.analysis.sensitivity import index_scatter

        if self.order[0] == self.order[1]:
            raise InputError(f"{self.method} has one index, got nothing to put against it; draw bars() instead")
        mean_first = self.order if self.method == "morris" else self.order[::-1]
        return index_scatter(self._named(), *mean_first, diagonal=self.method == "sobol")

    def along(self) -> Figure:
        """A panel per outcome and input: the mean along the input, and the middle 80% of the runs."""
        from fedabm.analysis.sensitivity import effect_curves

        return effect_curves(_with_outcome(self.curves))

    def save(self, folder: str | Path | None = None) -> list[Path]:
        """Write tables (CSV), notes and figures (PNG and PDF); by default where the runs are.

        Parameters
        ----------
        folder : str | Path | None, optional
            Where to.

        Returns
        -------
        list[Path]
            The files.
        """
        place = Path(folder or self.folder)
        place.mkdir(parents=True, exist_ok=True)
        tables = {"indices": self.indices, "curves": self.curves, "points": self.points}
        writers: dict[str, Callable[[Path], Any]] = {
            f"{name}.csv": partial(write_table, table) for name, table in tables.items()
        }
        writers["sensitivity.json"] = lambda path: path.write_text(json.dumps(self.as_dict(), indent=2), "utf-8")
        figures = {"bars": self.bars(), "along": self.along()}
        if self.order[0] != self.order[1]:
            figures["against"] = self.against()
        for name, figure in figures.items():
            for kind in ("png", "pdf"):
                writers[f"sensitivity_{name}.{kind}"] = partial(figure.savefig, format=kind, dpi=160)
        for name, write in writers.items():
            with draft(place / name) as path:
                write(path)
        return [place / name for name in writers]

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain values."""
        indices = json.loads(self.indices.to_json(orient="records", double_precision=15))
        about = {"method": self.method, "n": self.n, "runs": self.runs, "folder": str(self.folder)}
        return {**about, "notes": list(self.notes), "indices": indices}

    def _named(self) -> pd.DataFrame:
        return _with_outcome(self.indices)

    def _single(self, outcome: str | None) -> pd.DataFrame:
        if outcome is not None and outcome not in self.outcomes:
            raise InputError(f"unknown outcome {outcome!r}; {nearest(outcome, self.outcomes)}")
        rows = self._named()
        rows = rows[rows["with"] == ""]
        return rows if outcome is None else rows[rows["outcome"] == outcome]


def _with_outcome(frame: pd.DataFrame) -> pd.DataFrame:
    """With a column of words for of, label and who."""
    words = [", ".join(filter(None, row)) for row in frame[["of", "label", "who"]].itertuples(index=False, name=None)]
    return frame.assign(outcome=np.array(words, dtype=object))
