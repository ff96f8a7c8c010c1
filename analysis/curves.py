"""Panels for curves: values and offers against contributions, totals against parameters, in one style."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fedabm.games.curves import Array, Curve
from fedabm.games.offers import Offers

__all__ = [
    "COLOURS",
    "LINES",
    "dress",
    "focus",
    "mark",
    "offer_curves",
    "panels",
    "powers",
    "seeds_of",
    "shared_legend",
    "thousands",
]

#: readable without colour vision; lines that meet in a panel differ in their dashes as well
COLOURS = sns.color_palette("colorblind").as_hex()
#: this many values below a panel are named
_NAMED = 5
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_HALO = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}


def panels(count: int, rows: int = 1, width: float = 3.6, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """A figure with this many panels of equal size, row by row.

    Parameters
    ----------
    count : int
        How many panels.
    rows : int, optional
        In how many rows.
    width : float, optional
        Of a panel, in inches.
    height : float, optional
        Of a panel, in inches.

    Returns
    -------
    tuple[Figure, list[Axes]]
        The figure and its panels.
    """
    sns.set_theme(style="whitegrid", context="paper", font_scale=1.05)
    columns = -(-count // rows)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    for spare in axes.ravel()[count:]:
        spare.remove()
    return figure, list(axes.ravel()[:count])


def dress(panel: Axes, title: str, x: str, y: str, legend: Any = None) -> None:
    """Title, axes and, where wanted, a legend at that place of the panel.

    Parameters
    ----------
    panel : Axes
        The axes that are drawn on.
    title : str
        Above the panel.
    x : str
        Below the x-axis.
    y : str
        Beside the y-axis.
    legend : Any, optional
        Where the legend goes; None: there is none.
    """
    panel.set_title(title)
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.grid(visible=True, which="major", color="0.9", linewidth=0.7)
    if legend:
        panel.legend(loc=legend, frameon=True, framealpha=0.9, edgecolor="none", handlelength=2.4)


def focus(panel: Axes, ends: Mapping[str, float], width: float = 0.0) -> None:
    """Cut the y-axis to these values, so that neither wide intervals nor what lies far below flattens the rest.

    Far is more than four times as far below the top as the next one, and than `width`, that of a usual interval; such
    values are named at the bottom of the panel with their numbers, and at least half of all stay.

    Parameters
    ----------
    panel : Axes
        The axes that are drawn on.
    ends : Mapping[str, float]
        Value by name.
    width : float, optional
        Width of a usual interval.
    """
    order = sorted(ends, key=ends.__getitem__)
    top, kept = ends[order[-1]], list(order)
    for place in range(len(order) // 2):
        near = max(top - ends[order[place + 1]], width)
        if top - ends[order[place]] > 4 * near > 0:
            kept = order[place + 1 :]
    height = top - min(ends[name] for name in kept)
    if height > 0:
        panel.set_ylim(top - 1.4 * height, top + 0.4 * height)
    below = [f"{name} {ends[name]:.3g}".replace(" ", "\N{NO-BREAK SPACE}") for name in order if name not in kept]
    if below:
        text = textwrap.fill("below: " + ", ".join(below[:_NAMED]) + (", ..." if below[_NAMED:] else ""), 42)
        note = panel.text(0.02, 0.03, text, transform=panel.transAxes, fontsize="small", bbox=_HALO, zorder=6)
        note.set_in_layout(False)  # the panel keeps its size, however much lies below


def seeds_of(count: int, more: str = "") -> str:
    """How many seeds a picture rests on, in words: "1 seed", "4 seeds, 95% intervals" if `more` than one allows that.

    >>> seeds_of(1, "95% intervals"), seeds_of(4, "95% intervals")
    ('1 seed', '4 seeds, 95% intervals')

    Parameters
    ----------
    count : int
        How many seeds.
    more : str, optional
        What several seeds allow to say.

    Returns
    -------
    str
        The words.
    """
    return "1 seed" if count == 1 else f"{count} seeds, {more}" if more else f"{count} seeds"


def shared_legend(figure: Figure, panel: Axes) -> None:
    """The lines of one panel explained below all panels.

    Parameters
    ----------
    figure : Figure
        The figure.
    panel : Axes
        The panel whose lines are explained.
    """
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False, handlelength=2.8)


def mark(
    panel: Axes, x: float, y: float, text: str, shift: tuple[float, float] = (5, 5), colour: str = "black"
) -> None:
    """A dot with a label beside it; `shift` is in points.

    Parameters
    ----------
    panel : Axes
        The axes that are drawn on.
    x : float
        Where it is.
    y : float
        Where it is.
    text : str
        What stands beside it.
    shift : tuple[float, float], optional
        How far beside, in points.
    colour : str, optional
        A colour as Matplotlib takes it.
    """
    panel.plot([x], [y], marker="o", color=colour, markersize=5, linestyle="none", zorder=5)
    across = "left" if shift[0] >= 0 else "right"
    place: dict[str, Any] = {"xytext": shift, "textcoords": "offset points", "ha": across, "va": "center"}
    panel.annotate(text, (x, y), color=colour, bbox=_HALO, zorder=6, **place)


def offer_curves(panel: Axes, offers: Offers, alone: Curve, contributions: Array) -> None:
    """What the first owner gets for each contribution: returned (red), alone (grey), with everybody's data (green).

    The colours of Karimireddy et al. 2022, Figures 3 and 8; dashes tell them apart without colour vision.

    Parameters
    ----------
    panel : Axes
        The axes that are drawn on.
    offers : Offers
        The curves that owners face.
    alone : Curve
        What the owner has alone.
    contributions : Array
        Where curves are drawn.
    """
    mine, x = offers.take([0]), contributions[None]
    panel.plot(
        contributions, mine.accuracy.value(x)[0], color=COLOURS[2], linestyle="--", label="with everybody's data"
    )
    panel.plot(
        contributions, mine.received.value(x)[0], color=COLOURS[3], linewidth=2.2, label="returned by the mechanism"
    )
    panel.plot(contributions, alone.take([0]).value(x)[0], color="0.55", linestyle="-.", label="alone")


def thousands(axis: str, *axes: Axes) -> None:
    """Ticks such as 10,000 on one axis ('x' or 'y') of the panels.

    Parameters
    ----------
    axis : str
        "x" or "y".
    *axes : Axes
        The panels.
    """
    for panel in axes:
        getattr(panel, f"{axis}axis").set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def powers(
    panel: Axes, x: Array, lines: Mapping[str, Array], *, markers: Sequence[str] = (), colours: Sequence[str] = COLOURS
) -> None:
    """Labelled lines on log-log axes; values of zero are left out.

    Parameters
    ----------
    panel : Axes
        The axes that are drawn on.
    x : Array
        Where lines are drawn.
    lines : Mapping[str, Array]
        Values by label.
    markers : Sequence[str], optional
        One per line.
    colours : Sequence[str], optional
        One per line.
    """
    for turn, (label, y) in enumerate(lines.items()):
        shown = np.where(y > 0, y, np.nan)
        marker = markers[turn] if turn < len(markers) else ""
        panel.plot(x, shown, color=colours[turn % len(colours)], linestyle=LINES[turn % 5], marker=marker, label=label)
    panel.set_xscale("log")
    if any(np.any(y > 0) for y in lines.values()):
        panel.set_yscale("log")
