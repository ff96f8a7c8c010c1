"""Figures of what comes out: utilities against contributions, welfare against a parameter, mechanisms side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from fedabm.analysis.looks import Look, new_panel, strategy_looks, styled
from fedabm.analysis.over_time import thin_markers
from fedabm.analysis.rows import (
    UNITS,
    grouped,
    how_many,
    last_step,
    legend_below,
    needed,
    nothing_to_show,
    numbers,
    run_looks,
)
from fedabm.common.confidence import LEAST, confidence
from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.results.frames import Frames, shorten

__all__ = ["against_contribution", "mechanism_bars", "welfare_against"]


def against_contribution(frames: Frames, column: str = "utility", by: str = "strategy", ax: Axes | None = None) -> Axes:
    """Utility or payment of every owner at the last step against what it contributed: Doshi et al. 2025, Figure 2.

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
    rows, ax = grouped(frames, "owners", ["step", "owner", "contribution", column], by), new_panel(ax)
    if rows.empty:
        return nothing_to_show(ax, UNITS["contribution"], UNITS.get(column, column))
    rows = last_step(rows)
    groups = sorted(rows["group"].unique())
    looks = strategy_looks(groups) if by == "strategy" else run_looks(frames, groups, by)
    scatter(ax, rows, "contribution", column, looks)
    ax.axhline(0.0, color="0.3", linewidth=0.8, zorder=1)
    ax.set(xlabel=f"{UNITS['contribution']}\n{how_many(rows)}", ylabel=UNITS.get(column, column))
    legend_below(ax)
    return ax


def scatter(ax: Axes, rows: pd.DataFrame, x: str, y: str, looks: dict) -> None:
    """Points by group; the more there are, the smaller and fainter.

    Small marks of the few lie on large marks of the many, so that neither hides the other where they coincide.
    """
    crowd = float(np.clip(200 / max(len(rows), 1), 0.05, 1.0))
    rank = rows["group"].value_counts().rank(method="dense").astype(int)  # the largest groups have the highest
    areas = (10 + 26 * crowd) * np.geomspace(1.0, 4.0, rank.max()) if rank.max() > 1 else [14 + 36 * crowd]
    rows = rows.iloc[np.argsort(-rows["group"].map(rank).to_numpy(), kind="stable")]
    shape = {"alpha": 0.35 + 0.6 * crowd, "rasterized": len(rows) > 2000, "linewidth": 0.4}
    groups = {"hue": "group", "style": "group", "size": "group", "hue_order": list(looks)}
    sizes = {group: areas[place - 1] for group, place in rank.items()}
    sns.scatterplot(rows, x=x, y=y, ax=ax, sizes=sizes, **groups, **shape, **styled(looks, "palette", "markers"))
    ax.margins(0.08)


