"""A study in TOML, for people who do not program: who takes part, under which mechanisms, how often.

    question = "Who pays for the model that five hospitals share?"
    accuracy = { kind = "power_law", exponent = 0.5 }
    seeds = 1

    [mechanisms]
    "no payments" = "no_payments"
    "Shapley shares" = "shapley_share"

    [[owners]]
    name = "St. Mary"
    cost = 0.004
    data = 500

    [[groups]]
    name = "practice"
    count = 10
    cost = { low = 0.01, high = 0.03 }
    data = 50

Mechanisms, accuracies, strategies and costs go by name or table, as in a game (`fedabm.specs.games`); members of a
group are called by its name and their number; numbers that are not known
(`{ low = 1, high = 2 }`, `{ mean = 1, sd = 0.2 }`, `{ draws = [1, 2] }`) are drawn anew for every seed.
Owners may also be written all at once, as in a game (`fedabm.specs.owners`).
`device = "cuda"` says where models train, unless `--device` does, if an accuracy of one's own trains any.
`cluster = { address = "local", workers = 4 }` spreads owners over workers, unless `--cluster` does.
`knowledge = { kind = "measured", rounds = 5 }` says what the server knows of the worth of data (`fedabm.knowledge`).
`seeds = "until 0.01"` runs as many seeds as it takes (`fedabm.common.until`), and `noise = "normal"` says that their
noise is known to be normal, so that few of them have intervals (`fedabm.common.confidence`).
A table `[settlement]` is for `fedabm settle` (`fedabm.specs.settlement`).
Of large studies `keep = { every = 10, owners = 1000, strategies = true }` keeps less (`fedabm.results.keep`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from fedabm.common.cluster import Cluster, chosen_cluster, on_cluster, was_used
from fedabm.common.confidence import ConfidenceIntervals, Noise
from fedabm.common.device import check_written, preferring
from fedabm.common.errors import InputError, check_count, check_range, check_whole
from fedabm.common.random import generator
from fedabm.common.texts import visible
from fedabm.common.until import Until
from fedabm.comparison.comparison import MEASURES, Comparison, compare, labelled
from fedabm.comparison.wanted import Wanted
from fedabm.games.accuracy import Oracle
from fedabm.games.accuracy.valued import LinearPayoff, Valued
from fedabm.games.costs import Cost, Linear
from fedabm.knowledge import Knowledge
from fedabm.mechanisms import Mechanism
from fedabm.results.keep import Recording
from fedabm.simulation.activation import Activation, Sequential
from fedabm.simulation.participation import Everyone, Participation
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.specs.owners import one_by_one
from fedabm.specs.settlement import SettlementTerms
from fedabm.specs.toml import read_toml
from fedabm.specs.uncertain import Uncertain, drawn_number, is_uncertain
from fedabm.specs.values import Reader
from fedabm.strategies import BestResponse, Strategy
from fedabm.study.library import Script
from fedabm.study.study import Study

__all__ = ["PICTURES", "Written", "drawn_curves", "read_study", "rules_of", "script_of", "study_of"]

Picture = Literal["comparison", "owners", "money", "over time"]


@dataclass(frozen=True)
class NamedOwner:
    """An owner with a name: what its data cost (a number is a rate per unit), how much it has, what it does.

    `value` is what a unit of accuracy is worth to it in money (none: accuracy itself is what counts), and `outside`
    what it has if it stays away (none: the best it can do alone).  Numbers may be uncertain (`fedabm.specs.uncertain`).
    """

    name: str
    cost: float | Uncertain | Cost
    data: float | Uncertain
    strategy: Strategy = field(default_factory=BestResponse)
    start: float = 0.0
    budget: float = np.inf
    joins: int = 1
    role: str = "owner"
    value: float | Uncertain | None = None
    outside: float | Uncertain | None = None


@dataclass(frozen=True)
class OwnerGroup:
    """Several owners of one kind, called by the group's name and their number."""

    name: str
    count: int
    cost: float | Uncertain | Cost
    data: float | Uncertain
    strategy: Strategy = field(default_factory=BestResponse)
    joins: int = 1
    value: float | Uncertain | None = None

    def __post_init__(self) -> None:
        check_whole(f"count of group {self.name!r}", self.count)
        check_range(f"count of group {self.name!r}", self.count, 1, 1_000_000)


