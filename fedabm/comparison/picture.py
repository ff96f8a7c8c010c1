"""The figure of a comparison, fit to be published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.analysis.looks import Look
from fedabm.analysis.outcomes import aside
from fedabm.analysis.rows import run_looks
from fedabm.common.confidence import ConfidenceIntervals
from fedabm.common.texts import drawable
from fedabm.games.curves import Array
from fedabm.results.frames import Frames, shorten

__all__ = ["draw", "draw_owners"]


def draw(frames: Frames, ends: pd.DataFrame, titles: Mapping[str, str], intervals: ConfidenceIntervals) -> Figure:
    """One panel per measure, one row per mechanism: mean, 95% interval, and every run as a dot.

    `ends` has a row per run, with its label and the measures; `titles` says what these mean.
    """
    labels, seeds = list(dict.fromkeys(ends["label"])), ends["seed"].nunique()
    looks = run_looks(frames, labels, "label")
    measures = list(titles)
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        figure = Figure(figsize=(1.6 + 2.1 * len(measures), 1.1 + 0.42 * len(labels)), layout="constrained")
        panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for panel, name in zip(panels, measures, strict=True):
            for place, label in enumerate(labels):
                values = ends.loc[ends["label"] == label, name].to_numpy(float)
                _row(panel, place, values, looks[label], intervals)
            panel.set_title(_wrapped(titles[name]), fontsize="small")
            panel.tick_params(axis="x", labelsize="small")
            panel.locator_params(axis="x", nbins=4)
            panel.grid(visible=False, axis="y")
        panels[0].set_yticks(range(len(labels)), [drawable(shorten(label, 34)) for label in labels])
        panels[0].invert_yaxis()
        several = means_over(seeds, intervals) if seeds > 1 else "at the end of one run each"
        figure.supxlabel(several, fontsize="small")
    return figure


def means_over(seeds: int, intervals: ConfidenceIntervals) -> str:
    """What bars are, in words."""
    enough = not intervals.lacking(seeds)
    return (
        f"means and 95% intervals over {seeds} seeds" if enough else f"means over {seeds} seeds, too few for intervals"
    )


def draw_owners(
    last: pd.DataFrame, runs: pd.DataFrame, labels: Sequence[str], intervals: ConfidenceIntervals
) -> Figure:
    """What every owner gives, is paid and gains at the end: means over all seeds with 95% intervals, a row per rule.

    Parameters
    ----------
    last
        The owners at the end of every run.
    runs
        Their labels and seeds.
    labels
        The rules, from top to bottom.
    intervals
        How 95% intervals are made.

    Returns
    -------
    The figure; each column of panels has one scale.
    """
    titles = {"contribution": "data given", "payment": "payment", "utility": "utility"}
    labelled = last.assign(label=last["run"].map(runs.set_index("run")["label"].astype(str)))
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        figure = Figure(figsize=(10.2, 1.0 + 2.0 * len(labels)), layout="constrained")
        panels = figure.subplots(len(labels), 3, sharex=True, sharey="col", squeeze=False)
        for row, label in zip(panels, labels, strict=True):
            mine = labelled[labelled["label"] == label]
            for panel, (column, title) in zip(row, titles.items(), strict=True):
                _owner_means(panel, mine.groupby("owner")[column], intervals)
                panel.set_title(title if row is panels[0] else "", fontsize="small")
            row[0].set_ylabel(drawable(shorten(label, 24)), fontsize="small")
        names = last.drop_duplicates("owner").sort_values("owner")
        pairs = zip(names["owner"], names["name"].astype(str), strict=True)
        words = [drawable(shorten(name, 14)) if name else f"{owner}" for owner, name in pairs]
        every = -(-len(words) // 12)
        for panel in panels[-1]:
            panel.set_xticks(range(0, len(words), every), words[::every], rotation=40, ha="right", fontsize="x-small")
        figure.supxlabel(f"owners; {means_over(runs['seed'].nunique(), intervals)}", fontsize="small")
    return figure


def _owner_means(panel: Axes, groups: Any, intervals: ConfidenceIntervals) -> None:
    """A bar and an interval per owner."""
    for place, (_, values) in enumerate(groups):
        known = values.to_numpy(float)
        panel.bar(place, float(np.nanmean(known)), 0.7, color="#0b5a8f", alpha=0.85, linewidth=0)
        if len(known) > 1:
            low, high = intervals(known)
            panel.plot([place, place], [low, high], color="0.1", linewidth=1.2, solid_capstyle="butt", zorder=3)
    panel.axhline(0.0, color="0.3", linewidth=0.8)
    panel.grid(visible=False, axis="x")


def _row(panel: Axes, place: int, values: Array, look: Look, intervals: ConfidenceIntervals) -> None:
    mean = float(np.nanmean(values)) if np.isfinite(values).any() else np.nan
    panel.barh(place, mean, 0.62, color=look.colour, alpha=0.85, linewidth=0)
    if len(values) > 1:
        low, high = intervals(values)
        panel.plot([low, high], [place, place], color="0.1", linewidth=1.4, solid_capstyle="butt", zorder=3)
        panel.scatter(values, place + aside(len(values)), s=6, color="0.1", alpha=0.45, linewidth=0, zorder=3)
    panel.axvline(0.0, color="0.3", linewidth=0.8)


def _wrapped(text: str, width: int = 24) -> str:
    lines = [""]
    for word in text.split():
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < width else [*lines, word]
    return "\n".join(lines)
