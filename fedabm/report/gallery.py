"""Which figures a folder gets, from what its frames hold; no scenario has code of its own here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm.analysis import figures
from fedabm.analysis.looks import kind_of
from fedabm.analysis.rows import UNITS, how_many, last_step
from fedabm.common.confidence import LEAST
from fedabm.common.texts import drawable, readable
from fedabm.mechanisms.personalised.base import MODEL_IMPORT
from fedabm.report.folder import ResultFolder
from fedabm.report.images import Inline, from_figure
from fedabm.report.tables import text
from fedabm.results.frames import Frames
from fedabm.results.market_graphs import import_table

__all__ = ["gallery"]

_MOST_PARAMETERS = 4
_MOST_PANELS = 4
#: a parameter with more values than this has no heat map
_MOST_VALUES = 24
_MOST_MAPS = 3
#: a column for the settings of the parameters that a figure does not have on its axis
_REST = "all other parameters"


def gallery(source: ResultFolder) -> Iterator[Inline]:
    """All figures that the frames allow, one after the other."""
    source = replace(source, frames=_drawable(source.frames))
    if not source.federated:
        yield from _other_models(source)
        return
    if source.frames.owners.empty or source.frames.steps.empty:
        return
    yield _compared(source)
    yield from _parameters(source)
    yield from _maps(source)
    yield from _over_time(source)
    yield _against_contribution(source)
    yield _accuracy_utility(source)
    yield _utilities(source)
    yield from _money(source)
    yield from _rest(source)


def _drawable(frames: Frames) -> Frames:
    """With names that a figure shows as they are."""
    runs, owners = frames.runs, frames.owners
    texts = [name for name in runs if pd.api.types.is_string_dtype(runs[name]) and name not in ("error", "traceback")]
    runs = runs.assign(**{name: runs[name].map(drawable, na_action="ignore") for name in texts})
    for name in ("strategy", "role"):
        if name in owners and isinstance(owners[name].dtype, pd.CategoricalDtype):
            known = owners[name].cat.categories
            owners = owners.assign(**{name: owners[name].cat.rename_categories([drawable(str(one)) for one in known])})
    return replace(frames, runs=runs, owners=owners)


def _named(source: ResultFolder) -> str:
    return "run" if source.by == "label" else "mechanism"


def _values(source: ResultFolder, frame: pd.DataFrame, column: str) -> str:
    """The means by group in words."""
    runs = source.frames.runs.set_index("run")
    names = runs["label"] if source.by == "label" else runs["mechanism"].astype(str).map(kind_of)
    means = last_step(frame).groupby(frame["run"].map(names), sort=False)[column].mean()
    return "; ".join(f"{name} {readable(value)}" for name, value in means.items())


def _compared(source: ResultFolder) -> Inline:
    columns = ("welfare", "contribution", "accuracy")
    steps = source.frames.steps
    groups = steps["run"].map(source.frames.runs.set_index("run")[source.by].astype(str).map(_short(source))).nunique()
    figure = _row(len(columns), width=2.6 + 0.35 * groups)
    for panel, column in zip(figure.axes, columns, strict=True):
        figures.mechanism_bars(source.frames, column, source.by, ax=panel)
    words = "; ".join(f"mean {column}: {_values(source, steps, column)}" for column in columns)
    alt = f"Three bar charts, one bar per {_named(source)}, at the last step. {words}."
    return from_figure(figure, f"Outcomes by {_named(source)}", alt, _bars(source, groups))


def _bars(source: ResultFolder, groups: int) -> str:
    """What bars stand for: single runs, or means over runs that may differ in more than their seeds."""
    if groups == source.frames.steps["run"].nunique():
        return "Every bar is one run at its last step."
    spread = "; runs of all cells together, so the spread is not chance alone" if source.varied else ""
    return f"Bars are means over runs, whiskers 95% intervals of {LEAST} runs or more, dots single runs{spread}."


def _short(source: ResultFolder) -> object:
    return kind_of if source.by == "mechanism" else str


def _row(count: int, width: float = 3.4, height: float = 3.3) -> Figure:
    with sns.axes_style("whitegrid"), sns.plotting_context("paper", font_scale=1.05):
        figure, _ = plt.subplots(1, count, figsize=(width * count, height), layout="constrained")
    return figure


def _parameters(source: ResultFolder) -> Iterator[Inline]:
    """One figure per parameter of a sweep that holds numbers, with a panel for each setting of the others if few."""
    runs = source.frames.runs
    numeric = [name for name in source.varied if pd.api.types.is_numeric_dtype(runs[name])]
    for name in numeric[:_MOST_PARAMETERS]:
        rest = _others(source, name)
        shown, apart = name.removeprefix("parameter_"), 1 < rest.nunique() <= _MOST_PANELS
        draw = partial(figures.welfare_against, parameter=name, by="mechanism")
        frames = replace(source.frames, runs=runs.assign(**{_REST: rest}))
        drawn = figures.side_by_side(frames, draw, _REST) if apart else draw(source.frames)
        alt = f"Line chart of welfare at the last step against {shown}, from {readable(runs[name].min())} to "
        alt += f"{readable(runs[name].max())}, by mechanism{', one panel per setting of the rest' if apart else ''}."
        mixed = ", whatever else varied, so the band is not chance alone" if rest.nunique() > _MOST_PANELS else ""
        caption = f"Lines are means over runs with that value, bands 95% intervals of {LEAST} runs or more{mixed}."
        yield from_figure(drawn, f"Welfare against {shown}", alt, caption)


def _maps(source: ResultFolder) -> Iterator[Inline]:
    """Heat maps of welfare by two parameters of a sweep, one for each mechanism, with one scale."""
    runs = source.frames.runs
    kinds = runs["mechanism"].astype(str).map(kind_of)
    few = [name for name in source.varied if runs[name].nunique() <= _MOST_VALUES and _hashable(runs[name])]
    apart = [name for name in few if runs.groupby(kinds)[name].nunique().max() > 1]  # not what tells mechanisms apart
    if kinds.nunique() > _MOST_PANELS:
        return
    for x, y in itertools.islice(itertools.combinations(apart, 2), _MOST_MAPS):
        across, down = (name.removeprefix("parameter_") for name in (x, y))
        means = source.ends.set_index("run")["welfare"]
        alt = f"Heat map of welfare at the last step by {across} and {down}, from {readable(means.min())} to "
        alt += f"{readable(means.max())}{', one map per mechanism' if kinds.nunique() > 1 else ''}."
        mixed = "; other parameters vary within a cell" if len(apart) > 2 else ""
        caption = f"Every cell is the mean over its runs, with one scale for all maps; grey: no runs{mixed}."
        yield from_figure(figures.heat_maps(source.frames, x, y), f"Welfare by {across} and {down}", alt, caption)


def _hashable(column: pd.Series) -> bool:
    return bool(column.map(lambda value: isinstance(value, str | int | float | bool)).all())


def _others(source: ResultFolder, name: str) -> pd.Series:
    """The values of all varied parameters but one, as words, run by run."""
    runs = source.frames.runs
    parts = [
        runs[other].map(lambda value, other=other: f"{other.removeprefix('parameter_')} = {text(value)}")
        for other in source.varied
        if other != name
    ]
    return pd.concat(parts, axis=1).agg(", ".join, axis=1) if parts else pd.Series("", runs.index)


def _over_time(source: ResultFolder) -> Iterator[Inline]:
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
    words = "; ".join(f"{name} {readable(value)}" for name, value in means.items())
    most = owners["step"].max()
    alt = f"Line charts of {title.lower()} over steps 1 to {most}. Means over all runs at the end: {words}."
    caption = "Lines are means over owners by strategy, bands hold the middle 80% of owners."
    yield from_figure(figure, f"{title} over time", alt, caption)


def _against_contribution(source: ResultFolder) -> Inline:
    figure = figures.side_by_side(source.frames, figures.against_contribution, source.by)
    alt = f"Scatter plots of utility against contribution at the last step, {how_many(source.frames.owners)}."
    caption = (
        f"Every mark is an owner; some may lie on each other. {UNITS['utility'].capitalize()}; below zero an owner "
        "loses by taking part."
    )
    return from_figure(figure, "Utility against contribution", alt, caption)


def _accuracy_utility(source: ResultFolder) -> Inline:
    panel = figures.accuracy_utility(source.frames, source.by)
    alt = f"Scatter plot of accuracy against utility by {_named(source)}. Mean utility: {_means(source, 'utility')}."
    caption = "Every mark is an owner, rings are means, ellipses one standard deviation around them."
    return from_figure(panel, "Accuracy against utility", alt, caption)


def _utilities(source: ResultFolder) -> Inline:
    panel = figures.utility_distribution(source.frames, by=source.by)
    alt = f"Box plots of utilities by {_named(source)}. Mean utility: {_means(source, 'utility')}."
    caption = "Boxes hold the middle half of owners, whiskers 90%; left of zero an owner would do better to stay away."
    return from_figure(panel, "How utilities are spread", alt, caption)


def _means(source: ResultFolder, column: str) -> str:
    return _values(source, source.frames.owners, column)


def _money(source: ResultFolder) -> Iterator[Inline]:
    """The money graph of the run in which most money moved."""
    sums = source.frames.transfers.groupby("run")["amount"].sum()
    if sums.empty or not sums.max() > 0:
        return
    run = sums.idxmax()
    part = figures.of_runs(source.frames, [run])
    panel = figures.money_graph(part.transfers, _by_role(part.owners))
    label = part.runs["label"].iloc[0]
    alt = f"Graph of payments in run {run}, {label}: {len(part.transfers)} transfers, {readable(sums[run])} in all."
    caption = (
        f"Run {run}, {label}, where most money moved; all recorded steps together. Hollow: neither pays nor is paid."
    )
    yield from_figure(panel, "Who pays whom", alt, caption)
    if (part.transfers["reason"] == MODEL_IMPORT).any():
        yield _models(part, f"run {run}, {label}")


def _models(part: Frames, run: str) -> Inline:
    """Who learns from whom in a market."""
    owners = _by_role(part.owners)
    imports = import_table(part.transfers, int(owners["owner"].max()) + 1)
    panel = figures.collaboration_graph(owners, imports)
    alt = f"Graph of models in {run}: {int((imports > 0).sum())} pairs of giver and importer."
    return from_figure(panel, "Who learns from whom", alt, "All recorded steps together; the wider, the more of them.")


def _by_role(owners: pd.DataFrame) -> pd.DataFrame:
    """Owners under the names of their roles, where these tell them apart, as in a market."""
    return owners.assign(strategy=owners["role"]) if "role" in owners and owners["role"].nunique() > 1 else owners


def _rest(source: ResultFolder) -> Iterator[Inline]:
    if source.frames.steps["step"].nunique() < 2 or "moved" not in source.frames.steps:
        return
    panel = figures.convergence(source.frames, source.by)
    good = int(source.done["converged"].fillna(False).astype(bool).sum())
    alt = f"Line chart of the largest move per step on a logarithmic axis; {good} of {len(source.done)} runs converged."
    caption = (
        "What owners do and say, one line per run (a model may still learn when that rests); crosses are the certified "
        "gaps at the end."
    )
    yield from_figure(panel, "Coming to rest", alt, caption)


def _other_models(source: ResultFolder) -> Iterator[Inline]:
    """Model reporters of any Mesa model over its steps."""
    steps = source.frames.steps
    columns = [name for name in steps.select_dtypes("number") if name not in ("run", "step")][:4]
    if steps.empty or not columns:
        return
    figure = _row(len(columns))
    for panel, column in zip(figure.axes, columns, strict=True):
        sns.lineplot(steps, x="step", y=column, units="run", estimator=None, color="#0173b2", alpha=0.5, ax=panel)
        panel.set_xlabel(f"step\n{how_many(steps[['run']])}")
    ends = "; ".join(f"{column} {readable(last_step(steps)[column].mean())}" for column in columns)
    alt = f"Line charts of the model's reporters over its steps. Means at the end: {ends}."
    yield from_figure(figure, "Model reporters over time", alt, "One line per run.")
