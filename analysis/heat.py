"""Heat maps: an outcome by two parameters of a sweep, and tables of gains and reciprocity by mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.analysis.looks import new_panel
from fedabm.analysis.rows import UNITS, grouped, last_step, needed, nothing_to_show, numbers
from fedabm.common.errors import InputError, nearest
from fedabm.results.frames import Frames, shorten

__all__ = ["gain_table", "heat_map", "heat_maps", "heat_table"]

#: maps with more cells have no numbers in them
_NUMBERED = 120
#: a parameter with more numbers is binned, into this many bins
_MOST_VALUES, _BINS = 40, 12


def gain_table(frames: Frames, baseline: str, by: str = "label") -> pd.DataFrame:
    """Contribution, accuracy and welfare of each group of runs at the last step, as multiples of the baseline's.

    Data gain and accuracy gain of Murhekar et al. 2025, Definitions 3.6 and 3.7, on means over runs.  A column
    `reciprocity` may be added by hand: it needs Shapley shares (`fedabm.solving.metrics.reciprocity`), which no frame
    holds.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    baseline : str
        The group that the others are multiples of.
    by : str, optional
        The column of `runs` or `owners` that tells groups apart.

    Returns
    -------
    pd.DataFrame
        One row per group.
    """
    rows = grouped(frames, "steps", ["step", "contribution", "accuracy", "welfare"], by)
    rows = last_step(rows)
    means = rows.groupby("group", sort=False)[["contribution", "accuracy", "welfare"]].mean()
    if baseline not in means.index:
        raise InputError(f"no runs are called {baseline!r}; {nearest(baseline, map(str, means.index))}")
    base = means.loc[baseline].replace(0.0, np.nan)
    table = (means / base).rename(columns={name: f"{name} gain" for name in means})
    return (
        table.rename_axis(by).reset_index().assign(runs=rows.groupby("group", sort=False)["run"].nunique().to_numpy())
    )


def heat_table(table: pd.DataFrame, rows: str, columns: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """A table as a heat map with its numbers in it: one line per entry of `rows`, one column per measure.

    Shades compare within a column, from its least to its largest value, because the columns have different units.

    Parameters
    ----------
    table : pd.DataFrame
        The table that is drawn.
    rows : str
        The column that names the rows.
    columns : Sequence[str] | None, optional
        The columns that are shown; by default all others.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    needed(table, "table", [rows, *(columns or [])])
    chosen = list(columns or [c for c in table.columns if c != rows and pd.api.types.is_numeric_dtype(table[c])])
    ax = new_panel(ax, width=1.8 + 1.15 * max(len(chosen), 2), height=1.3 + 0.42 * max(len(table), 2))
    if table.empty or not chosen:
        return nothing_to_show(ax, "measure", rows)
    values = table.set_index(table[rows].astype(str))[chosen].astype(float)
    finite = values.where(np.isfinite(values))
    width = (finite.max() - finite.min()).replace(0.0, np.nan)
    shades = ((finite - finite.min()) / width).fillna(0.5)
    texts = values.map(lambda value: f"{value:.3g}")
    sns.heatmap(shades, annot=texts, fmt="", cmap="cividis", cbar=False, vmin=0, vmax=1, linewidths=1, ax=ax)
    ax.set(xlabel=f"measure (shades within a column)\n{numbers(rows=len(table))}", ylabel=rows)
    ax.tick_params(axis="y", rotation=0)
    return ax


def heat_map(
    frames: Frames,
    x: str,
    y: str,
    column: str = "welfare",
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A column of `steps` at the end, by two parameters of a sweep: the mean over all runs in each cell.

    `limits` are the values of the darkest and the lightest shade, by default the least and the most shown; cells
    without runs stay grey.  Of a continuous design, whose numbers hardly ever meet, cells are bins of equal width,
    named by their middles; the axis says so.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    x : str
        The parameter along the x-axis.
    y : str
        The parameter along the y-axis.
    column : str, optional
        A column of `steps`.
    limits : tuple[float, float] | None, optional
        Values of the darkest and the lightest shade.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    frames = _binned(frames, x, y)
    table = _cells(frames, x, y, column)
    ax = new_panel(ax, *_size(table))
    if table.empty:
        return nothing_to_show(ax, *(name.removeprefix("parameter_") for name in (x, y)))
    mesh = _paint(ax, frames, table, limits or _limits([table]))
    if limits is None:
        ax.figure.colorbar(mesh, ax=ax, label=f"{UNITS.get(column, column)}, mean")
    return ax


def heat_maps(frames: Frames, x: str, y: str, column: str = "welfare", by: str = "mechanism") -> Figure:
    """One heat map per mechanism (or another column of `runs`), side by side, with one scale for all.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    x : str
        The parameter along the x-axis.
    y : str
        The parameter along the y-axis.
    column : str, optional
        A column of `steps`.
    by : str, optional
        The column of `runs` that tells maps apart.

    Returns
    -------
    Figure
        The figure.
    """
    frames = _binned(frames, x, y)
    rows = grouped(frames, "steps", ["step", column], by)
    groups = list(dict.fromkeys(rows["group"])) or [""]
    parts = [_part(frames, rows, group) for group in groups]
    whole = _cells(frames, x, y, column)  # all maps have all values of both parameters
    tables = [_cells(part, x, y, column).reindex(index=whole.index, columns=whole.columns) for part in parts]
    width, height = _size(whole)
    with sns.axes_style("white"), sns.plotting_context("paper", font_scale=1.05):
        shape = {"figsize": (0.8 * width * len(groups) + 1.2, height), "layout": "constrained", "squeeze": False}
        figure, axes = plt.subplots(1, len(groups), sharey=True, **shape)
    for panel, part, table, group in zip(axes[0], parts, tables, groups, strict=True):
        if table.empty:
            nothing_to_show(panel, *(name.removeprefix("parameter_") for name in (x, y)))
            continue
        mesh = _paint(panel, part, table, _limits(tables))
        panel.set_title(shorten(group, 40), fontsize="medium")
        if panel is axes[0][-1]:
            figure.colorbar(mesh, ax=list(axes[0]), label=f"{UNITS.get(column, column)}, mean", aspect=24)
        if panel is not axes[0][0]:
            panel.set_ylabel("")
    return figure


def _binned(frames: Frames, x: str, y: str) -> Frames:
    """The runs with the middles of bins in place of parameters that have too many numbers for one cell each."""
    runs = getattr(frames, "runs", None)
    many = [name for name in dict.fromkeys((x, y)) if runs is not None and _is_continuous(runs, name)]
    if not many:
        return frames
    binned = runs.copy()
    for name in many:
        values = runs[name].to_numpy(dtype=float)
        edges = np.linspace(np.nanmin(values), np.nanmax(values), _BINS + 1)
        places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, _BINS - 1)
        binned[name] = np.where(np.isnan(values), np.nan, (edges[:-1] + edges[1:])[places] / 2)
    binned.attrs["binned"] = many
    return replace(frames, runs=binned)


