"""Rows for figures: checked columns, last steps, groups of runs, and what stands on the axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

import fedabm
from fedabm.analysis.looks import Look, kind_of, mechanism_looks
from fedabm.common.errors import InputError
from fedabm.common.texts import visible
from fedabm.results.frames import Frames, shorten

__all__ = [
    "UNITS",
    "called",
    "grouped",
    "how_many",
    "last_step",
    "legend_below",
    "needed",
    "nothing_to_show",
    "numbers",
    "run_looks",
]

#: what the axes say about a column, with its unit
UNITS = {
    "contribution": "contribution (samples)",
    "reported_contribution": "reported contribution (samples)",
    "capacity": "capacity (samples)",
    "accuracy": "accuracy received (no unit)",
    "cost": "true cost (units of utility)",
    "payment": "payment (units of utility; below 0: it pays)",
    "utility": "utility (gain - cost + payment)",
    "welfare": "welfare (sum of utilities)",
    "transferred": "paid to owners (units of utility, per step)",
    "server_balance": "server's account (units of utility)",
    "present": "owners present (count)",
    "rejected": "unusable reports or updates (count)",
    "moved": "largest move (share of capacity)",
    "gap": "certified gap (utility)",
    "step": "step",
}

#: points that ticks and a label of two lines need below the axes
_LABELS = 42


def needed(frame: Any, name: str, columns: Sequence[str], runs: pd.DataFrame | None = None) -> pd.DataFrame:
    """The frame, or one clear line if it is none or lacks columns; `runs` says which version wrote it."""
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"{name} must be a pandas frame, got {type(frame).__name__}; give for instance frames.{name}")
    missing = [column for column in columns if column not in frame]
    if missing:
        have = ", ".join(map(str, frame.columns)) or "none"
        raise InputError(
            f"the {name} frame lacks {', '.join(missing)}, it has {have}{_origin(runs)}; load it whole with "
            f"fedabm.load(folder), or run the study again with fedabm {fedabm.__version__}"
        )
    return frame


def _origin(runs: pd.DataFrame | None) -> str:
    """Which other version wrote the frames."""
    if runs is None or "fedabm" not in runs:
        return ""
    others = sorted({str(one) for one in runs["fedabm"].dropna()} - {fedabm.__version__})
    return f" (written by fedabm {', '.join(others)})" if others else ""


def last_step(owners: pd.DataFrame) -> pd.DataFrame:
    """The rows of each run's last step.

    Parameters
    ----------
    owners : pd.DataFrame
        The frame of owners.

    Returns
    -------
    pd.DataFrame
        Its rows of each run's last step.
    """
    return owners[owners["step"] == owners.groupby("run")["step"].transform("max")]


def grouped(frames: Frames, name: str, columns: Sequence[str], by: str) -> pd.DataFrame:
    """Rows of a frame with a text column `group`: a column of theirs, or of the runs they belong to.

    `by` "mechanism" means its kind, without parameters, so that a sweep over a parameter is one group.
    """
    frame = needed(getattr(frames, name, None), name, ["run", *columns], getattr(frames, "runs", None))
    if by in frame and by != "run":
        return frame.assign(group=frame[by].astype(str))
    runs = needed(getattr(frames, "runs", None), "runs", ["run", by])
    text = runs[by].map(kind_of) if by == "mechanism" else runs[by].astype(str)
    return frame.assign(group=frame["run"].map(dict(zip(runs["run"], text, strict=True))).astype(str))


def run_looks(frames: Frames, groups: Sequence[str], by: str) -> dict[str, Look]:
    """A look for each group of runs, from the mechanism behind it where there is one."""
    runs = frames.runs
    if by in runs and "mechanism" in runs:
        text = runs[by].map(kind_of) if by == "mechanism" else runs[by].astype(str)
        behind = dict(zip(text, runs["mechanism"].astype(str), strict=True))
    else:
        behind = {}
    return mechanism_looks({group: behind.get(group, group) for group in groups})


def called(owners: pd.DataFrame) -> dict[int, str]:
    """What to call every owner in a figure: its name, or its number where it has none.

    >>> called(pd.DataFrame({"owner": [0, 1], "name": ["St. Mary", ""]}))
    {0: 'St. Mary', 1: '1'}
    """
    first = owners.drop_duplicates("owner")
    names = first["name"].astype(str) if "name" in first else [""] * len(first)
    return {int(owner): visible(name) or str(int(owner)) for owner, name in zip(first["owner"], names, strict=True)}


def numbers(**counts: int) -> str:
    """How many of what a figure shows.

    >>> numbers(owners=12, runs=1)
    'n = 12 owners, 1 run'
    """
    parts = [f"{count:,} {what if count != 1 else what.removesuffix('s')}" for what, count in counts.items()]
    return f"n = {', '.join(parts)}"


def how_many(frame: pd.DataFrame) -> str:
    """How many owners or runs stand behind some rows of the frames.

    >>> how_many(pd.DataFrame({"run": [0, 0, 1, 1], "owner": [0, 1, 0, 1]}))
    'n = 2 owners in each of 2 runs'
    """
    runs = int(frame["run"].nunique())
    if "owner" not in frame:
        return numbers(runs=runs)
    sizes = frame[["run", "owner"]].drop_duplicates().groupby("run").size()
    if runs > 1 and sizes.nunique() == 1:
        return f"{numbers(owners=int(sizes.iloc[0]))} in each of {runs:,} runs"
    return f"{numbers(owners=int(sizes.sum()))} of {runs:,} runs" if runs > 1 else numbers(owners=int(sizes.sum()))


def nothing_to_show(ax: Axes, x: str, y: str, why: str = "nothing recorded") -> Axes:
    """Empty axes that say so."""
    ax.set(xlabel=f"{x}\nn = 0", ylabel=y, xticks=[], yticks=[])
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", va="center", color="0.35")
    return ax


def legend_below(ax: Axes) -> None:
    """The legend below the axes and their labels, where it hides nothing."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    labels = [shorten(label, 60) for label in labels]
    columns = int(np.clip(70 // (max(map(len, labels)) + 8), 1, 4))
    below = ax.transAxes + ScaledTranslation(0.0, -_LABELS / 72, ax.get_figure(root=True).dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
    ax.legend(handles, labels, frameon=False, handlelength=3.0, ncol=min(columns, len(labels)), **place)
