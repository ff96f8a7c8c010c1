"""Tidy frames of what happened: runs, steps, owners and transfers.

`COLUMNS` says what every column means.  The frames of equal runs are equal bit for bit, except for `runs`, where
whatever may differ between equal runs, such as wall time, has its place.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from fedabm.results.columns import COLUMNS

__all__ = ["COLUMNS", "LINKED", "NAMED", "Frames", "run_frame", "shorten", "split", "versions"]


#: columns of names, the same in every step
NAMED = ("strategy", "role", "name")
#: columns that only federations with a model for each owner fill
LINKED: dict[str, type] = {
    "imports": np.int64,
    "exports": np.int64,
    "import_strength": float,
    "export_strength": float,
    "isolated": bool,
}


@dataclass(frozen=True)
class Frames:
    """The four pandas frames of one or more runs."""

    runs: pd.DataFrame
    steps: pd.DataFrame
    owners: pd.DataFrame
    transfers: pd.DataFrame

    @classmethod
    def join(cls, parts: Sequence[Frames]) -> Frames:
        """Several runs in one set of frames, numbered from 0."""
        numbered: dict[str, list[pd.DataFrame]] = {name: [] for name in COLUMNS}
        for number, part in enumerate(parts):
            for name in COLUMNS:
                numbered[name].append(getattr(part, name).assign(run=number))
        return cls(**{name: _concatenate(name, frames) for name, frames in numbered.items()})


def split(frames: Frames) -> Iterator[Frames]:
    """The frames of each run that did not fail by itself, with the columns of a single run, numbered 0."""
    parts = {name: dict(iter(getattr(frames, name).groupby("run", sort=False))) for name in COLUMNS}
    for number, status in zip(frames.runs["run"], frames.runs["status"], strict=True):
        if status == "failed":
            continue
        found = {name: parts[name].get(number, getattr(frames, name)[:0]) for name in COLUMNS}
        kept = {name: frame.reindex(columns=list(COLUMNS[name])).assign(run=0) for name, frame in found.items()}
        yield Frames(**{name: frame.reset_index(drop=True) for name, frame in kept.items()})


def shorten(text: str, most: int = 200) -> str:
    """Cut a long text."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _concatenate(name: str, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One below the other, with strategies and roles as common categories."""
    if not frames:
        return pd.DataFrame({column: [] for column in COLUMNS[name]})
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


def run_frame(row: dict[str, Any]) -> pd.DataFrame:
    """A `runs` frame of one row."""
    known = {"run": 0, **row, **versions()}
    return pd.DataFrame({name: [known[name]] for name in COLUMNS["runs"]})
