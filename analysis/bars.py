"""One bar per owner, a row of panels per run: who contributes, pays and gains."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fedabm.analysis.looks import Look, strategy_looks
from fedabm.analysis.rows import called, last_step, needed, numbers
from fedabm.common.texts import visible
from fedabm.results.frames import Frames, shorten

__all__ = ["owner_bars"]

#: owners that are named below the bars; of more, every second, third, ...
_NAMED = 12


def owner_bars(frames: Frames, columns: dict[str, str], axis: str = "owner") -> Figure:
    """One row of panels per run, one column per quantity, one bar per owner, coloured by strategy.

    `columns` maps a column of the owners frame to its title; `axis` says what the owners are ordered by.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    columns : dict[str, str]
        Titles by column of the owners' frame.
    axis : str, optional
        What owners are ordered by.

    Returns
    -------
    Figure
        The figure.
    """
    needed(frames.owners, "owners", ["run", "step", "owner", "strategy", *columns], frames.runs)
    final = last_step(frames.owners)
    looks = strategy_looks(sorted(final["strategy"].astype(str).unique()))
    sns.set_theme(style="whitegrid", context="paper")
    rows = max(len(frames.runs), 1)
    size = (3.4 * len(columns), 2.3 * rows)
    figure, axes = plt.subplots(rows, len(columns), figsize=size, sharex=True, sharey="col", squeeze=False)
    for panel, title in zip(axes[0], columns.values(), strict=True):
        panel.set_title(title)
    for panels, run in zip(axes, frames.runs.itertuples(), strict=False):
        mine = final[final["run"] == run.run]
        for panel, column in zip(panels, columns, strict=True):
            _bars(panel, mine, column, looks)
        panels[0].set_ylabel(visible(str(run.label)))
    owners = len(final[["run", "owner"]].drop_duplicates()) // rows
    for panel in axes[-1]:
        panel.set_xlabel(f"{axis} ({numbers(owners=owners)})")
    _legend(figure, looks)
    figure.tight_layout()
    return figure


def _bars(panel: Axes, owners: pd.DataFrame, column: str, looks: Mapping[str, Look]) -> None:
    """The owners of one run side by side."""
    for label, part in owners.assign(place=np.arange(len(owners))).groupby(owners["strategy"].astype(str)):
        look = looks[str(label)]
        panel.bar(part["place"], part[column], color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0)
    panel.axhline(0, color="0.3", linewidth=0.8)
    panel.grid(visible=False, axis="x")
    spaced = np.arange(0, len(owners), -(-len(owners) // _NAMED) or 1)
    names = list(called(owners).values())
    long = max(map(len, names), default=0) > 3
    panel.set_xticks(spaced, [shorten(names[place], 24) for place in spaced])
    panel.tick_params(axis="x", rotation=40 if long else 0)
    plt.setp(panel.get_xticklabels(), ha="right" if long else "center", rotation_mode="anchor" if long else "default")


def _legend(figure: Figure, looks: Mapping[str, Look]) -> None:
    """Colour and hatch of every strategy, below all panels."""
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=look.colour, hatch=look.hatch, edgecolor="white") for look in looks.values()
    ]
    if handles:
        anchor = {"loc": "lower center", "bbox_to_anchor": (0.5, -0.06), "frameon": False}
        figure.legend(handles, list(looks), ncol=min(len(looks), 5), **anchor)