@dataclass(frozen=True)
class Written:
    """What a file says about a study."""

    accuracy: Oracle
    mechanisms: dict[str, Mechanism] | tuple[Mechanism, ...] = ()
    owners: tuple[NamedOwner, ...] = ()
    groups: tuple[OwnerGroup, ...] = ()
    question: str = "What do these owners make of these mechanisms?"
    seeds: int | str = 1
    noise: Noise = "unknown"
    steps: int = 200
    activation: Activation = field(default_factory=Sequential)
    participation: Participation = field(default_factory=Everyone)
    figures: tuple[Picture, ...] = ("comparison", "owners")
    keep: Recording = field(default_factory=Recording)
    device: str = "auto"
    cluster: Cluster | None = None
    knowledge: Knowledge | None = None
    pay_rejected: bool = False
    recommend: Wanted = field(default_factory=Wanted)
    settlement: SettlementTerms | None = None

    def __post_init__(self) -> None:
        check_written(self.device)
        Until.read(self.seeds) if isinstance(self.seeds, str) else check_count("seeds", self.seeds)
        ConfidenceIntervals(self.noise)
        check_whole("steps", self.steps)
        if not self.owners and not self.groups:
            raise InputError("a study needs owners, got none; add [[owners]] with name, cost and data, or [[groups]]")

    def people(self, rng: np.random.Generator) -> list[OwnerProfile]:
        """The owners, then the groups, with what is random drawn."""
        named = [
            OwnerProfile(
                _cost(drawn_number(one.cost, rng)),
                drawn_number(one.data, rng),
                one.strategy,
                one.start,
                budget=one.budget,
                joins=one.joins,
                role=one.role,
                name=one.name,
            )
            for one in self.owners
        ]
        return named + [profile for group in self.groups for profile in _drawn(group, rng)]

    @property
    def values(self) -> list[Any]:
        """What a unit of accuracy is worth to each owner; empty where nobody says so."""
        listed = [one.value for one in self.owners] + [one.value for one in self.groups for _ in range(one.count)]
        if all(one is None for one in listed):
            return []
        if any(one is None for one in listed):
            raise InputError("some owners have a value of accuracy and some have none; give one to each of them")
        return listed

    @property
    def uncertain_world(self) -> bool:
        """Whether the accuracy, or what it is worth to whom, differs from seed to seed or from owner to owner."""
        return bool(self.values) or drawn_curves(self.accuracy) is not None

    def world(self, rng: np.random.Generator) -> Oracle:
        """The accuracy with what is uncertain drawn."""
        curves = drawn_curves(self.accuracy)
        curve: Any = self.accuracy if curves is None else curves[int(rng.integers(len(curves)))]
        return Valued(curve, LinearPayoff([drawn_number(one, rng) for one in self.values])) if self.values else curve

    @property
    def unknown(self) -> list[str]:
        """What is not known exactly, in words: whose numbers, and the curve."""
        found: list[str] = []
        everybody: list[Any] = [*self.owners, *self.groups]
        for one in everybody:
            names = [name for name in ("cost", "data", "value", "outside") if is_uncertain(getattr(one, name, None))]
            found += [f"{' and '.join(names)} of {one.name}"] if names else []
        return found + (["the curve of accuracy"] if drawn_curves(self.accuracy) is not None else [])

    def compared(self, study: Study) -> Comparison:
        """Run everything inside a study."""
        if not self.mechanisms:
            raise InputError("the study has no mechanisms to compare; add [mechanisms], or ask fedabm recommend")
        return compare(
            self.people,
            self.mechanisms,
            self.seeds,
            accuracy=self.world if self.uncertain_world else self.accuracy,
            activation=self.activation,
            participation=self.participation,
            simulate=study.simulate,
            noise=self.noise,
            first_seed=study.seed,
            steps=study.steps or self.steps,
            record=self.keep,
            knowledge=self.knowledge,
            pay_rejected=self.pay_rejected,
        )

    def scenario(self, mechanism: Mechanism, seed: int, name: str = "scenario") -> Scenario:
        """The scenario that `compared` runs under a mechanism with a seed."""
        return Scenario(
            tuple(self.people(generator(seed, "population"))),
            self.world(generator(seed, "population", 1)) if self.uncertain_world else self.accuracy,
            mechanism,
            self.activation,
            participation=self.participation,
            steps=self.steps,
            record=self.keep,
            name=name,
            knowledge=self.knowledge,
            pay_rejected=self.pay_rejected,
        )

    def run(self, study: Study) -> None:
        """Simulate, and keep tables and pictures."""
        others = [name for name in self.figures if name != "comparison"]
        if others and replace(self.keep, **study.keep).owners == 0:
            raise InputError(f"the figure {others[0]!r} needs rows of owners, got owners = 0 to keep; leave one out")
        asked = chosen_cluster()
        with preferring(self.device), on_cluster(asked or self.cluster):
            found = self.compared(study)
        if asked is None and self.cluster is not None and not was_used(self.cluster):
            study.note("No owners were spread over the cluster of this study: nothing was trained here")
        show(found, study, self.figures, self.unknown)
        if self.values:
            study.note("accuracy: what the model is worth to its owners, in money, by their values of it")


