"""The frames of a sweep: those of single runs, with the parameters beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

from fedabm.results.frames import COLUMNS, Frames

__all__ = ["Results", "split"]


@dataclass(frozen=True)
class Results(Frames):
    """The four frames of a sweep, parameters as columns of `runs`, and the tables of Mesa models by name.

    A parameter whose name is a column of `runs` already, such as `owners`, is found under `parameter_owners`.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def failed(self) -> pd.DataFrame:
        """The runs that failed, with error and traceback."""
        return self.runs[self.runs["status"] == "failed"]


def split(frames: Frames) -> Iterator[Frames]:
    """The frames of each run that did not fail by itself, with the columns of a single run, numbered 0."""
    parts = {name: dict(iter(getattr(frames, name).groupby("run", sort=False))) for name in COLUMNS}
    for number, row in zip(frames.runs["run"], frames.runs.itertuples(), strict=True):
        if row.status == "failed":
            continue
        found = {name: parts[name].get(number, getattr(frames, name)[:0]) for name in COLUMNS}
        kept = {name: frame.reindex(columns=list(COLUMNS[name])).assign(run=0) for name, frame in found.items()}
        yield Frames(**{name: frame.reset_index(drop=True) for name, frame in kept.items()})
