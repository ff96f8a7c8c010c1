"""Mechanisms side by side on the same owners and seeds.

>>> from fedabm import population
>>> from fedabm.comparison import compare
>>> from fedabm.games.accuracy import PowerLaw
>>> from fedabm.mechanisms import NoPayments, ShapleyShare
>>> found = compare(population([0.1, 0.25], 100.0), [NoPayments(), ShapleyShare()], seeds=2, accuracy=PowerLaw())
>>> found.table(["data"])["data"].round(3).tolist()
[2.162, 4.167]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fedabm.analysis.rows import last_step
from fedabm.common.confidence import ConfidenceIntervals, Noise
from fedabm.common.errors import InputError, check_count, check_kind, nearest
from fedabm.common.names import snake
from fedabm.common.notebooks import as_html
from fedabm.common.random import generator
from fedabm.common.texts import markdown_cell, readable, visible
from fedabm.common.until import EnoughSeeds, Until, until
from fedabm.games.accuracy.base import Oracle
from fedabm.games.curves import Array
from fedabm.games.money import deficit
from fedabm.mechanisms import Mechanism, PaymentRule
from fedabm.results.frames import Frames
from fedabm.results.store import save
from fedabm.results.tables import write_table
from fedabm.simulation.activation import Activation, Sequential
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import OwnerProfile, Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HEADLINE", "MEASURES", "Comparison", "compare", "labelled", "short_label"]

#: what is compared, at the end of every run
MEASURES = {
    "data": "data contributed by all owners",
    "accuracy": "mean accuracy that owners receive",
    "welfare": "sum of all utilities",
    "outside": "money from outside in a step",
    "net": "welfare less money from outside",
    "worst": "utility of the owner that is worst off",
    "paid": "money that owners receive in a step",
}

#: by what mechanisms are ranked, and what a rule for the number of seeds looks at unless it says otherwise
HEADLINE = "net"

Owners = Sequence[OwnerProfile] | Callable[[np.random.Generator], Sequence[OwnerProfile]]
#: runs a scenario under a label with a seed
Simulate = Callable[[Scenario, str, int], Federation]


def compare(
    owners: Owners,
    mechanisms: Mapping[str, Mechanism] | Sequence[Mechanism],
    seeds: int | str | Until | Sequence[int] = 10,
    *,
    accuracy: Oracle | Callable[[np.random.Generator], Oracle],
    activation: Activation | None = None,
    simulate: Simulate | None = None,
    noise: Noise = "unknown",
    first_seed: int = 0,
    **options: Any,
) -> Comparison:
    """Run every mechanism on the same owners with every seed.

    Parameters
    ----------
    owners : Owners
        A population, or a function that draws one from a generator: one per seed, the same for all mechanisms.
    mechanisms : Mapping[str, Mechanism] | Sequence[Mechanism]
        The rules by what to call them, or a list of them.
    seeds : int | str | Until | Sequence[int], optional
        Which seeds, or how many; or `"until 0.01"`: as many as it takes for the 95% intervals of all paired differences
        of net welfare to the first rule (of its mean, if there is but one) to reach at most 0.01 from them.  Also
        `"until 5 of data, from 20, at most 500"`; see `fedabm.common.until`.
    accuracy : Oracle | Callable[[np.random.Generator], Oracle]
        What models are worth to owners, one for all seeds, or a function that draws one from a generator.
    activation : Activation | None, optional
        In which order owners decide.
    simulate : Simulate | None, optional
        What runs a scenario under a label; by default in this process.
    noise : Noise, optional
        What is known of the noise between seeds: "normal" where it is, which gives intervals from two seeds on, or
        "unknown"; see `fedabm.common.confidence`.
    first_seed : int, optional
        The first seed, where `seeds` says how many.
    **options : Any
        Further fields of `Scenario`, such as steps or network.

    Returns
    -------
    Comparison
        All runs, with differences between rules on the same owners and seeds.
    """
    if isinstance(mechanisms, Mechanism):
        mechanisms = [mechanisms]
    named = dict(mechanisms) if isinstance(mechanisms, Mapping) else labelled(mechanisms)
    if not named:
        raise InputError("nothing to compare, got no mechanism; give for instance [NoPayments(), ShapleyShare()]")
    intervals = ConfidenceIntervals(noise)
    rule = Until.read(seeds) if isinstance(seeds, str) else seeds
    run = simulate or (lambda scenario, label, seed: Federation(scenario, seed).run())
    parts: list[Frames] = []

    def play(numbers: Iterable[int]) -> None:
        for seed in numbers:
            people = tuple(owners(generator(seed, "population")) if callable(owners) else owners)
            worth = accuracy if isinstance(accuracy, Oracle) else accuracy(generator(seed, "population", 1))
            for label, mechanism in named.items():
                check_kind(f"mechanism {label!r}", mechanism, Mechanism)
                scenario = Scenario(people, worth, mechanism, activation or Sequential(), **options)
                parts.append(run(scenario, label, seed).frames(label))

    if not isinstance(rule, Until):
        play(_numbers(rule, first_seed))
        return Comparison(Frames.join(parts), intervals)
    measure = HEADLINE if rule.of is None else rule.of
    _known((measure,))

    def sample(seeds: int) -> list[Array]:
        play(range(first_seed + len(parts) // len(named), first_seed + seeds))
        return Comparison(Frames.join(parts)).compared(measure)

    what = f"paired differences of {measure} to {next(iter(named))}" if len(named) > 1 else f"mean of {measure}"
    came = until(rule, noise, sample, what)
    return Comparison(Frames.join(parts), came.intervals, came)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs of several mechanisms (the `label` of runs) with the same seeds.

    Parameters
    ----------
    frames : Frames
        The frames of all runs; their `label` is the mechanism.
    intervals : ConfidenceIntervals, optional
        How 95% intervals are made.
    enough : EnoughSeeds | None, optional
        What a rule for the number of seeds came to; None: their number was given.
    """

    frames: Frames
    intervals: ConfidenceIntervals = field(default_factory=ConfidenceIntervals)
    enough: EnoughSeeds | None = None

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.labels)}; {self.seeds:,} seed{'s' if self.seeds != 1 else ''})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.table().to_dict("records"))

    @property
    def labels(self) -> list[str]:
        """The mechanisms in the order in which they were given."""
        return list(dict.fromkeys(self.frames.runs["label"].astype(str)))

    @property
    def seeds(self) -> int:
        """How many runs each mechanism has."""
        return int(self.frames.runs["seed"].nunique())

    @property
    def random(self) -> bool:
        """Whether anything differs from seed to seed."""
        return bool((self.ends().drop(columns="seed").groupby("label").nunique() > 1).any(axis=None))

    @cached_property
    def last(self) -> pd.DataFrame:
        """The owners at the end of every run."""
        return self.frames.at_end("owners")

    def compared(self, measure: str) -> list[Array]:
        """The paired differences of a measure to the first mechanism, or its values where there is but one."""
        wide = self.ends().pivot(index="seed", columns="label", values=measure)[self.labels].to_numpy(float)
        return list((wide[:, 1:] - wide[:, :1]).T) if len(self.labels) > 1 else [wide[:, 0]]

    def lacking(self) -> str:
        """Why there are no 95% intervals, and how many seeds they take; nothing where there are."""
        return self.intervals.lacking(self.seeds) if self.seeds > 1 and self.random else ""

    def says_of_seeds(self) -> dict[str, Any]:
        """How many seeds there are, what was known of their noise, and what a rule came to, for a manifest."""
        rule = {} if self.enough is None else self.enough.describe()
        return {"seeds": self.seeds, "noise": self.intervals.noise, "lacking": self.lacking(), **rule}

    def denied(self) -> str:
        """A line if noise is said to be normal and the runs deny it.

        The test of Shapiro and Wilk 1965 for every compared quantity, at 1% for all of them together.  Three seeds of
        skewed noise pass it nearly always: that it is silent does not make noise normal.
        """
        from scipy.stats import shapiro  # slow to import

        if self.intervals.noise != "normal" or self.seeds < 3:
            return ""
        gaps = [gap[np.isfinite(gap)] for gap in self.compared(HEADLINE)]
        chances = [shapiro(gap).pvalue for gap in gaps if len(gap) > 2 and np.ptp(gap) > 1e-12 * np.abs(gap).max()]
        if not chances or min(chances) > 0.01 / len(chances):
            return ""
        return (
            f"noise was said to be normal, which these seeds deny (Shapiro-Wilk, p = {min(chances):.2g}); leave it open"
        )

    def ends(self) -> pd.DataFrame:
        """One row per run: label, seed and what `MEASURES` says, at the end of the run."""
        steps = last_step(self.frames.steps).set_index("run")
        owners = self.last
        worst = owners[owners["stayed"]].groupby("run")["utility"].min()
        runs = self.frames.runs.set_index("run")[["label", "seed"]]
        values = {
            "data": steps["contribution"],
            "accuracy": steps["accuracy"],
            "welfare": steps["welfare"],
            "outside": _known_column(steps, "outside_money"),
            "net": _known_column(steps, "net_welfare"),
            "worst": worst,
            "paid": steps["transferred"],
        }
        return runs.assign(**values).reset_index(drop=True)

    def unsettled(self) -> list[str]:
        """A line for each mechanism under which runs ended before owners were at rest."""
        runs, lines = self.frames.runs, []
        for label in self.labels:
            mine = runs[runs["label"].astype(str) == label]
            ended = mine[mine["status"].astype(str) == "stopped"]
            if len(ended):
                gap = float(ended["gap"].max())
                left = f"; an owner could still gain {gap:.2g}" if np.isfinite(gap) and gap > 1e-9 else ""
                lines.append(f"{label}: {len(ended)} of {len(mine)} runs ended before owners were at rest{left}")
        return lines

    def without_effect(self) -> list[str]:
        """A line for each mechanism of which the runs say that something has no effect in them, or is estimated."""
        runs = self.frames.runs
        columns = [name for name in ("without_effect", "estimated") if name in runs]  # older folders do not have them
        said = (runs[["label", name]].dropna().astype(str).drop_duplicates() for name in columns)
        return [f"{label}: {text}" for table in said for label, text in table.itertuples(index=False) if text]

    def ranking(self) -> list[str]:
        """The mechanisms by their mean welfare net of money from outside, the best first."""
        means = self.ends().groupby("label", sort=False)["net"].mean().loc[self.labels]
        return means.sort_values(ascending=False, kind="stable").index.tolist()

    def ranked(self) -> str:
        """A line with the mechanisms by welfare net of money from outside; equal ones are joined by =."""
        means, line, before = self.ends().groupby("label")["net"].mean(), "", np.nan
        for label in self.ranking():
            same = abs(means[label] - before) <= 1e-9 * max(abs(before), abs(means[label]))
            line += ("" if not line else " = " if same else " > ") + f"{label} ({readable(means[label])})"
            before = means[label]
        return f"By net welfare: {line}"

    def deficits(self) -> list[str]:
        """A line for each mechanism that pays owners more than it takes from them, at the end, on average."""
        means = self.ends().groupby("label")[["welfare", "outside"]].mean()
        lines = [deficit(label, *means.loc[label].tolist()) for label in self.labels]
        return [line for line in lines if line]

    def table(self, measures: Sequence[str] = tuple(MEASURES)) -> pd.DataFrame:
        """Means over seeds, one row per mechanism, and how far their 95% intervals reach."""
        _known(measures)
        groups = self.ends().groupby("label", sort=False)
        table = pd.DataFrame({"mechanism": self.labels})
        for name in measures:
            table[name] = groups[name].mean().loc[self.labels].to_numpy()
            if self.seeds > 1:
                table[f"{name} ±"] = [self.intervals.half(groups.get_group(label)[name]) for label in self.labels]
        return table

    def differences(self, baseline: str | None = None, measures: Sequence[str] = tuple(MEASURES)) -> pd.DataFrame:
        """What each mechanism brings more than the baseline (default: the first), seed by seed, with 95% intervals."""
        _known(measures)
        first = self.labels[0] if baseline is None else baseline
        if first not in self.labels:
            raise InputError(f"unknown baseline {first!r}; {nearest(first, self.labels)}")
        wide = self.ends().pivot(index="seed", columns="label")
        others = [label for label in self.labels if label != first]
        table = pd.DataFrame({f"against {first}": others})
        for name in measures:
            gaps = [wide[name][label] - wide[name][first] for label in others]
            table[name] = [gap.mean() for gap in gaps]
            if self.seeds > 1:
                table[f"{name} ±"] = [self.intervals.half(gap) for gap in gaps]
        return table

    def owners(self, column: str = "utility", *, intervals: bool = False) -> pd.DataFrame:
        """Mean over seeds of an owners' column at the end: one row per owner, one column per mechanism.

        With `intervals` each has beside it how far its 95% interval reaches.
        """
        last = self.last
        if column not in last:
            raise InputError(f"owners have no column {column!r}; {nearest(column, list(last.columns))}")
        label = last["run"].map(self.frames.runs.set_index("run")["label"].astype(str))
        means = last.assign(label=label).pivot_table(index="owner", columns="label", values=column, observed=True)
        named = last.drop_duplicates("owner").set_index("owner")
        front = pd.DataFrame({"owner": [named["name"][one] or f"{one}" for one in means.index]}, index=means.index)
        front["strategy"] = named["strategy"].astype(str)
        if not intervals or self.seeds < 2:
            return pd.concat([front, means[self.labels]], axis=1).reset_index(drop=True)
        halves = (
            last.assign(label=label)
            .pivot_table(index="owner", columns="label", values=column, observed=True, aggfunc=self.intervals.half)
            .reindex(index=means.index, columns=self.labels)
        )  # without those that have no interval
        pairs = [part for name in self.labels for part in (means[name], halves[name].rename(f"{name} ±"))]
        return pd.concat([front, *pairs], axis=1).reset_index(drop=True)

    def figure(self, measures: Sequence[str] = tuple(MEASURES)) -> Figure:
        """One panel per measure: the mean of every mechanism, its 95% interval, and the runs as dots."""
        from fedabm.comparison.picture import draw  # Matplotlib is slow to import

        _known(measures)
        return draw(self.frames, self.ends(), {name: MEASURES[name] for name in measures}, self.intervals)

    def markdown(self, measures: Sequence[str] = tuple(MEASURES)) -> str:
        """The table for a README or an issue."""
        cells = [[markdown_cell(cell) for cell in row] for row in (self._head(measures), *self._cells(measures, "±"))]
        rows = [cells[0], ["---"] + ["---:"] * len(measures), *cells[1:]]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"

    def latex(self, measures: Sequence[str] = tuple(MEASURES)) -> str:
        """The table for a paper, with booktabs."""
        rows = [[_escaped(cell) for cell in row] for row in (self._head(measures), *self._cells(measures, "±"))]
        lines = [" & ".join(row) + r" \\" for row in rows]
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        return f"\\begin{{tabular}}{{l{'r' * len(measures)}}}\n{body}\n\\end{{tabular}}\n"

    def save(self, folder: str | Path) -> list[Path]:
        """Frames, tables (CSV, Markdown, LaTeX) and the figure as PDF, SVG and PNG, in a new folder."""
        return save(self.frames, folder, {"scenario": "comparison", "seeds": self.says_of_seeds()}, self.files())

    def files(self) -> dict[str, Callable[[Path], Any]]:
        """What is saved beside the frames, by name, each with a function that writes it."""
        figure = self.figure()
        pictures = {
            f"comparison.{kind}": lambda path, kind=kind: figure.savefig(path, format=kind, dpi=200)
            for kind in ("pdf", "svg", "png")
        }
        return {
            "comparison.csv": partial(write_table, self.table()),
            "differences.csv": partial(write_table, self.differences()),
            "comparison.md": lambda path: path.write_text(self.markdown(), "utf-8"),
            "comparison.tex": lambda path: path.write_text(self.latex(), "utf-8"),
            **pictures,
        }

    def _head(self, measures: Sequence[str]) -> list[str]:
        return ["mechanism", *measures]

    def _cells(self, measures: Sequence[str], sign: str) -> list[list[str]]:
        table = self.table(measures)
        return [
            [str(row["mechanism"]), *(_with_error(row[name], row.get(f"{name} ±"), sign) for name in measures)]
            for row in table.to_dict("records")
        ]