def show(found: Comparison, study: Study, figures: Sequence[Picture], unknown: Sequence[str] = ()) -> None:
    """Tables and pictures of a comparison, kept by the study; intervals are over what is `unknown`, or over seeds."""
    random, lacking = found.seeds > 1 and found.random, found.lacking()
    chance = random and not lacking
    over = "draws of what is not known" if unknown else "seeds"
    study.facts["seeds"] = found.says_of_seeds()
    runs = f"{found.seeds} {over}, ± as far as the 95% interval of the mean reaches" if chance else "at the end"
    runs = f"means over {found.seeds} {over}, too few for intervals" if lacking else runs
    measures = [name for name in MEASURES if name != "outside" or found.ends()[name].any()]
    table = found.table(measures)
    study.table(table if chance else table.filter(regex="[^±]$"), f"By mechanism, {runs}", "comparison")
    for line in filter(None, (lacking, found.denied(), str(found.enough or ""))):
        _note(study, f"{line[0].upper()}{line[1:]}.")
    if len(found.labels) > 1:
        _note(study, found.ranked())
    for line in found.deficits():
        _note(study, line)
    _note(study, "net: welfare without money from outside (outside), which nobody among the owners pays")
    study.note("worst: the owner that is worst off; paid: money that owners receive in a step")
    for line in (*found.unsettled(), *found.without_effect()):
        study.note(line)
    if unknown:
        drawn = "each seed is one draw of it" if found.seeds > 1 else "this is one draw of it; give more seeds"
        _note(study, f"Not known exactly: {', '.join(unknown)}; {drawn}.")
    if found.seeds > 1 and not random:
        study.note(f"All {found.seeds} seeds give the same: nothing here is random.")
    if len(found.labels) > 1 and random:
        gaps = found.differences()
        study.table(gaps if chance else gaps.filter(regex="[^±]$"), "Paired differences, seed by seed", "differences")
    if 0 < found.last["owner"].nunique() <= 40:
        kind = f": mean and ± the 95% interval over {found.seeds} {over}" if chance else ""
        kind = f": mean over {found.seeds} {over}" if lacking else kind
        study.table(found.owners(intervals=chance), f"Utility of every owner{kind}", "owners")
    for name in figures:
        study.picture(PICTURES[name](found), name.replace(" ", "_"))
    for word, text in (("md", found.markdown()), ("tex", found.latex())):
        study.text(text, f"comparison.{word}")


def _note(study: Study, text: str) -> None:
    """A note of several lines."""
    for line in wrap(text, 80):
        study.note(line)


def read_study(path: str | Path) -> Written:
    """The study that a TOML file describes; files that it names are looked for beside it."""
    table = read_toml(path)
    if "mechanism" in table and "mechanisms" not in table:
        raise InputError(f"{path} is a game of one mechanism, not a study; fedabm solve {path} takes it")
    return study_of(table, Path(path).resolve().parent)


def study_of(table: Mapping[str, Any], folder: Path) -> Written:
    """The study that a table describes; files that it names are looked for in the folder."""
    return Reader((folder,)).make(Written, one_by_one(table), "the study")


def rules_of(written: Written) -> dict[str, Mechanism]:
    """The mechanisms of a study by what they are called there."""
    given = written.mechanisms
    return dict(given) if isinstance(given, Mapping) else labelled(given)


