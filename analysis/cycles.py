"""Where best responses lead: to rest, or round and round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fedabm.analysis.looks import new_panel
from fedabm.analysis.rows import needed, nothing_to_show, numbers
from fedabm.common.errors import InputError
from fedabm.games.curves import Array

__all__ = ["best_response_cycle", "period"]


def period(path: Array, tolerance: float = 1e-9) -> int | None:
    """After how many steps (rows) a path repeats itself at its end: 1 if it rests, None if it does not repeat.

    A period counts if the path runs through it at least twice.

    >>> period(np.array([[0.0], [1.0], [2.0], [1.0], [2.0]])), period(np.array([[1.0], [2.0], [3.0]]))
    (2, None)
    """
    for length in range(1, len(path) // 2 + 1):
        if np.allclose(path[-length:], path[-2 * length : -length], rtol=0.0, atol=tolerance):
            return length
    return None


def best_response_cycle(owners: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Contributions by owner and step, as shares of capacity, with the cycle that is repeated at the end framed.

    The title says how long the cycle is, that the run came to rest, or that no repetition was found.

    Parameters
    ----------
    owners : pd.DataFrame
        The frame of owners of one run.
    ax : Axes | None, optional
        Where to draw; by default new axes.

    Returns
    -------
    Axes
        The axes.
    """
    needed(owners, "owners", ["run", "step", "owner", "contribution", "capacity"])
    ax = new_panel(ax, width=6.4)
    if owners.empty:
        return nothing_to_show(ax, "step", "owner")
    if owners["run"].nunique() > 1:
        raise InputError(
            f"a cycle is that of one run, got {owners['run'].nunique()}; choose one, such as owners[run == 0]"
        )
    shares = owners.assign(share=owners["contribution"] / owners["capacity"])
    grid = shares.pivot(index="owner", columns="step", values="share").astype(float)
    label = {"label": "contribution (share of capacity)"}
    few = grid.size <= 120
    sns.heatmap(grid, cmap="cividis", vmin=0, annot=few, fmt=".2g", cbar_kws=label, rasterized=not few, ax=ax)
    length = period(grid.to_numpy().T)
    if length is not None and length > 1:
        ax.add_patch(Rectangle((grid.shape[1] - length, 0), length, len(grid), fill=False, edgecolor="#d55e00", lw=3))
    ax.set_title(_words(length, grid.shape[1]))
    ax.set(xlabel=f"step\n{numbers(steps=grid.shape[1])}", ylabel=f"owner\n{numbers(owners=len(grid))}")
    ax.tick_params(axis="y", rotation=0)
    return ax


def _words(length: int | None, steps: int) -> str:
    if length is None:
        return f"no repetition within {steps} steps"
    return "comes to rest" if length == 1 else f"repeats the same {length} steps (framed)"
