"""What an answer depends on: indices as bars with intervals, one index against another, and means along one input."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.analysis.rows import needed
from fedabm.results.frames import shorten

__all__ = ["effect_curves", "index_bars", "index_scatter"]

_COLOURS = ("#0b5a8f", "#d98c00")
_HATCHES = ("", "//")
_INDICES = ("outcome", "input", "with", "index", "value", "±")
_CURVES = ("outcome", "input", "at", "mean", "±", "low", "high", "runs")


def index_bars(indices: pd.DataFrame, kinds: Sequence[str]) -> Figure:
    """A panel per outcome, and in it a bar per input and kind of index with its 95% interval.

    Parameters
    ----------
    indices : pd.DataFrame
        One row per outcome, input and kind of index: value, and half its 95% interval.
    kinds : Sequence[str]
        Which kinds of index, such as first and total; inputs are ordered by the last of them.

    Returns
    -------
    Figure
        The figure.
    """
    rows = _single(needed(indices, "indices", _INDICES), kinds)
    outcomes = list(dict.fromkeys(rows["outcome"]))
    inputs = _ranked(rows, kinds[-1])
    figure, panels = _panels(1, len(outcomes), 3.3, 0.9 + 0.3 * len(inputs) * max(len(kinds), 1.4), sharey=True)
    height = 0.8 / len(kinds)
    for panel, outcome in zip(panels[0], outcomes, strict=True):
        mine = rows[rows["outcome"] == outcome].set_index(["index", "input"])
        for place, kind in enumerate(kinds):
            at = np.arange(len(inputs)) + (place - (len(kinds) - 1) / 2) * height
            values, halves = (mine.loc[kind].reindex(inputs)[column].to_numpy(float) for column in ("value", "±"))
            look = {"color": _COLOURS[place % 2], "hatch": _HATCHES[place % 2], "edgecolor": "white", "linewidth": 0}
            panel.barh(at, values, height * 0.92, label=kind, alpha=0.9, **look)
            if np.isfinite(halves).any():
                panel.errorbar(values, at, xerr=halves, fmt="none", ecolor="0.1", elinewidth=1.2, capsize=2.5)
        panel.axvline(0.0, color="0.3", linewidth=0.8)
        panel.set_title(shorten(outcome, 40), fontsize="medium")
        panel.set_xlabel("index and 95% interval")
        panel.grid(visible=False, axis="y")
    panels[0][0].set_yticks(range(len(inputs)), [shorten(name, 28) for name in inputs])
    panels[0][0].invert_yaxis()
    if len(kinds) > 1:
        handles, words = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, words, loc="outside lower center", ncol=len(kinds), frameon=False)
    return figure


def index_scatter(indices: pd.DataFrame, x: str, y: str, *, diagonal: bool = False) -> Figure:
    """A panel per outcome with one kind of index against another, a point with 95% intervals per input.

    Parameters
    ----------
    indices : pd.DataFrame
        One row per outcome, input and kind of index: value, and half its 95% interval.
    x : str
        The kind of index to the right, such as first.
    y : str
        The kind of index upwards, such as total.
    diagonal : bool, optional
        Whether to draw where both are the same: inputs above it act together with others.

    Returns
    -------
    Figure
        The figure.
    """
    rows = _single(needed(indices, "indices", _INDICES), (x, y))
    outcomes = list(dict.fromkeys(rows["outcome"]))
    figure, panels = _panels(1, len(outcomes), 3.4, 3.3)
    for panel, outcome in zip(panels[0], outcomes, strict=True):
        mine = rows[rows["outcome"] == outcome].set_index(["index", "input"])
        right, up = mine.loc[x], mine.loc[y].reindex(mine.loc[x].index)
        look = {"fmt": "o", "color": _COLOURS[0], "ecolor": "0.45", "elinewidth": 1.0, "markersize": 5}
        panel.errorbar(right["value"], up["value"], xerr=_halves(right), yerr=_halves(up), **look)
        for name in right.index:
            at = (right.loc[name, "value"], up.loc[name, "value"])
            panel.annotate(shorten(name, 22), at, xytext=(5, 5), textcoords="offset points", fontsize="small")
        if diagonal:
            most = float(np.nanmax([right["value"].max(), up["value"].max(), 0.0]))
            panel.plot([0, most], [0, most], color="0.5", linewidth=0.9, linestyle="--", zorder=1)
        panel.margins(0.16)
        panel.set_title(shorten(outcome, 40), fontsize="medium")
        panel.set_xlabel(f"{x} index" if diagonal else x)
    panels[0][0].set_ylabel(f"{y} index" if diagonal else y)
    return figure


def effect_curves(curves: pd.DataFrame) -> Figure:
    """A row of panels per outcome, a panel per input: the mean along it, its 95% interval, and the middle 80% of runs.

    Parameters
    ----------
    curves : pd.DataFrame
        One row per outcome, input and slice of it: mean, half its 95% interval, low and high.

    Returns
    -------
    Figure
        The figure.
    """
    rows = needed(curves, "curves", _CURVES)
    outcomes, inputs = (list(dict.fromkeys(rows[name])) for name in ("outcome", "input"))
    figure, panels = _panels(len(outcomes), len(inputs), 2.5, 2.1, sharey="row")
    for line, outcome in zip(panels, outcomes, strict=True):
        for panel, name in zip(line, inputs, strict=True):
            _along(panel, rows[(rows["outcome"] == outcome) & (rows["input"] == name)])
        line[0].set_ylabel(shorten(outcome, 28))
    for panel, name in zip(panels[-1], inputs, strict=True):
        panel.set_xlabel(shorten(name, 28))
    figure.supxlabel("mean over all else, its 95% interval, and the middle 80% of the points", fontsize="small")
    return figure


def _along(panel: Axes, rows: pd.DataFrame) -> None:
    """A line with bands along numbers, whiskers for words."""
    mean, half, low, high = (rows[name].to_numpy(float) for name in ("mean", "±", "low", "high"))
    if pd.api.types.is_numeric_dtype(rows["at"].infer_objects()):
        at = rows["at"].to_numpy(float)
        panel.fill_between(at, low, high, color=_COLOURS[0], alpha=0.16, linewidth=0)
        panel.fill_between(at, mean - half, mean + half, color=_COLOURS[0], alpha=0.4, linewidth=0)
        panel.plot(at, mean, color=_COLOURS[0], linewidth=1.5)
        ratios = [later / earlier for earlier, later in pairwise(at) if earlier > 0]
        if len(ratios) == len(at) - 1 and at[-1] > 10 * at[0]:
            panel.set_xscale("log")
        return
    places = np.arange(len(rows))
    panel.bar(places, high - low, 0.6, bottom=low, color=_COLOURS[0], alpha=0.16, linewidth=0)
    panel.errorbar(places, mean, half, fmt="o", color=_COLOURS[0], markersize=4, capsize=3)
    panel.set_xticks(places, [shorten(str(word), 14) for word in rows["at"]], rotation=20, ha="right", fontsize="small")


def _single(rows: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """The rows of some kinds of index of single inputs."""
    return rows[(rows["with"] == "") & rows["index"].isin(list(kinds))]


def _ranked(rows: pd.DataFrame, kind: str) -> list[Any]:
    """Inputs by the mean of an index over outcomes, the largest first."""
    means = rows[rows["index"] == kind].groupby("input", sort=False)["value"].mean()
    return means.sort_values(ascending=False, kind="stable").index.tolist()


def _halves(rows: pd.DataFrame) -> Any:
    halves = rows["±"].to_numpy(float)
    return halves if np.isfinite(halves).any() else None


def _panels(down: int, across: int, width: float, height: float, **sharing: Any) -> tuple[Figure, Any]:
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        figure = Figure(figsize=(0.8 + width * across, 0.6 + height * down), layout="constrained")
        return figure, figure.subplots(down, across, squeeze=False, **sharing)
