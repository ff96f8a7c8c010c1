"""The league: all rules meet the same deviations on the same populations, oracles and seeds.

One table "rule x deviation": what the deviator gains, what the others lose, both in units of what an owner has on
average under that rule; with paired differences against the rule without payments and 95% intervals over populations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fedabm import mechanisms
from fedabm.auditing.achieved import IDLE, achieved
from fedabm.auditing.claims import stake
from fedabm.auditing.deviations import KINDS, LieLimits
from fedabm.auditing.groups import best_joint_lie, groups_of
from fedabm.auditing.kinds import skipped, try_kinds
from fedabm.auditing.mistaken import MISLED, NO_PROMISE, Belief, beliefs
from fedabm.auditing.search import SearchEffort, best_lies
from fedabm.auditing.stage import Stage
from fedabm.auditing.tuned import games_of, tuned
from fedabm.common.confidence import confidence
from fedabm.common.errors import InputError, check_count, check_whole, nearest
from fedabm.common.random import generator
from fedabm.games.accuracy import Accuracy, PowerLaw
from fedabm.games.accuracy.announced import Announced
from fedabm.games.costs import Linear, costs_of
from fedabm.games.money import net_welfare, outside_money
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    Mechanism,
    ModelMarket,
    MultiplicativeWeights,
    PartialReciprocity,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    TullockContest,
    Verification,
)
from fedabm.mechanisms.market import GivenModels, ImportGain
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.specs.hints import parameters_of
from fedabm.specs.kinds import kinds
from fedabm.views import Reports

__all__ = [
    "BEST",
    "COLUMNS",
    "League",
    "closed_rules",
    "exchanging_rules",
    "league",
    "played",
    "population_of",
    "spread_over",
]

#: the best of all that one owner can say, and the best joint lie of two
BEST, PAIR = "best lie", "pair"
#: the share of all data that a rule which asks for data asks for before it is tuned
_ASKED = 0.5
#: seeds of the populations on which rules are tuned, which nobody is judged on
_TUNING = (1_000_003, 1_000_033)
#: what is asked of every rule, in the order of the table
COLUMNS = (BEST, *(kind for kind in KINDS if kind not in ("contribution", "side payments")), PAIR)


def closed_rules(costs: Sequence[float], total: float = 100.0) -> dict[str, Mechanism]:
    """One of every class in `fedabm.mechanisms` that settles on contributions, for owners with `total` data in all.

    Screening knows quartiles of costs; who asks for data asks for half of the total, until it is tuned.
    """
    low, middle, high = np.quantile(np.asarray(costs), [0.25, 0.5, 0.75]).tolist()
    subsidy = ContributionSubsidy(0.6 * middle)
    chosen: tuple[Mechanism, ...] = (
        subsidy,
        CostSharing(),
        MultiplicativeWeights(0.5, _ASKED * total),
        PartialReciprocity(0.5),
        ProportionalData(1.0),
        ProportionalShapley(1.0),
        ProportionalValue(1.0),
        Screening(low, max(high, 1.01 * low), 0.5),
        TullockContest(0.5),
        Verification(subsidy, fine=20.0),
    )
    given = {type(rule).__name__: rule for rule in chosen}
    others = {name: kind() for name, kind in _kinds() if kind.promises and name not in given and _complete(kind)}
    return dict(sorted({**given, **others}.items()))


def exchanging_rules() -> dict[str, Mechanism]:
    """One of every class that hands out a model per owner."""
    return {name: kind() for name, kind in _kinds() if not kind.promises}


def _complete(kind: Any) -> bool:
    """Whether a class can do without parameters: one that cannot plays if it is listed above."""
    return all(one.default is not one.empty for one in parameters_of(kind).values())


def _kinds() -> Iterable[tuple[str, Any]]:
    return sorted((kind.__name__, kind) for kind in kinds(mechanisms, mechanisms.Mechanism).values())


def population_of(seed: int, owners: int) -> tuple[OwnerProfile, ...]:
    """Owners whose unit costs spread over a factor of ten, with unequal data; the same for every rule."""
    rng = generator(seed, "population")
    costs, sizes = 0.01 * 10.0 ** rng.uniform(0.0, 1.0, owners), rng.uniform(10.0, 40.0, owners)
    eager = 100.0 * sizes * rng.uniform(0.5, 1.0, owners)
    columns = zip(costs.tolist(), sizes.tolist(), eager.tolist(), strict=True)
    return tuple(OwnerProfile(Linear(cost), size, eagerness=keen) for cost, size, keen in columns)


def _scenario(
    name: str, seed: int, owners: int, rule: Mechanism | None = None, accuracy: Accuracy | None = None
) -> Scenario:
    """The population of a seed under a rule: with a model of everyone's own if the rule exchanges models."""
    people = population_of(seed, owners)
    if rule is not None:
        return Scenario(people, accuracy or PowerLaw(), rule)
    rules = closed_rules(*_known_of([people]))
    if name in rules:
        return Scenario(people, PowerLaw(), rules[name])
    apart = generator(seed, "population", 1).uniform(0.0, 0.02, (owners, owners))
    apart = np.triu(apart, 1) + np.triu(apart, 1).T
    return Scenario(people, GivenModels(apart), exchanging_rules()[name], valuation=ImportGain())