def _is_continuous(runs: pd.DataFrame, name: str) -> bool:
    return name in runs and pd.api.types.is_float_dtype(runs[name]) and runs[name].nunique() > _MOST_VALUES


def _size(table: pd.DataFrame) -> tuple[float, float]:
    """Width and height of a map, in inches."""
    return max(4.2, 2.2 + 0.55 * table.shape[1]), max(3.0, 1.4 + 0.42 * table.shape[0])


def _paint(ax: Axes, frames: Frames, table: pd.DataFrame, limits: tuple[float, float]) -> Any:
    """The cells of a table, with the names of its axes."""
    values = np.ma.masked_invalid(table.to_numpy(dtype=float))
    ax.set_facecolor("0.93")
    mesh = ax.pcolormesh(values, cmap="cividis", vmin=limits[0], vmax=limits[1], edgecolor="white", linewidth=0.8)
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, [_word(value) for value in table.columns])
    ax.set_yticks(np.arange(values.shape[0]) + 0.5, [_word(value) for value in table.index])
    ax.tick_params(axis="x", rotation=40 if sum(len(_word(one)) for one in table.columns) > 40 else 0)
    ax.grid(visible=False)
    if values.size <= _NUMBERED:
        _numbers_in(ax, values, *limits)
    x, y = table.columns.name, table.index.name
    runs = int(last_step(frames.steps)["run"].nunique())
    binned = frames.runs.attrs.get("binned", ())
    x_name, y_name = (
        known.removeprefix("parameter_") + f" ({_BINS} bins)" * (known in binned)
        for known in (str(name).removesuffix("_given") for name in (x, y))
    )
    ax.set(xlabel=f"{x_name}\n{numbers(runs=runs)}, {_per_cell(frames, x, y)} per cell", ylabel=y_name)
    return mesh


def _part(frames: Frames, rows: pd.DataFrame, group: str) -> Frames:
    """The runs of one group."""
    chosen = rows.loc[rows["group"] == group, "run"].unique()
    return Frames(
        *(frame[frame["run"].isin(chosen)] for frame in (frames.runs, frames.steps, frames.owners, frames.transfers))
    )


def _cells(frames: Frames, x: str, y: str, column: str) -> pd.DataFrame:
    """Means at the last step, one row per value of y and one column per value of x, in ascending order."""
    runs = needed(getattr(frames, "runs", None), "runs", ["run", x, y])
    steps = needed(getattr(frames, "steps", None), "steps", ["run", "step", column], runs)
    if x == y:
        raise InputError(f"a heat map has two parameters, got {x!r} twice; choose another one")
    last = last_step(steps)[["run", column]].merge(runs[["run", x, y]], on="run", suffixes=("", "_given"))
    across, down = (f"{name}_given" if f"{name}_given" in last else name for name in (x, y))
    return last.pivot_table(index=down, columns=across, values=column, aggfunc="mean", observed=True, dropna=False)


def _per_cell(frames: Frames, x: Any, y: Any) -> str:
    x, y = (name if name in frames.runs else str(name).removesuffix("_given") for name in (x, y))
    sizes = frames.runs[frames.runs["run"].isin(frames.steps["run"])].groupby([x, y], observed=True).size()
    return f"{sizes.min():,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"


def _limits(tables: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """The least and the most of all tables."""
    values = np.concatenate([table.to_numpy(dtype=float).ravel() for table in tables])
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def _numbers_in(ax: Axes, values: np.ma.MaskedArray, low: float, high: float) -> None:
    """The value in every cell, in a colour that can be read on its shade."""
    for row, column in np.ndindex(values.shape):
        if values[row, column] is np.ma.masked:
            continue
        value = float(values[row, column])
        dark = value < low + 0.55 * (high - low)
        text = {"ha": "center", "va": "center", "fontsize": "small", "color": "white" if dark else "black"}
        ax.text(column + 0.5, row + 0.5, f"{value:.3g}", **text)


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else shorten(str(value), 16)
