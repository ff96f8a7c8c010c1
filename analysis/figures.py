"""Figures that take frames and return axes; this module holds them all.

    from fedabm.analysis.figures import contributions_over_time
    axes = contributions_over_time(fedabm.load("my_run"))
    axes.figure.savefig("contributions.png")

Every strategy and mechanism has one look in all figures (`fedabm.analysis.looks`); every axis says what it shows, in
which unit and of how many owners or runs.  Frames without rows give empty axes that say so; frames that lack columns
are refused with one line that says which, and which version wrote them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.analysis.bars import owner_bars
from fedabm.analysis.cycles import best_response_cycle
from fedabm.analysis.distributions import accuracy_utility, utility_distribution
from fedabm.analysis.heat import gain_table, heat_map, heat_maps, heat_table
from fedabm.analysis.looks import kind_of, mechanism_looks, strategy_colours, strategy_looks
from fedabm.analysis.networks import collaboration_graph, money_by_strategy, money_graph
from fedabm.analysis.outcomes import against_contribution, mechanism_bars, welfare_against
from fedabm.analysis.over_time import contributions_over_time, convergence
from fedabm.analysis.rows import last_step, needed
from fedabm.analysis.shaping import offer_frame, value_shaping
from fedabm.common.errors import check_whole
from fedabm.common.texts import visible
from fedabm.results.frames import COLUMNS, Frames, shorten

__all__ = [
    "accuracy_utility",
    "against_contribution",
    "best_response_cycle",
    "collaboration_graph",
    "contributions_over_time",
    "convergence",
    "gain_table",
    "heat_map",
    "heat_maps",
    "heat_table",
    "last_step",
    "mechanism_bars",
    "mechanism_looks",
    "money_by_strategy",
    "money_graph",
    "of_runs",
    "offer_frame",
    "owner_bars",
    "side_by_side",
    "strategy_colours",
    "strategy_looks",
    "utility_distribution",
    "value_shaping",
    "welfare_against",
]


def of_runs(frames: Frames, runs: list[int]) -> Frames:
    """The frames of some runs only.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    runs : list[int]
        Their numbers.

    Returns
    -------
    Frames
        Their frames.
    """
    parts = {name: getattr(frames, name) for name in COLUMNS}
    return Frames(**{name: part[part["run"].isin(runs)] for name, part in parts.items()})


def side_by_side(
    frames: Frames,
    draw: Callable[..., Axes],
    by: str = "label",
    most: int = 12,
    width: float = 3.6,
    height: float = 3.4,
) -> Figure:
    """The same figure for each group of runs, one panel each on common axes; at most this many groups.

    `draw` takes frames and `ax`, for instance `contributions_over_time`.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    draw : Callable[..., Axes]
        A figure that takes frames and `ax`.
    by : str, optional
        The column of `runs` or `owners` that tells groups apart.
    most : int, optional
        How many groups are shown at most.
    width : float, optional
        Of a panel, in inches.
    height : float, optional
        Of a panel, in inches.

    Returns
    -------
    Figure
        The figure.
    """
    check_whole("most", most)
    runs = needed(frames.runs, "runs", ["run", by])
    groups = runs.groupby(runs[by].map(kind_of) if by == "mechanism" else runs[by], sort=False)["run"]
    chosen = list(groups)[:most]
    with sns.axes_style("whitegrid"), sns.plotting_context("paper", font_scale=1.05):
        columns = int(np.clip(len(chosen), 1, 4))
        rows = max(-(-len(chosen) // columns), 1)
        figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), sharey=True, squeeze=False)
        figure.set_layout_engine("constrained")
    panels = list(axes.ravel()[: max(len(chosen), 1)])
    for spare in axes.ravel()[len(panels) :]:
        spare.remove()
    for place, (panel, (name, members)) in enumerate(zip(panels, chosen, strict=False)):
        draw(of_runs(frames, list(members)), ax=panel)
        title = shorten(visible(str(name)), 40)
        panel.set_title(title if len(chosen) == len(groups) else f"{title}\n({len(chosen)} of {len(groups)} shown)")
        if place % columns:
            panel.set_ylabel("")
    _one_legend(figure, panels)
    return figure


def _one_legend(figure: Figure, panels: list[Axes]) -> None:
    """The entries of all panels once, below them."""
    found: dict[str, Any] = {}
    for panel in panels:
        found |= {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
        if panel.get_legend() is not None:
            panel.get_legend().remove()
    if found:
        columns = min(len(found), 2 * min(len(panels), 4))
        names = [shorten(name, 40) for name in found]
        figure.legend(found.values(), names, loc="outside lower center", ncol=columns, frameon=False)
