"""Runs of markets and their rivals, summed up over rounds as iPFL 2025 does, with their spread over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm.analysis.boxes import lying_box
from fedabm.analysis.looks import protocol_looks
from fedabm.analysis.outcomes import aside
from fedabm.common.confidence import confidence
from fedabm.results.frames import Frames

__all__ = [
    "accuracy_against_utility",
    "banded",
    "by_label",
    "comparison_picture",
    "counted",
    "half_width",
    "moved",
    "owner_sums",
    "run_summary",
    "spread_words",
    "utility_picture",
    "utility_spread",
]

#: partitions as the paper writes them
_TITLES = {"niid": "NIID", "cluster": "Cluster", "skew": "Skew", "natural": "natural owners"}


def spread_words(seeds: int, what: str = "bars") -> str:
    """What bars or bands show.

    >>> spread_words(3), spread_words(1)
    ("bars: 95% intervals of the mean of 3 seeds (Student's t)", 'one seed')

    Parameters
    ----------
    seeds : int
        How many seeds.
    what : str, optional
        What is drawn: "bars" or "bands".

    Returns
    -------
    str
        The words.
    """
    return f"{what}: 95% intervals of the mean of {seeds} seeds (Student's t)" if seeds > 1 else counted(seeds)


def half_width(values: pd.Series) -> float:
    """Half of the 95% interval of the mean by Student's t, which takes noise for normal; 0 of a single value.

    Parameters
    ----------
    values : pd.Series
        One number per seed.

    Returns
    -------
    float
        Half the width of the interval.
    """
    low, high = confidence(values, noise="normal")
    return (high - low) / 2 if np.isfinite(low) else 0.0


def counted(seeds: int) -> str:
    """How many seeds, in words.

    Parameters
    ----------
    seeds : int
        How many seeds.

    Returns
    -------
    str
        The words.
    """
    return f"{seeds} seeds" if seeds > 1 else "one seed"


def owner_sums(frames: Frames, length: int | None = None) -> pd.DataFrame:
    """One row per run and owner: utility, gain, cost, payment over all rounds; accuracy, `final` utility in the last.

    With a `length` sums go over `length` rounds, of which the last one is repeated: a run that ends when trade
    has settled stands for a longer one.
    `moved` says how far it has, see `moved`.  An owner that has left keeps its best
    model, so that is its accuracy.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    length : int | None, optional
        Over how many rounds sums go; None: those that were run.

    Returns
    -------
    pd.DataFrame
        One row per run and owner.
    """
    owners, summed = frames.owners, ["utility", "gain", "cost", "payment", "imports", "exports"]
    last = owners[owners["step"] == owners.groupby("run")["step"].transform("max")].set_index(["run", "owner"])
    sums = owners.groupby(["run", "owner"])[summed].sum()
    if length is not None:
        sums += last[summed].mul((length - last["step"]).clip(lower=0), axis=0)
    kept = np.where(last["stayed"], last["accuracy"], last["best_accuracy"])
    told = last[["role", "stayed", "capacity"]].assign(accuracy=kept, best=last["best_accuracy"], final=last["utility"])
    table = sums.join(told).reset_index()
    return table.merge(frames.runs[["run", "label", "seed"]], on="run").merge(moved(owners), on="run")


def moved(owners: pd.DataFrame) -> pd.Series:
    """By run: by how much owners' utilities changed in the last round, as a share of them; 0: trade has settled.

    sum_i |u_i(T) - u_i(T - 1)| / sum_i |u_i(T)|, and 0 where nobody has any.

    Parameters
    ----------
    owners : pd.DataFrame
        The frame of owners.

    Returns
    -------
    pd.Series
        One number per run.
    """
    ends = owners["step"] >= owners.groupby("run")["step"].transform("max") - 1
    changes = owners[ends].groupby(["run", "owner"])["utility"].agg(lambda u: abs(u.iloc[-1] - u.iloc[0]))
    size = owners[ends].groupby(["run", "owner"])["utility"].last().abs().groupby("run").sum()
    return (changes.groupby("run").sum() / size.where(size > 0)).fillna(0.0).rename("moved")


def run_summary(frames: Frames, length: int | None = None) -> pd.DataFrame:
    """One row per run: means over its owners, and the share of owners that lost by taking part.

    Parameters
    ----------
    frames : Frames
        The frames of one or more runs.
    length : int | None, optional
        Over how many rounds sums go; None: those that were run.

    Returns
    -------
    pd.DataFrame
        One row per run.
    """
    owners = owner_sums(frames, length)
    owners["negative"] = owners["utility"] < -1e-9
    means = owners.groupby(["run", "label", "seed"], sort=False)
    columns = ["accuracy", "best", "utility", "final", "negative", "imports", "payment", "moved"]
    return means[columns].mean().reset_index()


def by_label(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Mean and sample standard deviation over the runs of each label, and how many runs that are.

    Parameters
    ----------
    table : pd.DataFrame
        One row per run, with a `label`.
    columns : Sequence[str]
        The columns to average.

    Returns
    -------
    pd.DataFrame
        One row per label.
    """
    groups = table.groupby("label", sort=False)
    parts: dict[str, pd.Series] = {"seeds": groups.size()}
    for column in columns:
        parts[column], parts[f"{column} s.d."] = groups[column].mean(), groups[column].std()
    return pd.DataFrame(parts).reset_index()


