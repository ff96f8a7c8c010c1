"""Figures that take frames and return axes: one palette by strategy and mechanism, readable without colour vision."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm.frames import Frames

__all__ = ["last_step", "owner_bars", "strategy_colours"]

_COLOURS = sns.color_palette("colorblind")
_STRATEGIES = ("best_response", "gradient_response", "honest", "free_rider", "liar", "quitter", "random", "fixed_share")


def strategy_colours(labels: list[str]) -> dict[str, tuple[float, float, float]]:
    """One colour per strategy, the same in every figure; a wrapper has its own colour."""
    known = {name: _COLOURS[i] for i, name in enumerate(_STRATEGIES)}
    spare = iter(_COLOURS[len(_STRATEGIES) :])
    return {label: known.get(label.split("(")[0]) or next(spare, (0.5, 0.5, 0.5)) for label in labels}


def last_step(owners: pd.DataFrame) -> pd.DataFrame:
    """The rows of each run's last step."""
    return owners[owners["step"] == owners.groupby("run")["step"].transform("max")]


def owner_bars(frames: Frames, columns: dict[str, str], axis: str = "owner") -> Figure:
    """One row of panels per run, one column per quantity, one bar per owner, coloured by strategy.

    `columns` maps a column of the owners frame to its title; `axis` says what the owners are ordered by.
    """
    final = last_step(frames.owners)
    labels = [label for label in final["strategy"].cat.categories if (final["strategy"] == label).any()]
    colours = strategy_colours(labels)
    sns.set_theme(style="whitegrid", context="paper")
    size = (3.4 * len(columns), 2.3 * len(frames.runs))
    figure, axes = plt.subplots(len(frames.runs), len(columns), figsize=size, sharex=True, sharey="col", squeeze=False)
    for panel, title in zip(axes[0], columns.values(), strict=True):
        panel.set_title(title)
    for panels, run in zip(axes, frames.runs.itertuples(), strict=True):
        rows = final[final["run"] == run.run].set_index("owner")
        for panel, column in zip(panels, columns, strict=True):
            panel.bar(np.arange(len(rows)), rows[column], color=[colours[label] for label in rows["strategy"]])
            panel.axhline(0, color="0.3", linewidth=0.8)
            panel.set_xticks(np.arange(len(rows)), rows.index)
        panels[0].set_ylabel(run.label)
    for panel in axes[-1]:
        panel.set_xlabel(axis)
    handles = [plt.Rectangle((0, 0), 1, 1, color=colours[label]) for label in labels]
    figure.legend(handles, labels, loc="lower center", ncol=len(labels), bbox_to_anchor=(0.5, -0.06), frameon=False)
    figure.tight_layout()
    return figure