def welfare_against(
    frames: Frames, parameter: str, column: str = "welfare", by: str = "mechanism", ax: Axes | None = None
) -> Axes:
    """Welfare (or another column of `steps`) at the end against a parameter: Doshi et al. 2025, Figure 1.

    Lines are means over runs, bands their 95% confidence intervals (`confidence`); few runs have no band.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    parameter : str
        The parameter along the x-axis.
    column : str, optional
        A column of `steps`.
    by : str, optional
        The column of `runs` that tells lines apart.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    runs, ax = needed(getattr(frames, "runs", None), "runs", ["run", parameter]), new_panel(ax)
    if not pd.api.types.is_numeric_dtype(runs[parameter]) and len(runs):
        raise InputError(f"{parameter} must hold numbers, got {runs[parameter].iloc[0]!r}; use mechanism_bars instead")
    rows = grouped(frames, "steps", ["step", column], by)
    if rows.empty:
        return nothing_to_show(ax, parameter, UNITS.get(column, column))
    rows = last_step(rows).merge(runs[["run", parameter]], on="run", suffixes=("", "_given"))
    x = f"{parameter}_given" if f"{parameter}_given" in rows else parameter
    name = parameter.removeprefix("parameter_")
    looks = run_looks(frames, sorted(rows["group"].unique()), by)
    shared = {"hue": "group", "style": "group", "hue_order": list(looks), "errorbar": confidence}
    sns.lineplot(rows, x=x, y=column, ax=ax, **shared, **styled(looks, "palette", "markers", "dashes"))
    thin_markers(ax, most=40)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=bool((rows[x].astype(float) % 1 == 0).all())))
    ax.set_xlabel(f"{name}\n{numbers(runs=rows['run'].nunique())}, {per_group(rows, x)} per point")
    ax.set_ylabel(f"{UNITS.get(column, column)}\n{mean_words(rows.groupby(['group', x]).size().min())}")
    legend_below(ax)
    return ax


def per_group(rows: pd.DataFrame, *columns: str) -> str:
    """How many rows each group (and value of further columns) has: 5, or 3 to 5."""
    sizes = rows.groupby(["group", *columns]).size()
    return f"{sizes.min():,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"


def mean_words(runs: int) -> str:
    """What is drawn of so many runs."""
    return "mean and 95% interval" if runs >= LEAST else f"mean (95% interval: from {LEAST} runs on)"


def mechanism_bars(frames: Frames, column: str = "welfare", by: str = "label", ax: Axes | None = None) -> Axes:
    """The mean over runs of a column of `steps` at the end, one bar per mechanism.

    Whiskers are the 95% interval of the mean (`confidence`), dots the single runs; few runs have no whiskers.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    column : str, optional
        A column of `steps`.
    by : str, optional
        The column of `runs` or `owners` that tells groups apart.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    rows = grouped(frames, "steps", ["step", column], by)
    if rows.empty:
        return nothing_to_show(new_panel(ax), by, UNITS.get(column, column))
    rows = last_step(rows)
    groups = list(dict.fromkeys(rows["group"]))
    ax, looks = new_panel(ax, width=max(5.4, 1.4 + 0.62 * len(groups))), run_looks(frames, groups, by)
    for place, group in enumerate(groups):
        _bar(ax, place, rows.loc[rows["group"] == group, column].astype(float), looks[group], group)
    _name_bars(ax, groups)
    ax.axhline(0.0, color="0.3", linewidth=0.8)
    ax.set_xlabel(f"runs by {by}\n{numbers(runs=rows['run'].nunique())}, {per_group(rows)} per bar")
    several = f"\n{mean_words(rows.groupby('group').size().min())}" if rows["group"].duplicated().any() else ""
    ax.set_ylabel(f"{UNITS.get(column, column)}{several}")
    return ax


def _bar(ax: Axes, place: int, values: pd.Series, look: Look, group: str) -> None:
    """The mean, and where there are several runs, its 95% interval and the runs themselves."""
    style = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0, "label": group}
    ax.bar(place, values.mean(), 0.7, **style)
    if len(values) > 1:
        mean, (low, high) = values.mean(), confidence(values)
        if np.isfinite(low):
            ax.errorbar(place, mean, [[mean - low], [high - mean]], color="0.15", capsize=4, linewidth=1.2, zorder=3)
        ax.scatter(place + aside(len(values)), values, s=9, color="0.15", alpha=0.5, linewidth=0, zorder=3)


def aside(count: int, width: float = 0.3) -> Array:
    """Places beside each other for dots that would hide each other: spread evenly, and always the same.

    >>> aside(3).round(3).tolist()
    [-0.15, 0.035, -0.079]
    """
    return width * ((np.arange(count) * 0.6180339887498949) % 1.0 - 0.5)


def _name_bars(ax: Axes, groups: list[str]) -> None:
    """Names below the bars, slanted where they would touch."""
    names = [shorten(group, 30) for group in groups]
    slanted = sum(map(len, names)) > 40
    ax.set_xticks(np.arange(len(groups)), names, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    ax.grid(visible=False, axis="x")
