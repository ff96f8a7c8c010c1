"""The figure of a comparison, fit to be published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.analysis.looks import Look
from fedabm.analysis.outcomes import aside, confidence
from fedabm.analysis.rows import run_looks
from fedabm.games.curves import Array
from fedabm.results.frames import shorten

if TYPE_CHECKING:
    from fedabm.compare.comparison import Comparison

__all__ = ["draw"]


def draw(comparison: Comparison, measures: Sequence[str]) -> Figure:
    """One panel per measure, one row per mechanism: mean, 95% interval, and every run as a dot."""
    from fedabm.compare.comparison import MEASURES

    labels, ends = comparison.labels, comparison.ends()
    looks = run_looks(comparison.frames, labels, "label")
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        figure = Figure(figsize=(1.6 + 2.1 * len(measures), 1.1 + 0.42 * len(labels)), layout="constrained")
        panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for panel, name in zip(panels, measures, strict=True):
            for place, label in enumerate(labels):
                _row(panel, place, ends.loc[ends["label"] == label, name].to_numpy(float), looks[label])
            panel.set_title(_wrapped(MEASURES[name]), fontsize="small")
            panel.tick_params(axis="x", labelsize="small")
            panel.locator_params(axis="x", nbins=4)
            panel.grid(visible=False, axis="y")
        panels[0].set_yticks(range(len(labels)), [shorten(label, 34) for label in labels])
        panels[0].invert_yaxis()
        several = "means, 95% intervals over" if comparison.seeds > 1 else "at the end of"
        figure.supxlabel(f"{several} {comparison.seeds} {'seeds' if comparison.seeds > 1 else 'run'}", fontsize="small")
    return figure


def _row(panel: Axes, place: int, values: Array, look: Look) -> None:
    mean = float(np.nanmean(values)) if np.isfinite(values).any() else np.nan
    panel.barh(place, mean, 0.62, color=look.colour, alpha=0.85, linewidth=0)
    if len(values) > 1:
        low, high = confidence(values)
        panel.plot([low, high], [place, place], color="0.1", linewidth=1.4, solid_capstyle="butt", zorder=3)
        panel.scatter(values, place + aside(len(values)), s=6, color="0.1", alpha=0.45, linewidth=0, zorder=3)
    panel.axvline(0.0, color="0.3", linewidth=0.8)


def _wrapped(text: str, width: int = 24) -> str:
    lines = [""]
    for word in text.split():
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < width else [*lines, word]
    return "\n".join(lines)
