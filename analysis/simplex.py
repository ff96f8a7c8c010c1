"""How mixtures of three strategies change: arrows on a triangle, one panel per mechanism.

A frame of flows has one row per mechanism and point, with the shares of the strategies in the columns `share NAME` and
their velocities in `flow NAME`; a frame of ends has the shares and the column `basin`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.analysis.looks import strategy_looks
from fedabm.common.errors import InputError

__all__ = ["simplex_flow"]

#: left, right and upper corner of the triangle
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])


def simplex_flow(flows: pd.DataFrame, ends: pd.DataFrame) -> Figure:
    """One triangle per mechanism: arrows lead to what earns more, black dots are where mixtures end.

    Parameters
    ----------
    flows : pd.DataFrame
        Arrows: where they start and where they lead, by mechanism.
    ends : pd.DataFrame
        Where mixtures end, by mechanism.

    Returns
    -------
    Figure
        The figure.
    """
    names = [column.removeprefix("share ") for column in flows if column.startswith("share ")]
    if len(names) != 3:
        raise InputError(f"a triangle shows three strategies, got {len(names)}; give three of them")
    mechanisms = list(dict.fromkeys(flows["mechanism"]))
    wide = min(len(mechanisms), 3)
    high = -(-len(mechanisms) // wide)
    figure, panels = plt.subplots(high, wide, figsize=(4.2 * wide, 4.1 * high), squeeze=False, layout="constrained")
    for axes in panels.flat[len(mechanisms) :]:
        axes.set_visible(False)
    for axes, mechanism in zip(panels.flat, mechanisms, strict=False):
        mine = flows[flows["mechanism"] == mechanism], ends[ends["mechanism"] == mechanism]
        _panel(axes, *mine, names)
        axes.set_title(mechanism)
    told = "arrows: what earns more spreads (bright: fast); black: where mixtures end, with the share of starts"
    figure.supxlabel(told, size=8)
    return figure


def _panel(axes: Axes, flows: pd.DataFrame, ends: pd.DataFrame, names: list[str]) -> None:
    shares = [f"share {name}" for name in names]
    points = flows[shares].to_numpy() @ _CORNERS
    moves = flows[[f"flow {name}" for name in names]].to_numpy() @ _CORNERS
    speed = np.hypot(*moves.T)
    arrows = np.divide(moves, speed[:, None], out=np.zeros_like(moves), where=speed[:, None] > 0)
    axes.plot(*_CORNERS[[0, 1, 2, 0]].T, color="0.6", linewidth=1)
    axes.quiver(
        *points.T, *arrows.T, speed, cmap="cividis", angles="xy", pivot="mid", scale=22, width=0.006, headwidth=4
    )
    looks = strategy_looks(names)
    for corner, name, where in zip(_CORNERS, names, ("right", "left", "center"), strict=True):
        look = looks[name]
        axes.plot(*corner, marker=look.marker, color=look.colour, markersize=8, clip_on=False)
        axes.annotate(
            name.replace("_", " "),
            corner,
            xytext=(0, 12 if where == "center" else -16),
            textcoords="offset points",
            ha="center",
            annotation_clip=False,
        )
    for _, end in ends.iterrows():
        place = end[shares].to_numpy(dtype=float) @ _CORNERS
        axes.plot(*place, "o", color="black", markersize=5 + 11 * end["basin"], mec="white", clip_on=False, zorder=5)
        axes.annotate(
            f"{end['basin']:.0%}",
            place,
            xytext=(11, -4),
            textcoords="offset points",
            ha="left",
            annotation_clip=False,
            zorder=6,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    axes.set(xlim=(-0.12, 1.16), ylim=(-0.14, 1.0), aspect="equal")
    axes.axis("off")
