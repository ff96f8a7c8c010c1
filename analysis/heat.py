"""Tables as heat maps: gains and reciprocity by mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from fedabm.analysis.looks import new_panel
from fedabm.analysis.rows import grouped, last_step, needed, nothing_to_show, numbers
from fedabm.common.errors import InputError, nearest
from fedabm.results.frames import Frames

__all__ = ["gain_table", "heat_table"]


def gain_table(frames: Frames, baseline: str, by: str = "label") -> pd.DataFrame:
    """Contribution, accuracy and welfare of each group of runs at the last step, as multiples of the baseline's.

    Data gain and accuracy gain of Murhekar et al. 2025, Definitions 3.6 and 3.7, on means over runs.  A column
    `reciprocity` may be added by hand: it needs Shapley shares (`fedabm.solving.metrics.reciprocity`), which no frame
    holds.
    """
    rows = grouped(frames, "steps", ["step", "contribution", "accuracy", "welfare"], by)
    rows = last_step(rows)
    means = rows.groupby("group", sort=False)[["contribution", "accuracy", "welfare"]].mean()
    if baseline not in means.index:
        raise InputError(f"no runs are called {baseline!r}; {nearest(baseline, map(str, means.index))}")
    base = means.loc[baseline].replace(0.0, np.nan)
    table = (means / base).rename(columns={name: f"{name} gain" for name in means})
    return (
        table.rename_axis(by).reset_index().assign(runs=rows.groupby("group", sort=False)["run"].nunique().to_numpy())
    )


def heat_table(table: pd.DataFrame, rows: str, columns: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """A table as a heat map with its numbers in it: one line per entry of `rows`, one column per measure.

    Shades compare within a column, from its least to its largest value, because the columns have different units.
    """
    needed(table, "table", [rows, *(columns or [])])
    chosen = list(columns or [c for c in table.columns if c != rows and pd.api.types.is_numeric_dtype(table[c])])
    ax = new_panel(ax, width=1.8 + 1.15 * max(len(chosen), 2), height=1.3 + 0.42 * max(len(table), 2))
    if table.empty or not chosen:
        return nothing_to_show(ax, "measure", rows)
    values = table.set_index(table[rows].astype(str))[chosen].astype(float)
    finite = values.where(np.isfinite(values))
    width = (finite.max() - finite.min()).replace(0.0, np.nan)
    shades = ((finite - finite.min()) / width).fillna(0.5)
    texts = values.map(lambda value: f"{value:.3g}")
    sns.heatmap(shades, annot=texts, fmt="", cmap="cividis", cbar=False, vmin=0, vmax=1, linewidths=1, ax=ax)
    ax.set(xlabel=f"measure (shades within a column)\n{numbers(rows=len(table))}", ylabel=rows)
    ax.tick_params(axis="y", rotation=0)
    return ax
