"""Figures of what happens step by step: contributions by strategy, and how runs come to rest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from fedabm.analysis.looks import Look, new_panel, strategy_looks, styled
from fedabm.analysis.rows import UNITS, grouped, how_many, legend_below, needed, nothing_to_show, numbers, run_looks
from fedabm.results.frames import Frames

__all__ = ["FLOOR", "contributions_over_time", "convergence"]

#: what a logarithmic axis shows for zero
FLOOR = 1e-16


def contributions_over_time(
    frames: Frames, column: str = "contribution", by: str = "strategy", ax: Axes | None = None
) -> Axes:
    """Mean contribution (or another column of `owners`) over the steps, one line per strategy.

    Bands hold the middle 80% of the owners of all runs in the frames.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    column : str, optional
        A column of the owners' frame.
    by : str, optional
        The column of `runs` or `owners` that tells groups apart.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    rows, ax = grouped(frames, "owners", ["step", "owner", column], by), new_panel(ax)
    if rows.empty:
        return nothing_to_show(ax, UNITS["step"], UNITS.get(column, column))
    steps = rows.groupby(["group", "step"])[column]
    lines = steps.agg(["mean", lambda x: x.quantile(0.1), lambda x: x.quantile(0.9)]).reset_index()
    lines.columns = pd.Index(["group", "step", "mean", "low", "high"])
    groups = sorted(lines["group"].unique())
    looks = strategy_looks(groups) if by == "strategy" else run_looks(frames, groups, by)
    _lines(ax, lines, looks)
    ax.set(xlabel=f"{UNITS['step']}\n{how_many(rows)}", ylabel=f"{UNITS.get(column, column)}\nmean per owner")
    legend_below(ax)
    return ax


def _lines(ax: Axes, lines: pd.DataFrame, looks: dict[str, Look]) -> None:
    style = styled(looks, "palette", "markers", "dashes")
    sns.lineplot(lines, x="step", y="mean", hue="group", style="group", hue_order=list(looks), ax=ax, **style)
    for group, look in looks.items():
        part = lines[lines["group"] == group]
        ax.fill_between(part["step"], part["low"], part["high"], color=look.colour, alpha=0.18, linewidth=0)
    thin_markers(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)


def thin_markers(ax: Axes, most: int = 12) -> None:
    """At most this many markers on each line."""
    for line in ax.lines:
        line.set_markevery(max(1, len(line.get_xdata()) // most))


def convergence(frames: Frames, by: str = "label", ax: Axes | None = None) -> Axes:
    """How far runs are from rest: the certified gap by step where `steps` has it, else the largest move of an owner.

    One line per run; a cross marks the certified gap at the run's end, which is what counts.  Zero is shown as FLOOR.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    by : str, optional
        The column of `runs` or `owners` that tells groups apart.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    steps = needed(getattr(frames, "steps", None), "steps", ["run", "step"], getattr(frames, "runs", None))
    column, ax = "gap" if "gap" in steps else "moved", new_panel(ax)
    rows = grouped(frames, "steps", ["step", column], by)
    if rows.empty:
        return nothing_to_show(ax, UNITS["step"], UNITS[column])
    looks = run_looks(frames, sorted(rows["group"].unique()), by)
    shown = rows.assign(value=np.maximum(rows[column].astype(float), FLOOR))
    style = styled(looks, "palette", "markers", "dashes")
    shared = {"hue": "group", "style": "group", "hue_order": list(looks), "units": "run", "estimator": None}
    sns.lineplot(shown, x="step", y="value", ax=ax, **shared, **style)
    thin_markers(ax)
    ax.xaxis.get_major_locator().set_params(integer=True)
    _ends(ax, frames, shown, looks)
    ax.set_yscale("log")
    ax.set(xlabel=f"{UNITS['step']}\n{numbers(runs=rows['run'].nunique())}")
    ax.set_ylabel(f"{UNITS[column]}\n(0 is shown as {FLOOR:g})")
    legend_below(ax)
    return ax


def _ends(ax: Axes, frames: Frames, rows: pd.DataFrame, looks: dict[str, Look]) -> None:
    """A cross at each run's certified gap."""
    runs = needed(frames.runs, "runs", ["run", "gap"])
    last = rows.loc[rows.groupby("run")["step"].idxmax(), ["run", "step", "group"]].merge(
        runs[["run", "gap"]], on="run"
    )
    last = last[np.isfinite(last["gap"].astype(float))]
    colours = [looks[group].colour for group in last["group"]]
    label = "certified gap at the end" if len(last) else None
    height = np.maximum(last["gap"].astype(float), FLOOR)
    ax.scatter(last["step"], height, marker="x", s=60, linewidths=2, c=colours, label=label, zorder=4)