def utility_spread(owners: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """By rule: quantiles of owners' utilities over all rounds, the share that loses, and the worst single round.

    `owners` is what `owner_sums` gives, `rounds` the owners' frame.

    Parameters
    ----------
    owners : pd.DataFrame
        What `owner_sums` gives.
    rounds : pd.DataFrame
        The frame of owners.

    Returns
    -------
    pd.DataFrame
        One row per rule.
    """
    groups = owners.groupby("label", sort=False)["utility"]
    table = pd.DataFrame({"owners": groups.size(), "mean": groups.mean(), "s.d.": groups.std(), "least": groups.min()})
    table["median"], table["most"] = groups.median(), groups.max()
    table["lose"] = (owners["utility"] < -1e-9).groupby(owners["label"], sort=False).mean()
    worst = rounds.groupby("run")["utility"].min().rename("worst round")
    by_run = owners.drop_duplicates("run").set_index("run")["label"]
    table["worst round"] = worst.groupby(by_run, sort=False).min()
    table["moved"] = owners.groupby("label", sort=False)["moved"].max()
    return table.reset_index()


def banded(panel: plt.Axes, rows: pd.DataFrame, column: str, **look: Any) -> None:
    """A column's mean over seeds by step, with its 95% interval as a band; one of `rows` per seed and step.

    Parameters
    ----------
    panel : plt.Axes
        The axes that are drawn on.
    rows : pd.DataFrame
        One row per seed and step.
    column : str
        What is drawn.
    **look : Any
        What Matplotlib's `plot` takes.
    """
    steps = rows.groupby("step")[column]
    mean, spread = steps.mean(), steps.agg(half_width)
    panel.plot(mean, markersize=4, **look)
    panel.fill_between(mean.index, mean - spread, mean + spread, color=look["color"], alpha=0.18, linewidth=0)


def accuracy_against_utility(panel: plt.Axes, table: pd.DataFrame, title: str) -> None:
    """One mark per rule with its 95% intervals over seeds; up and to the right is better.

    Parameters
    ----------
    panel : plt.Axes
        The axes that are drawn on.
    table : pd.DataFrame
        One row per run.
    title : str
        Above it.
    """
    looks = protocol_looks(table["label"])
    for label, runs in table.groupby("label", sort=False):
        panel.errorbar(
            runs["utility"].mean(),
            100 * runs["accuracy"].mean(),
            xerr=half_width(runs["utility"]),
            yerr=100 * half_width(runs["accuracy"]),
            color=looks[label].colour,
            marker=looks[label].marker,
            markersize=11 if label == "iPFL" else 7,
            # The market's mark is large: others that lie on it are drawn above.
            zorder=2 if label == "iPFL" else 3,
            alpha=0.85,
            label=label,
            capsize=2,
            linewidth=1,
            linestyle="none",
        )
    panel.axvline(0.0, color="0.3", linewidth=0.8)
    panel.set(title=title, xlabel="utility, mean over owners (all rounds)", ylabel="accuracy, last round (%)")


def comparison_picture(table: pd.DataFrame, splits: Sequence[str], words: str) -> Figure:
    """One panel per partition of the data; `table` has a row per run with its `split`.

    Parameters
    ----------
    table : pd.DataFrame
        One row per run, with its `split`.
    splits : Sequence[str]
        The partitions that are shown.
    words : str
        What the bars show.

    Returns
    -------
    Figure
        The figure.
    """
    sns.set_theme(style="whitegrid", context="paper", font_scale=1.05)
    figure, panels = plt.subplots(1, len(splits), figsize=(4.0 * len(splits), 3.8), squeeze=False)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    for panel, split in zip(panels[0], splits, strict=True):
        accuracy_against_utility(panel, table[table["split"] == split], _TITLES.get(split, split))
    handles, labels = panels[0][0].get_legend_handles_labels()
    columns = min(len(labels), 3 * len(splits))
    figure.legend(handles, labels, loc="outside lower center", ncol=columns, frameon=False)
    figure.suptitle(words, fontsize="medium")
    return figure


def utility_picture(owners: pd.DataFrame, words: str) -> Figure:
    """How utilities over all rounds are spread over owners, rule by rule; left of zero an owner lost by taking part.

    Parameters
    ----------
    owners : pd.DataFrame
        What `owner_sums` gives.
    words : str
        How many seeds that are, in words.

    Returns
    -------
    Figure
        The figure.
    """
    sns.set_theme(style="whitegrid", context="paper", font_scale=1.05)
    labels = list(dict.fromkeys(owners["label"]))
    figure, panel = plt.subplots(figsize=(7.0, 0.55 * len(labels) + 1.4), layout="constrained")
    looks = protocol_looks(labels)
    for place, label in enumerate(labels):
        values = owners.loc[owners["label"] == label, "utility"].to_numpy(dtype=float)
        lying_box(panel, place, values, looks[label].colour, width=0.6)
        style = {"s": 13, "color": looks[label].colour, "edgecolor": "0.2", "linewidth": 0.3, "zorder": 3}
        panel.scatter(values, place + aside(len(values)), **style)
    panel.invert_yaxis()
    panel.grid(visible=False, axis="y")
    panel.axvline(0.0, color="0.2", linewidth=1.0)
    lost = owners.assign(lost=owners["utility"] < -1e-9).groupby("label")["lost"].mean()
    panel.set_yticks(np.arange(len(labels)), [f"{label}\n{100 * lost[label]:.0f}% lose" for label in labels])
    panel.set(xlabel="utility of an owner over all rounds", ylabel="", title=words)
    return figure