def script_of(path: str | Path) -> Script:
    """The study as a script that can be run like any other."""
    written, place = read_study(path), Path(path).resolve()

    def run(
        study: Study,
        seeds: int | str = written.seeds,
        mechanisms: tuple[Mechanism, ...] = (),
        noise: Noise = written.noise,
    ) -> None:
        """Run what is written.

        seeds       how often everything is repeated, or "until 0.01": until intervals reach at most that far
        mechanisms  other rules than those of the file, by name (none: those of the file)
        noise       "normal" where the noise between seeds is known to be
        """
        replace(written, seeds=seeds, mechanisms=mechanisms or written.mechanisms, noise=noise).run(study)

    defaults = {"seeds": written.seeds, "mechanisms": (), "noise": written.noise}
    return Script(place.stem, written.question, run, defaults, str(place))


def drawn_curves(accuracy: Oracle) -> tuple[Any, ...] | None:
    """The curves of all draws of an accuracy that a pilot has left uncertain; None for any other."""
    found = getattr(accuracy, "drawn", None)
    return tuple(found) if found else None


def _cost(given: float | Cost) -> Cost:
    return given if isinstance(given, Cost) else Linear(given)


def _drawn(group: OwnerGroup, rng: np.random.Generator) -> list[OwnerProfile]:
    """The members of a group."""
    costs, sizes = (_numbers(one, group.count, rng) for one in (group.cost, group.data))
    width = len(str(group.count))
    return [
        OwnerProfile(
            _cost(cost), size, group.strategy, joins=group.joins, role=group.name, name=f"{group.name} {k + 1:0{width}}"
        )
        for k, (cost, size) in enumerate(zip(costs, sizes, strict=True))
    ]


def _numbers(given: Any, count: int, rng: np.random.Generator) -> list[Any]:
    return given.at(rng.uniform(size=count)).tolist() if isinstance(given, Uncertain) else [given] * count


def _owners_picture(found: Comparison) -> Any:
    from fedabm.analysis.figures import of_runs, owner_bars

    if found.seeds > 1:
        from fedabm.comparison.picture import draw_owners

        return draw_owners(found.last, found.frames.runs, found.labels, found.intervals)
    first = found.frames.runs["seed"].min()
    runs = found.frames.runs.loc[found.frames.runs["seed"] == first, "run"].tolist()
    return owner_bars(
        of_runs(found.frames, runs), {"contribution": "data given", "payment": "payment", "utility": "utility"}
    )


def _money_picture(found: Comparison) -> Any:
    """Who pays whom in the last step, the mean over seeds, under every mechanism on one scale, three beside another."""
    from matplotlib.figure import Figure

    from fedabm.analysis.figures import money_graph

    every = found.frames.runs
    runs = every[every["seed"] == every["seed"].min()]
    paid = found.frames.transfers.merge(found.last[["run", "step"]].drop_duplicates(), on=["run", "step"])
    first = dict(zip(runs["label"].astype(str), runs["run"], strict=True))
    paid["run"] = paid["run"].map(every.set_index("run")["label"].astype(str)).map(first)
    paid["amount"] = paid["amount"] / found.seeds
    heaviest = float(paid.groupby(["run", "payer", "payee"])["amount"].sum().max()) if len(paid) else None
    across = min(len(runs), 3)
    down = -(-len(runs) // across)
    figure = Figure(figsize=(4.4 * across, 4.6 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(runs) :]:
        panel.set_axis_off()
    panels = panels[: len(runs)]
    for panel, run in zip(panels, runs.itertuples(), strict=True):
        mine, owners = (frame[frame["run"] == run.run] for frame in (paid, found.frames.owners))
        money_graph(mine, owners, ax=panel, heaviest=heaviest)
        panel.set_title(visible(run.label))
    legends = [panel.get_legend() for panel in panels]
    entries = {
        text.get_text(): mark for one in legends for text, mark in zip(one.texts, one.legend_handles, strict=True)
    }
    for one in legends:
        one.remove()
    over = f", means over {found.seeds} seeds" if found.seeds > 1 else ""
    words = f"money of the last step{over}; arrows run from payer to payee"
    figure.legend(entries.values(), entries, title=words, loc="outside lower center", ncol=len(entries), frameon=False)
    return figure


def _time_picture(found: Comparison) -> Any:
    from fedabm.analysis.figures import contributions_over_time, side_by_side

    return side_by_side(found.frames, contributions_over_time)


#: the figures that a study may ask for, by name
PICTURES = {
    "comparison": lambda found: found.figure(),
    "owners": _owners_picture,
    "money": _money_picture,
    "over time": _time_picture,
}
