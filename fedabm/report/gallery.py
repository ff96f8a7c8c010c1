"""Which figures a folder gets, from what its frames hold; no scenario has code of its own here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm.analysis import figures
from fedabm.analysis.looks import kind_of
from fedabm.analysis.rows import UNITS, how_many, last_step
from fedabm.report.images import Inline, from_figure
from fedabm.report.source import Source

__all__ = ["gallery"]

_MOST_PARAMETERS = 4


def gallery(source: Source) -> Iterator[Inline]:
    """All figures that the frames allow, one after the other."""
    if not source.federated:
        yield from _other_models(source)
        return
    if source.frames.owners.empty or source.frames.steps.empty:
        return
    yield _compared(source)
    yield from _parameters(source)
    yield from _over_time(source)
    yield _against_contribution(source)
    yield _accuracy_utility(source)
    yield _utilities(source)
    yield from _money(source)
    yield from _rest(source)


def _named(source: Source) -> str:
    return "run" if source.by == "label" else "mechanism"


def _values(source: Source, frame: pd.DataFrame, column: str) -> str:
    """The means by group in words."""
    runs = source.frames.runs.set_index("run")
    names = runs["label"] if source.by == "label" else runs["mechanism"].astype(str).map(kind_of)
    means = last_step(frame).groupby(frame["run"].map(names), sort=False)[column].mean()
    return "; ".join(f"{name} {value:.4g}" for name, value in means.items())


def _compared(source: Source) -> Inline:
    columns = ("welfare", "contribution", "accuracy")
    steps = source.frames.steps
    groups = steps["run"].map(source.frames.runs.set_index("run")[source.by].astype(str).map(_short(source))).nunique()
    figure = _row(len(columns), width=2.6 + 0.35 * groups)
    for panel, column in zip(figure.axes, columns, strict=True):
        figures.mechanism_bars(source.frames, column, source.by, ax=panel)
    words = "; ".join(f"mean {column}: {_values(source, steps, column)}" for column in columns)
    alt = f"Three bar charts, one bar per {_named(source)}, at the last step. {words}."
    caption = "Bars are means over runs, whiskers standard deviations, dots single runs."
    return from_figure(figure, f"Outcomes by {_named(source)}", alt, caption)


def _short(source: Source) -> object:
    return kind_of if source.by == "mechanism" else str


def _row(count: int, width: float = 3.4, height: float = 3.3) -> Figure:
    with sns.axes_style("whitegrid"), sns.plotting_context("paper", font_scale=1.05):
        figure, _ = plt.subplots(1, count, figsize=(width * count, height), layout="constrained")
    return figure


def _parameters(source: Source) -> Iterator[Inline]:
    """One figure per parameter of a sweep that holds numbers."""
    runs = source.frames.runs
    numeric = [name for name in source.varied if pd.api.types.is_numeric_dtype(runs[name])]
    for name in numeric[:_MOST_PARAMETERS]:
        panel = figures.welfare_against(source.frames, name, by="mechanism")
        low, high = runs[name].min(), runs[name].max()
        shown = name.removeprefix("parameter_")
        alt = f"Line chart of welfare at the last step against {shown}, from {low:.4g} to {high:.4g}, by mechanism."
        caption = "Lines are means, bands 95% confidence intervals over all runs with that value, whatever else varied."
        yield from_figure(panel, f"Welfare against {shown}", alt, caption)


def _over_time(source: Source) -> Iterator[Inline]:
    """Contributions over the steps, or where these stay as they are, as in training, accuracies."""
    owners = source.frames.owners
    if owners["step"].nunique() < 2:
        return
    varied = owners.groupby(["run", "owner"])[["contribution", "accuracy"]].nunique().max() > 1
    learning = varied["accuracy"] and not varied["contribution"]
    column, title = ("accuracy", "Accuracies") if learning else ("contribution", "Contributions")
    figure = figures.side_by_side(source.frames, partial(figures.contributions_over_time, column=column), source.by)
    last = last_step(owners)
    means = last.groupby(last["strategy"].astype(str))[column].mean()
    words = "; ".join(f"{name} {value:.4g}" for name, value in means.items())
    most = owners["step"].max()
    alt = f"Line charts of {title.lower()} over steps 1 to {most}. Means over all runs at the end: {words}."
    caption = "Lines are means over owners by strategy, bands hold the middle 80% of owners."
    yield from_figure(figure, f"{title} over time", alt, caption)


def _against_contribution(source: Source) -> Inline:
    figure = figures.side_by_side(source.frames, figures.against_contribution, source.by)
    alt = f"Scatter plots of utility against contribution at the last step, {how_many(source.frames.owners)}."
    caption = f"Every mark is an owner. {UNITS['utility'].capitalize()}; below zero an owner loses by taking part."
    return from_figure(figure, "Utility against contribution", alt, caption)


def _accuracy_utility(source: Source) -> Inline:
    panel = figures.accuracy_utility(source.frames, source.by)
    alt = f"Scatter plot of accuracy against utility by {_named(source)}. Mean utility: {_means(source, 'utility')}."
    caption = "Every mark is an owner, rings are means, ellipses one standard deviation around them."
    return from_figure(panel, "Accuracy against utility", alt, caption)


def _utilities(source: Source) -> Inline:
    panel = figures.utility_distribution(source.frames, by=source.by)
    alt = f"Box plots of utilities by {_named(source)}. Mean utility: {_means(source, 'utility')}."
    caption = "Boxes hold the middle half of owners, whiskers 90%; left of zero an owner would do better to stay away."
    return from_figure(panel, "How utilities are spread", alt, caption)


def _means(source: Source, column: str) -> str:
    return _values(source, source.frames.owners, column)


def _money(source: Source) -> Iterator[Inline]:
    """The money graph of the run in which most money moved."""
    sums = source.frames.transfers.groupby("run")["amount"].sum()
    if sums.empty or not sums.max() > 0:
        return
    run = sums.idxmax()
    part = figures.of_runs(source.frames, [run])
    panel = figures.money_graph(part.transfers, part.owners)
    label = part.runs["label"].iloc[0]
    alt = f"Graph of payments in run {run}, {label}: {len(part.transfers)} transfers, {sums[run]:.4g} in all."
    caption = (
        f"Run {run}, {label}, where most money moved; all recorded steps together. Hollow: neither pays nor is paid."
    )
    yield from_figure(panel, "Who pays whom", alt, caption)


def _rest(source: Source) -> Iterator[Inline]:
    if source.frames.steps["step"].nunique() < 2 or "moved" not in source.frames.steps:
        return
    panel = figures.convergence(source.frames, source.by)
    good = int(source.done["converged"].fillna(False).astype(bool).sum())
    alt = f"Line chart of the largest move per step on a logarithmic axis; {good} of {len(source.done)} runs converged."
    yield from_figure(panel, "Coming to rest", alt, "One line per run; crosses are the certified gaps at the end.")


def _other_models(source: Source) -> Iterator[Inline]:
    """Model reporters of any Mesa model over its steps."""
    steps = source.frames.steps
    columns = [name for name in steps.select_dtypes("number") if name not in ("run", "step")][:4]
    if steps.empty or not columns:
        return
    figure = _row(len(columns))
    for panel, column in zip(figure.axes, columns, strict=True):
        sns.lineplot(steps, x="step", y=column, units="run", estimator=None, color="#0173b2", alpha=0.5, ax=panel)
        panel.set_xlabel(f"step\n{how_many(steps[['run']])}")
    ends = "; ".join(f"{column} {last_step(steps)[column].mean():.4g}" for column in columns)
    alt = f"Line charts of the model's reporters over its steps. Means at the end: {ends}."
    yield from_figure(figure, "Model reporters over time", alt, "One line per run.")
