"""Lying boxes: how values are spread, drawn alike with any version of Matplotlib and seaborn."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from fedabm.games.curves import Array

__all__ = ["lying_box"]


def lying_box(ax: Axes, place: float, values: Array, colour: str, width: float = 0.55) -> None:
    """A box around the middle half of some values with a line at their median, and whiskers that hold 90%.

    Parameters
    ----------
    ax : Axes
        Where to draw; by default new axes.
    place : float
        Where it lies on the y-axis.
    values : Array
        The values.
    colour : str
        A colour as Matplotlib takes it.
    width : float, optional
        Its height, in units of the y-axis.
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return
    least, low, middle, high, most = np.percentile(known, [5, 25, 50, 75, 95])
    ax.barh(place, high - low, width, left=low, color=colour, alpha=0.45, linewidth=0)
    ax.barh(place, high - low, width, left=low, fill=False, edgecolor="0.25", linewidth=1)
    ax.plot([middle, middle], [place - width / 2, place + width / 2], color="0.15", linewidth=1.6, zorder=3)
    for end, edge in ((least, low), (most, high)):
        ax.plot([edge, end], [place, place], color="0.25", linewidth=1, zorder=2)
        ax.plot([end, end], [place - width / 4, place + width / 4], color="0.25", linewidth=1, zorder=2)
