"""Runs of markets and their rivals, summed up over rounds as iPFL 2025 does, with their spread over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm.results.frames import Frames

__all__ = ["accuracy_against_utility", "by_label", "comparison_picture", "owner_sums", "run_summary", "utility_picture"]

_COLOURS = sns.color_palette("colorblind").as_hex()
_MARKERS = ("o", "s", "^", "v", "P", "X", "D", "p", "*")


def owner_sums(frames: Frames) -> pd.DataFrame:
    """One row per run and owner: utility, gain, cost and payment over all rounds, accuracy in the last.

    An owner that has left keeps its best model, so that is its accuracy.
    """
    owners = frames.owners
    sums = owners.groupby(["run", "owner"])[["utility", "gain", "cost", "payment", "imports", "exports"]].sum()
    last = owners[owners["step"] == owners.groupby("run")["step"].transform("max")].set_index(["run", "owner"])
    kept = np.where(last["stayed"], last["accuracy"], last["best_accuracy"])
    told = last[["role", "stayed", "capacity"]].assign(accuracy=kept, best=last["best_accuracy"])
    table = sums.join(told).reset_index()
    return table.merge(frames.runs[["run", "label", "seed"]], on="run")


def run_summary(frames: Frames) -> pd.DataFrame:
    """One row per run: means over its owners, and the share of owners that lost by taking part."""
    owners = owner_sums(frames)
    owners["negative"] = owners["utility"] < -1e-9
    means = owners.groupby(["run", "label", "seed"], sort=False)
    return means[["accuracy", "best", "utility", "negative", "imports", "payment"]].mean().reset_index()


def by_label(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Mean and sample standard deviation over the runs of each label, and how many runs that are."""
    groups = table.groupby("label", sort=False)
    parts: dict[str, pd.Series] = {"seeds": groups.size()}
    for column in columns:
        parts[column], parts[f"{column} s.d."] = groups[column].mean(), groups[column].std()
    return pd.DataFrame(parts).reset_index()


def accuracy_against_utility(panel: plt.Axes, table: pd.DataFrame, title: str) -> None:
    """One mark per rule with bars of one standard deviation over seeds; up and to the right is better."""
    shown = by_label(table, ["utility", "accuracy"])
    for place, row in enumerate(shown.to_dict("records")):
        panel.errorbar(
            row["utility"],
            100 * row["accuracy"],
            xerr=row["utility s.d."],
            yerr=100 * row["accuracy s.d."],
            color="black" if row["label"] == "iPFL" else _COLOURS[place % len(_COLOURS)],
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=11 if row["label"] == "iPFL" else 7,
            label=row["label"],
            capsize=2,
            linewidth=1,
            linestyle="none",
        )
    panel.axvline(0.0, color="0.3", linewidth=0.8)
    panel.set(title=title, xlabel="utility, mean over owners (all rounds)", ylabel="accuracy, last round (%)")


def comparison_picture(table: pd.DataFrame, splits: Sequence[str], words: str) -> Figure:
    """One panel per partition of the data; `table` has a row per run with its `split`."""
    sns.set_theme(style="whitegrid", context="paper", font_scale=1.05)
    figure, panels = plt.subplots(1, len(splits), figsize=(4.0 * len(splits), 3.8), squeeze=False)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    for panel, split in zip(panels[0], splits, strict=True):
        accuracy_against_utility(panel, table[table["split"] == split], split)
    handles, labels = panels[0][0].get_legend_handles_labels()
    columns = min(len(labels), 3 * len(splits))
    figure.legend(handles, labels, loc="outside lower center", ncol=columns, frameon=False)
    figure.suptitle(words, fontsize="medium")
    return figure


def utility_picture(owners: pd.DataFrame, words: str) -> Figure:
    """How utilities over all rounds are spread over owners, rule by rule; left of zero an owner lost by taking part."""
    sns.set_theme(style="whitegrid", context="paper", font_scale=1.05)
    labels = list(dict.fromkeys(owners["label"]))
    figure, panel = plt.subplots(figsize=(7.0, 0.55 * len(labels) + 1.4), layout="constrained")
    shared = {"x": "utility", "y": "label", "order": labels, "hue": "label", "hue_order": labels, "legend": False}
    palette = {label: _COLOURS[place % len(_COLOURS)] for place, label in enumerate(labels)}
    sns.boxplot(owners, palette=palette, width=0.6, showfliers=False, boxprops={"alpha": 0.45}, ax=panel, **shared)
    sns.stripplot(owners, palette=palette, size=3.5, jitter=0.2, edgecolor="0.2", linewidth=0.3, ax=panel, **shared)
    panel.axvline(0.0, color="0.2", linewidth=1.0)
    lost = owners.assign(lost=owners["utility"] < -1e-9).groupby("label")["lost"].mean()
    panel.set_yticks(np.arange(len(labels)), [f"{label}\n{100 * lost[label]:.0f}% lose" for label in labels])
    panel.set(xlabel="utility of an owner over all rounds", ylabel="", title=words)
    return figure
