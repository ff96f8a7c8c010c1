"""What a folder holds: frames, manifest, and the tables and pictures that a scenario left beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fedabm.analysis.rows import last_step, needed
from fedabm.results.design import SWEEP, read_manifest
from fedabm.results.frames import Frames
from fedabm.results.store import check_others, load
from fedabm.results.tables import read_table

__all__ = ["DESCRIPTION", "ResultFolder", "read"]

#: the ODD protocol of what was run, as a run leaves it beside its frames
DESCRIPTION = "odd.md"

#: columns that a report cannot do without
_NEEDED = {
    "runs": ("run", "label", "scenario", "seed", "mechanism", "owners", "steps", "status", "converged", "gap"),
    "steps": ("run", "step", "contribution", "accuracy", "cost", "transferred", "welfare", "server_balance", "present"),
    "owners": ("run", "step", "owner", "strategy", "contribution", "accuracy", "cost", "payment", "utility"),
    "transfers": ("run", "step", "payer", "payee", "amount", "reason"),
}


@dataclass(frozen=True)
class ResultFolder:
    """A folder as read; `federated` is False for sweeps over Mesa models of the user's own."""

    folder: Path
    kind: Literal["run", "sweep"]
    manifest: dict[str, Any]
    frames: Frames
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    federated: bool = True
    description: str = ""

    @property
    def done(self) -> pd.DataFrame:
        """The runs that did not fail."""
        return self.frames.runs[self.frames.runs["status"] != "failed"]

    @property
    def failed(self) -> pd.DataFrame:
        """The runs that failed."""
        return self.frames.runs[self.frames.runs["status"] == "failed"]

    @property
    def ends(self) -> pd.DataFrame:
        """The last recorded step of each run."""
        return last_step(self.frames.steps)

    @property
    def scenario(self) -> str:
        """The name of what was run."""
        if self.kind == "sweep":
            return str(self.manifest.get("target", {}).get("name", "sweep"))
        return str(self.manifest.get("scenario") or next(iter(self.frames.runs["scenario"]), "") or self.folder.name)

    @property
    def titles(self) -> dict[str, str]:
        """What the scenario called its own tables, in the order in which it printed them."""
        given = self.manifest.get("tables")
        return {str(name): str(title) for name, title in given.items()} if isinstance(given, dict) else {}

    def title(self, table: str) -> str:
        """The title of a table; its name where nothing is known."""
        return self.titles.get(table) or table.replace("_", " ")

    def in_order(self, tables: Iterable[str]) -> list[str]:
        """Names of tables as they were printed, those of unknown origin at the end."""
        known = list(self.titles)
        return sorted(tables, key=lambda name: known.index(name) if name in known else len(known))

    @property
    def by(self) -> str:
        """What tells groups of runs apart in figures: their labels, or where these are many, the kind of mechanism."""
        return "label" if self.kind == "run" and self.frames.runs["label"].nunique() <= 8 else "mechanism"

    @property
    def varied(self) -> list[str]:
        """The parameters that differ between the runs of a sweep."""
        names = list(self.frames.runs.columns)
        if self.kind == "run" or "wall_time" not in names:
            return []
        given = [name for name in names[names.index("wall_time") + 1 :] if name not in ("error", "traceback")]
        return [name for name in given if self.frames.runs[name].astype(str).nunique() > 1]


def read(folder: Path) -> ResultFolder:
    """Read a folder, or say in one line why it cannot be reported on."""
    sweep = os.path.exists(folder / SWEEP)  # unlike Path.exists never raises
    frames = load(folder)
    manifest = read_manifest(folder) if sweep else check_others(folder)
    federated = not (sweep and manifest.get("target", {}).get("kind") == "model")
    for name, columns in _NEEDED.items():
        needed(getattr(frames, name), name, columns if federated or name == "runs" else (), frames.runs)
    if sweep:
        return ResultFolder(folder, "sweep", manifest, frames, dict(getattr(frames, "tables", {})), federated=federated)
    tables, unread = _tables(folder)
    pictures = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.png"))}
    described = _description(folder)
    return ResultFolder(folder, "run", manifest, frames, tables, pictures, unread, description=described)


def _description(folder: Path) -> str:
    """The description of the model, if a text lies there."""
    file = folder / DESCRIPTION
    return file.read_text("utf-8", errors="replace") if os.path.isfile(file) else ""


def _tables(folder: Path) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """The tables beside the frames, and the names of those that cannot be read."""
    found, unread = {}, []
    for path in sorted(folder.glob("*.csv")):
        try:
            found[path.stem] = read_table(path)
        except (OSError, ValueError):
            unread.append(path.name)
    return found, tuple(unread)
