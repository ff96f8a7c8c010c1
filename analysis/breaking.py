"""Where a sweep breaks: runs by two parameters, those that meet the condition marked, and the box that holds them."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fedabm.analysis.looks import new_panel
from fedabm.sweep.breaking.found import Breaks

__all__ = ["breaking_box"]

_COLOURS = sns.color_palette("colorblind").as_hex()
#: the room around categories and numbers, in places and as a share of the range
_ROOM, _EDGE = 0.45, 0.03


def breaking_box(found: Breaks, box: int = 0, ax: Axes | None = None) -> Axes:
    """Runs by the first two parameters that a box limits, and the box; parameters that it leaves alone fill up.

    Only runs within the box's other limits are shown, so that what is in the frame is in the box.

    Parameters
    ----------
    found : Breaks
        What `fedabm.sweep.where_it_breaks` gives.
    box : int, optional
        Which box, counted from 0.
    ax : Axes | None, optional
        Where to draw.

    Returns
    -------
    Axes
        The axes.
    """
    ax = new_panel(ax)
    limits = dict(found.boxes[box].limits) if box < len(found.boxes) else {}
    names = [name for name in found.runs if name not in ("breaks", "held_out")]
    x, y = islice([*limits, *(name for name in names if name not in limits), names[0]], 2)
    rows = found.runs
    for name, limit in limits.items():
        rows = rows[limit.holds(rows[name])] if name not in (x, y) else rows
    ends = [_axis(ax, which, rows[name], limits.get(name)) for which, name in (("x", x), ("y", y))]
    for breaks, colour, marker, label in ((False, "0.6", ".", "not met"), (True, _COLOURS[3], "x", "met")):
        some = rows["breaks"] == breaks
        ax.scatter(*(place[some] for place, _, _ in ends), c=colour, marker=marker, s=14, lw=0.8, label=label)
    if limits:
        (_, left, right), (_, low, high) = ends
        frame = Rectangle((left, low), right - left, high - low, fill=False, ec=_COLOURS[0], lw=2, label="box")
        ax.add_patch(frame)
    ax.set(xlabel=x, ylabel=y)
    ax.set_title(f"{found.condition}: {found.boxes[box] if limits else 'no box'} (n = {len(rows):,} runs)", wrap=True)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    return ax


def _axis(ax: Axes, which: str, column: pd.Series, limit: object) -> tuple[pd.Series, float, float]:
    """Where runs lie on an axis, and the ends of the box there."""
    if not pd.api.types.is_numeric_dtype(column):
        known = sorted(column.unique(), key=lambda one: (one not in (getattr(limit, "values", None) or ()), one))
        ax.set(**{f"{which}ticks": range(len(known)), f"{which}ticklabels": known})
        chosen = [place for place, one in enumerate(known) if limit is None or one in getattr(limit, "values", ())]
        jitter = np.linspace(-0.3, 0.3, 7)[np.arange(len(column)) % 7]
        return column.map(known.index) + jitter, min(chosen) - _ROOM, max(chosen) + _ROOM
    low, high = float(column.min()), float(column.max())
    logarithmic = low > 0 and float(column.quantile(0.1)) < 0.05 * high
    if logarithmic:
        getattr(ax, f"set_{which}scale")("log")
    outside = (low / 1.1, high * 1.1) if logarithmic else (low - _EDGE * (high - low), high + _EDGE * (high - low))
    ends = (getattr(limit, "low", -np.inf), getattr(limit, "high", np.inf))
    return column, max(ends[0], outside[0]), min(ends[1], outside[1])