def short_label(mechanism: Mechanism) -> str:
    """The mechanism's name in words, with those parameters that are not the defaults.

    >>> from fedabm.mechanisms import ContributionSubsidy, ShapleyShare
    >>> short_label(ShapleyShare()), short_label(ContributionSubsidy(0.02))
    ('Shapley share', 'contribution subsidy 0.02')
    """
    if isinstance(mechanism, PaymentRule) and getattr(mechanism.function, "__name__", "<lambda>") != "<lambda>":
        return mechanism.function.__name__.replace("_", " ")
    words = (
        snake(type(mechanism).__name__).replace("_", " ").replace("shapley", "Shapley").replace("banzhaf", "Banzhaf")
    )
    given = [getattr(mechanism, one.name) for one in fields(mechanism) if one.init]  # type: ignore[arg-type]
    usual = [one.default for one in fields(mechanism) if one.init]  # type: ignore[arg-type]
    numbers = [f"{value:g}" for value, default in zip(given, usual, strict=True) if _number(value) and value != default]
    return " ".join([words, *numbers])


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_a_twin(place: int, labels: Sequence[str], mechanisms: Sequence[Mechanism]) -> bool:
    """Whether another mechanism has the same label and is another one, such as two functions without a name."""
    pairs = zip(labels, mechanisms, strict=True)
    return any(label == labels[place] and one != mechanisms[place] for label, one in pairs)