def _known_of(people: Sequence[Sequence[OwnerProfile]]) -> tuple[list[float], float]:
    """Unit costs of some populations, and how much data one of them has on average."""
    rates = [float(one.cost.unit(np.zeros(1))[0]) for group in people for one in group]
    return rates, sum(one.capacity for group in people for one in group) / len(people)


def _stage(scenario: Scenario) -> Stage:
    """Where owners respond, or give what a rule asks for if it asks."""
    size = np.array([one.capacity for one in scenario.owners])
    reports = Reports(size, size, costs_of([one.cost for one in scenario.owners]))
    return Stage.of(scenario, profile=scenario.mechanism.quotas(reports))


@dataclass(frozen=True)
class _Task:
    """One rule on one population: as it is judged, tuned, and of a server that is wrong by a factor of 2."""

    name: str
    seed: int
    owners: int
    questions: int
    rule: Mechanism | None = None
    misled: Mapping[str, Belief | str] = field(default_factory=dict)
    words: str = ""


def _one(task: _Task) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All deviations against one rule on one population, and what the rule achieves there."""
    stage = _stage(_scenario(task.name, task.seed, task.owners, task.rule))
    rows, reached = played(stage, task.name, task.seed, task.questions)
    words = "; ".join(word for word in (task.words, IDLE if _idle(stage) else "") if word)
    facts = {"rule": task.name, "scheme": "closed", "seed": task.seed, "tuned": words}
    measured = (reached | _misled(task)).items()
    return rows, [facts | {"measure": key, "value": value, "note": note} for key, (value, note) in measured]


def played(
    stage: Stage, name: str, seed: int, questions: int
) -> tuple[list[dict[str, Any]], dict[str, tuple[float, str]]]:
    """All deviations against the rule of a stage, a row each, and what the rule achieves there."""
    owners, limits = stage.owners, LieLimits()
    effort = SearchEffort(questions=questions, owners=owners, seed=seed)
    unit, rows = stake(stage), []
    alone = best_lies(stage, limits, effort)
    rows.append(_row(BEST, alone[0].gain, np.nan, max(one.bound for one in alone), alone[0].words))
    for one in try_kinds(stage, limits, effort):
        rows.append(_row(one.kind, one.gain, one.loss, one.bound, one.words))
    if owners > 1:
        members = [one.owner for one in alone[:2]] if len(alone) > 1 else groups_of(stage, 2, 1, seed)[0][0]
        joint = best_joint_lie(stage, sorted(members), limits, effort, alone)
        rows.append(_row(PAIR, joint.gain, joint.loss, np.inf, joint.words))
    rows += [_row(kind, np.nan, np.nan, np.nan, f"skipped: {why}") for kind, why in skipped(stage).items()]
    settled = stage.settled
    money = {
        "outside_money": float(outside_money(settled.payment)),
        "net_welfare": float(net_welfare(settled.utility, settled.payment)),
    }
    known = {"rule": name, "seed": seed, "stake": unit, **money}
    asked = [{**known, **row} for row in rows if row["deviation"] in COLUMNS]
    return asked, achieved(stage, alone[0] if alone[0].gain > 0 else None, 2 * owners, seed)


def _idle(stage: Stage) -> bool:
    """Whether the rule pays nobody, may ration nobody and asks nobody for data."""
    if not stage.plays_a_game or stage.mechanism.quotas(stage.truth.reports) is not None:
        return False
    return not np.any(stage.settled.payment) and stage.offers.received is stage.offers.accuracy


def _misled(task: _Task) -> dict[str, tuple[float, str]]:
    """Welfare under a server that believes what is wrong by a factor of 2."""
    found = {}
    for what in MISLED:
        name, wrong = f"welfare, {what} wrong", task.misled.get(what, "asked of tuned rules only")
        if isinstance(wrong, str):
            found[name] = np.nan, wrong
            continue
        believed = Announced(PowerLaw(), wrong.curve)
        stage = _stage(_scenario(task.name, task.seed, task.owners, wrong.rule, believed))
        cost = stage.costs.value(stage.profile)
        found[name] = float((stage.settled.accuracy - cost).mean()), ""
    return found


def _row(kind: str, gain: float, loss: float, bound: float, words: str) -> dict[str, Any]:
    return {"deviation": kind, "gain": gain, "loss": loss, "bound": bound, "words": words}


@dataclass(frozen=True)
class League:
    """One row per rule, seed and deviation: gain of the deviator, loss of the others, bound, and the words.

    Parameters
    ----------
    rows : pandas.DataFrame
        What deviations bring and do.
    achieved : pandas.DataFrame
        One row per rule, seed and measure: what the rule achieves, or why that means nothing there.
    baseline : str
        The rule from which differences are taken: what the one without payments is called.
    """

    rows: pd.DataFrame
    achieved: pd.DataFrame = field(default_factory=pd.DataFrame)
    baseline: str = "NoPayments"

    def table(self, column: str = "gain") -> pd.DataFrame:
        """The mean over populations of a gain or loss in units of what an owner has: rules x deviations."""
        scaled = self.rows.assign(value=self.rows[column] / self.rows["stake"])
        wide = scaled.pivot_table(index="rule", columns="deviation", values="value", aggfunc="mean", dropna=False)
        asked = dict.fromkeys(self.rows["deviation"])
        names = [*(name for name in COLUMNS if name in asked), *(name for name in asked if name not in COLUMNS)]
        wide = wide.reindex(index=dict.fromkeys(self.rows["rule"]))[names]
        return wide.sort_values(BEST, kind="stable") if BEST in wide else wide

    def money(self) -> pd.DataFrame:
        """Per rule, the best first: mean over populations of net welfare and outside money, if nobody deviates."""
        once = self.rows.drop_duplicates(["rule", "seed"]).groupby("rule", sort=False)
        table = once[["net_welfare", "outside_money"]].mean().reset_index()
        return table.sort_values("net_welfare", ascending=False, kind="stable", ignore_index=True)

    def paired(self, deviation: str = BEST, against: str | None = None) -> pd.DataFrame:
        """The gain of a deviation under each rule less that under another one on the same populations, with 95% CI."""
        against = self.baseline if against is None else against
        rows = self.rows[self.rows["deviation"] == deviation]
        wide = rows.assign(value=rows["gain"] / rows["stake"]).pivot(index="seed", columns="rule", values="value")
        found = []
        for name in wide:
            difference = wide[name] - wide[against] if against in wide else wide[name]
            low, high = confidence(difference, noise="normal")
            mean = float(wide[name].mean())
            found.append({"rule": name, "gain": mean, "difference": float(difference.mean()), "low": low, "high": high})
        return pd.DataFrame(found).sort_values("gain", kind="stable", ignore_index=True)


def league(
    seeds: int | Sequence[int] = 5,
    owners: int = 6,
    rules: Iterable[str] | None = None,
    questions: int = 60,
    workers: int = 1,
    tuning: int = 0,
) -> League:
    """Every rule of the package (or those named) against every deviation on every population.

    Parameters
    ----------
    seeds : int or sequence of int
        The populations, or how many.
    owners : int
        How many owners each has.
    rules : iterable of str, optional
        Some rules only, by the names of their classes.
    questions : int
        The budget of the search for the best lie.
    workers : int
        How many processes.
    tuning : int
        How many parameters are tried of each rule, on other populations; 0: rules are as `closed_rules` has them.

    Returns
    -------
    League
        What deviations bring, and what rules achieve.
    """
    check_whole("owners", owners, 2)
    check_whole("workers", workers)
    if isinstance(seeds, int):
        check_count("seeds", seeds)
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    known: Mapping[str, Mechanism] = {**closed_rules([0.01, 0.1]), ModelMarket.__name__: ModelMarket()}
    names = list(known) if rules is None else list(rules)
    for name in names:
        if name not in known:
            raise InputError(f"no mechanism of the league is called {name!r}; {nearest(name, known)}")
    with spread_over(workers) as spread:
        prepared = list(spread(_prepared, [(name, owners, tuning) for name in names]))
        tasks = [replace(one, seed=seed, questions=questions) for one in prepared for seed in numbers]
        parts = list(spread(_one, tasks))
    rows, reached = ([row for part in parts for row in part[place]] for place in (0, 1))
    return League(pd.DataFrame(rows), pd.DataFrame(reached))


@contextmanager
def spread_over(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A map in this process, or over several."""
    if workers == 1:
        yield map
        return
    with ProcessPoolExecutor(workers) as pool:
        yield pool.map


def _prepared(given: tuple[str, int, int]) -> _Task:
    """A rule, tuned to populations of its own, and to what is wrong by a factor of 2."""
    name, owners, questions = given
    people = [population_of(seed, owners) for seed in _TUNING]
    rules = closed_rules(*_known_of(people))
    task = _Task(name, 0, owners, 0)
    if not questions:
        return task
    if name not in rules:
        return replace(task, misled=dict.fromkeys(MISLED, NO_PROMISE))
    games = partial(games_of, people)
    rule, words = tuned(rules[name], games(PowerLaw()), questions)
    misled = beliefs(rule, PowerLaw(), lambda one, believed: tuned(one, believed, questions)[0], games)
    return replace(task, rule=rule, words=words, misled=misled)
