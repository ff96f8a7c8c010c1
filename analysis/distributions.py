"""Figures of how outcomes are spread over owners: accuracy against utility, and utilities by mechanism."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from fedabm.analysis.boxes import lying_box
from fedabm.analysis.looks import Look, new_panel
from fedabm.analysis.outcomes import aside, per_group, scatter
from fedabm.analysis.rows import UNITS, grouped, how_many, last_step, legend_below, nothing_to_show, run_looks
from fedabm.results.frames import Frames, shorten

__all__ = ["accuracy_utility", "utility_distribution"]

#: groups of more owners are shown as boxes only
_DOTS = 500


def accuracy_utility(frames: Frames, by: str = "label", ax: Axes | None = None) -> Axes:
    """Accuracy received against utility, one dot per owner: iPFL 2025, Figure 2.

    Ellipses are one standard deviation around each group's mean (a ring); groups without spread have none.

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
    rows, ax = grouped(frames, "owners", ["step", "owner", "accuracy", "utility"], by), new_panel(ax)
    if rows.empty:
        return nothing_to_show(ax, UNITS["utility"], UNITS["accuracy"])
    rows = last_step(rows)
    looks = run_looks(frames, list(dict.fromkeys(rows["group"])), by)
    scatter(ax, rows, "utility", "accuracy", looks)
    for group, look in looks.items():
        _ellipse(ax, rows.loc[rows["group"] == group, ["utility", "accuracy"]], look)
    ax.axvline(0.0, color="0.3", linewidth=0.8, zorder=1)
    ax.set_xlabel(f"{UNITS['utility']}\n{how_many(rows)}")
    ax.set_ylabel(f"{UNITS['accuracy']}\nrings: means, ellipses: one s.d.")
    legend_below(ax)
    return ax


def _ellipse(ax: Axes, points: pd.DataFrame, look: Look) -> None:
    """The mean and the ellipse of one standard deviation; a spread in one direction only is a line, in none a ring."""
    known = points.dropna().to_numpy(dtype=float)
    if not len(known):
        return
    centre = known.mean(axis=0)
    ring = {"markersize": 14, "markerfacecolor": "none", "markeredgewidth": 1.8, "linestyle": "none"}
    ax.plot(*centre, marker="o", color=look.colour, zorder=5, **ring)
    if len(known) < 3:
        return
    size, turn = np.linalg.eigh(np.cov(known.T))
    wide, high = 2 * np.sqrt(np.maximum(size[::-1], 0.0))
    angle = float(np.degrees(np.arctan2(turn[1, -1], turn[0, -1])))
    line = {"fill": False, "edgecolor": look.colour, "linewidth": 1.4, "linestyle": _stroke(look)}
    ax.add_patch(Ellipse(tuple(centre), wide, high, angle=angle, zorder=4, **line))


def _stroke(look: Look) -> object:
    return (0, look.dashes) if look.dashes else "-"


def utility_distribution(frames: Frames, column: str = "utility", by: str = "label", ax: Axes | None = None) -> Axes:
    """How utilities (or another column of `owners`) are spread at the last step: iPFL 2025, Figure 3.

    Boxes hold the middle half, whiskers 90%, dots are owners (left out in large groups); who lies left of zero
    would do better to stay away.

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
    rows = grouped(frames, "owners", ["step", "owner", column], by)
    if rows.empty:
        return nothing_to_show(new_panel(ax), UNITS.get(column, column), by)
    rows = last_step(rows)
    groups = list(dict.fromkeys(rows["group"]))
    ax = new_panel(ax, height=max(2.4, 1.2 + 0.42 * len(groups)))
    looks = run_looks(frames, groups, by)
    ax.set_yticks(np.arange(len(groups)), [shorten(group, 30) for group in groups])
    for place, group in enumerate(groups):
        values = rows.loc[rows["group"] == group, column]
        lying_box(ax, place, values.to_numpy(dtype=float), looks[group].colour)
        if len(values) <= _DOTS:
            style = {"s": 13, "color": looks[group].colour, "edgecolor": "0.2", "linewidth": 0.3, "zorder": 3}
            ax.scatter(values, place + aside(len(values)), **style)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.axvline(0.0, color="0.3", linewidth=0.8, zorder=1)
    ax.set(xlabel=f"{UNITS.get(column, column)}\n{how_many(rows)}, {per_group(rows)} per box", ylabel="")
    return ax