def labelled(mechanisms: Sequence[Mechanism]) -> dict[str, Mechanism]:
    """Mechanisms by their short labels, or by all they are where two would be called the same."""
    for one in mechanisms:
        check_kind("a mechanism", one, Mechanism)
    short = [short_label(one) for one in mechanisms]
    numbered = [f"{label} {1 + short[:place].count(label)}" for place, label in enumerate(short)]
    long = [_long_label(one, label) for one, label in zip(mechanisms, numbered, strict=True)]
    labels = [
        label if short.count(label) == 1 else numbered[place] if _has_a_twin(place, long, mechanisms) else long[place]
        for place, label in enumerate(short)
    ]
    if len(set(labels)) < len(labels):
        raise InputError(f"{len(labels)} mechanisms but some are the same: {', '.join(labels)}; give each once")
    return dict(zip(labels, mechanisms, strict=True))


def _long_label(mechanism: Mechanism, instead: str) -> str:
    """All that a mechanism is, unless that names a place in memory, which is another in every process."""
    words = repr(mechanism)
    return instead if " at 0x" in words else words


def _numbers(seeds: Any, first: int) -> list[int]:
    """Which seeds, or how many."""
    if isinstance(seeds, Integral):
        check_count("seeds", seeds)
        return list(range(first, first + int(seeds)))
    numbers = list(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else []
    if not numbers or len(set(numbers)) < len(numbers) or not all(isinstance(one, Integral) for one in numbers):
        raise InputError(f"seeds must be a number or a list of different ones, got {seeds!r}; give for instance 10")
    return [int(one) for one in numbers]


def _known(measures: Sequence[str]) -> None:
    for name in measures:
        if name not in MEASURES:
            raise InputError(f"unknown measure {name!r}; {nearest(name, MEASURES)}")


def _known_column(steps: pd.DataFrame, name: str) -> pd.Series:
    """A column that folders from before 0.3.0 do not have."""
    return steps[name] if name in steps else pd.Series(np.nan, index=steps.index)


def _with_error(mean: float, half: float | None, sign: str) -> str:
    if half is None or not np.isfinite(half):
        return f"{mean:.4g}"
    decimals = int(np.clip(1 - np.floor(np.log10(half)), 0, 9)) if half > 0 else 4
    return f"{mean:.{decimals}f} {sign} {half:.{decimals}f}" if half > 1e-12 * abs(mean) else f"{mean:.4g}"


#: what LaTeX would take for more than a sign
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%#_${}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
    }
)


def _escaped(text: str) -> str:
    return visible(" ".join(text.split())).translate(_LATEX)
