"""The league with really trained models: owners of handwritten digits respond to a curve that was measured on them.

Rules that settle on contributions share one model, learned by federated averaging.  The server measures what the data
are worth by training on parts of them, fits a power law, announces it, and tunes the rule to it; owners move along
their own slopes, so that contributions lie between nothing and all.  Rules that exchange models train one per owner,
who gives all.  One unit everywhere: accuracy, payments and costs in units of accuracy.  What a deviation does is the
difference of two runs with the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fedabm.auditing.achieved import measures_of
from fedabm.auditing.league import League, closed_rules, exchanging_rules
from fedabm.auditing.tuned import games_of, tuned
from fedabm.common.bounds import written
from fedabm.common.random import generator
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import Dirichlet
from fedabm.data.quality import FeatureNoise, LabelNoise, Quality
from fedabm.games.accuracy import Oracle, PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Learning
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.base import Rule
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.solving.game import Game
from fedabm.strategies import AsAsked, Attacker, FixedShare, FreeRider, GradientResponse, Honest, Liar, Strategy
from fedabm.views import Reports

__all__ = ["IDLE", "MIXED", "SAME", "TRAINED", "Arena", "attack_table", "fitted", "trained_league"]

#: what the deviator does with what it would do anyway; whose data are noisy is honest about everything but that
TRAINED = ("claims twice", "size x4", "cost x3", "sign flip", "free ride", "noisy labels")
#: a mixture of behaviours: one gives nothing, one claims twice what it uses, the others respond
MIXED = "one free-rider and one liar"
#: what is said of a rule that changed nothing
IDLE = "does nothing here: pays and rations nobody"
#: rules that are another one where models train on an announced curve, and why
SAME = {
    ("RealFM", "ValueShaping"): "accuracy is its own payoff here",
    ("LeaveOneOut", "ScorePayments"): "the server knows worth itself, not scores of updates",
}
_ROUNDS, _PARTS = 5, (0.1, 0.3, 1.0)
#: by how much owners' test parts may tell a model worse than the curve has it
_TOLERANCE = 0.1
_RECIPE = Recipe(steps=10, batch=16, optimiser=SGD(0.05, momentum=0.9))


def deviating(what: str, own: Strategy) -> Strategy:
    """The strategy of a deviation around the own one."""
    if what in ("sign flip", "noise", "nan"):
        return Attacker(own, what.replace(" ", "_"))
    return {
        "claims twice": Liar(own, contribution_factor=2.0),
        "size x4": Liar(own, size_factor=4.0),
        "cost x3": Liar(own, cost_factor=3.0),
        "free ride": Attacker(own, "free_ride", trains=False),
        "noisy labels": own,
    }[what]


@dataclass(frozen=True)
class Ended:
    """How a run ended, one entry per owner, and how many models and bytes were sent in its last round.

    `idle`: the rule paid nobody, in no round.
    """

    contribution: Array
    accuracy: Array
    payment: Array
    cost: Array
    models: float
    bytes: float
    idle: bool

    @property
    def utility(self) -> Array:
        """u = a + p - c."""
        return self.accuracy + self.payment - self.cost


@dataclass(frozen=True)
class Arena:
    """The data of a seed, the curve measured on them, and owners whose best responses lie inside."""

    clean: FederatedData
    noisy: FederatedData
    curve: PowerLaw
    error: float
    rates: Array
    step: float
    seed: int

    @classmethod
    def of(cls, seed: int, owners: int, rule: Rule | None = None) -> Arena:
        """Measure the curve, and draw costs for which about three fifths of all data would be best for all."""
        clean, noisy = (_data(seed, owners, spoilt=spoilt) for spoilt in (False, True))
        bare = cls(clean, noisy, PowerLaw(), 0.0, np.full(owners, 1e-12), 0.0, seed)
        totals, reached = [0.0], [1.0 / (clean.classes or 2)]
        for part in _PARTS:
            ended = bare.run(NoPayments(), {row: FixedShare(part) for row in range(owners)})
            totals.append(float(ended.contribution.sum()))
            reached.append(float(ended.accuracy.mean()))
        curve, error = fitted(np.array(totals), np.array(reached))
        steep = owners * float(curve.curve_slope(np.array(0.6 * totals[-1])))
        rates = steep * generator(seed, "population").uniform(0.5, 1.5, owners)
        step = float(np.mean(clean.capacities)) / (4.0 * _ROUNDS * steep)
        return cls(clean, noisy, curve, error, rates, step, seed)

    @property
    def owners(self) -> list[OwnerProfile]:
        """Who respond by gradients, from half of their data."""
        facts = zip(self.rates.tolist(), np.asarray(self.clean.capacities, dtype=float).tolist(), strict=True)
        return [
            OwnerProfile(Linear(rate), size, GradientResponse(self.step or 1.0), 0.5 * size, eagerness=100.0 * size)
            for rate, size in facts
        ]

    def run(
        self,
        rule: Mechanism,
        changes: Mapping[int, Strategy] | None = None,
        recipe: Recipe = _RECIPE,
        *,
        spoilt: bool = False,
    ) -> Ended:
        """Play some rounds with what some owners do instead."""
        engine = Engine("mlp", self.noisy if spoilt else self.clean)
        oracle: Oracle = (
            Learning(engine, recipe, announced=self.curve) if rule.promises else Personal(engine, recipe, measured=64)
        )
        people = [replace(one, strategy=self.own(rule)) for one in self.owners]
        for row, strategy in (changes or {}).items():
            people[row] = replace(people[row], strategy=strategy)
        model = Federation(Scenario(tuple(people), oracle, rule, steps=_ROUNDS), self.seed).run()
        return _ended(model, self.rates, paid=rule.promises)

    def rations(self, rule: Mechanism, ended: Ended) -> bool:
        """Whether anybody is handed less than the full model for what it gave in the end."""
        cost = PowerCost(self.rates, np.ones(len(self.rates)), np.zeros(len(self.rates)))
        size = np.asarray(self.clean.capacities, dtype=float)
        offers = rule.offers(self.curve, Reports(ended.contribution, size, cost if rule.asks_cost else None))
        return bool(np.any(offers.access(ended.contribution) < 1.0))

    def own(self, rule: Mechanism) -> Strategy:
        """What owners do anyway: what a rule asks for if it asks, all where each has its own model, else respond."""
        size = np.asarray(self.clean.capacities, dtype=float)
        if rule.promises and rule.quotas(Reports(size, size)) is not None:
            return AsAsked()
        return GradientResponse(self.step or 1.0) if rule.promises else Honest()


def _ended(model: Federation, rates: Array, *, paid: bool) -> Ended:
    frames = model.frames()
    last = frames.owners[frames.owners["step"] == frames.owners["step"].max()].sort_values("owner")
    given = last["contribution"].to_numpy(dtype=float)
    payment = last["payment"].to_numpy(dtype=float) if paid else np.zeros(len(given))
    sent = frames.steps.iloc[-1]
    models, size = (float(sent[f"{what}_up"] + sent[f"{what}_down"]) for what in ("models", "bytes"))
    idle = bool(paid and (frames.owners["payment"] == 0).all())
    return Ended(given, last["accuracy"].to_numpy(dtype=float), payment, rates * given, models, size, idle)


def fitted(totals: Array, reached: Array) -> tuple[PowerLaw, float]:
    """The power law nearest to measured accuracies, and its largest distance from one of them.

    >>> curve, error = fitted(np.array([0.0, 10.0, 100.0, 1000.0]), np.array([0.1, 0.5, 0.8, 0.9]))
    >>> bool(error < 0.05), curve.ceiling <= 1.0
    (True, True)
    """
    from scipy.optimize import least_squares  # slow to import

    most = min(1.0, float(reached.max()) + 0.1)

    def made(free: Array) -> PowerLaw:
        exponent, offset = np.exp(free[:2])
        ceiling = 1.0 if most >= 1.0 else float(reached.max() + (most - reached.max()) / (1.0 + np.exp(-free[2])))
        scale = max((ceiling - float(reached[0])) * offset**exponent, 1e-12)
        return PowerLaw(float(scale), float(exponent), float(offset), ceiling)

    def missed(free: Array) -> Array:
        return made(free).curve(totals) - reached

    start = np.array([np.log(0.5), np.log(max(float(totals[1]), 1e-6)), 0.0])
    low, high = [np.log(0.05), np.log(1e-3), -9.0], [np.log(5.0), np.log(10.0 * float(totals[-1])), 9.0]
    curve = made(least_squares(missed, np.clip(start, low, high), bounds=(low, high)).x)
    return curve, float(np.max(np.abs(curve.curve(totals) - reached)))


def trained_league(
    seeds: int = 3, owners: int = 6, rules: Sequence[str] | None = None, workers: int = 1, tuning: int = 0
) -> League:
    """What the deviator gains and each of the others loses in the last round, and what rules achieve.

    Parameters
    ----------
    seeds : int
        How many divisions of the data, with models of their own.
    owners : int
        How many owners share them.
    rules : sequence of str, optional
        Some rules only.
    workers : int
        How many processes, one seed each.
    tuning : int
        How many parameters are tried of each rule on the measured curve.

    Returns
    -------
    League
        One row per rule, seed and deviation, and one per rule, seed and measure.
    """
    one = partial(_one_seed, owners=owners, rules=None if rules is None else tuple(rules), tuning=tuning)
    if workers == 1:
        parts = [one(seed) for seed in range(seeds)]
    else:
        with ProcessPoolExecutor(workers) as pool:
            parts = list(pool.map(one, range(seeds)))
    lies, reached = ([row for part in parts for row in part[place]] for place in (0, 1))
    return League(pd.DataFrame(lies), pd.DataFrame(reached))


def _one_seed(
    seed: int, owners: int, rules: tuple[str, ...] | None, tuning: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All rules and deviations on the data of one seed."""
    arena = Arena.of(seed, owners)
    every, lies, reached = {**closed_rules(arena.rates.tolist()), **exchanging_rules()}, [], []
    games = games_of([arena.owners], arena.curve)
    for name, rule in every.items():
        if rules is not None and name not in rules:
            continue
        rule, words = _prepared(rule, games, tuning, seed)
        honest, own = arena.run(rule), arena.own(rule)
        for label in TRAINED:
            after = arena.run(rule, {0: deviating(label, own)}, spoilt=label == "noisy labels")
            lies.append({"rule": name, "seed": seed, "deviation": label, **_change(honest, after), "words": label})
        mixed = arena.run(rule, {0: FreeRider(), 1: deviating("claims twice", own)})
        for scheme, ended in (("trained", honest), (f"trained, {MIXED}", mixed)):
            said = f"{words}; {IDLE}" if ended.idle and not arena.rations(rule, ended) else words
            facts = {"rule": name, "scheme": scheme, "seed": seed, "tuned": said}
            reached += [facts | row for row in _measured(ended, arena, rule)]
    return lies, reached


def _prepared(rule: Mechanism, games: Sequence[Game], tuning: int, seed: int) -> tuple[Mechanism, str]:
    """The rule, tuned to the measured curve; what a measurement is off by is no lie."""
    if rule.checks_claims and hasattr(rule, "tolerance"):
        rule = written(rule, {"tolerance": _TOLERANCE})
    return tuned(rule, games, tuning, seed) if tuning else (rule, "as its class has it")


def _measured(ended: Ended, arena: Arena, rule: Mechanism) -> list[dict[str, Any]]:
    """The measures of a run, and why they mean nothing where they do not."""
    capacities = np.asarray(arena.clean.capacities, dtype=float)
    values = measures_of(ended.contribution, capacities, ended.accuracy, ended.payment, ended.cost)
    notes = {} if rule.promises else {"budget": "payments for models are in a unit of their own"}
    values["models sent"] = ended.models / len(capacities)
    values["bytes sent"] = ended.bytes / len(capacities)
    values |= dict.fromkeys(notes, np.nan)
    return [{"measure": name, "value": value, "note": notes.get(name, "")} for name, value in values.items()]


def _change(before: Ended, after: Ended) -> dict[str, float]:
    """What owner 0 gains, and what the others lose on average."""
    gain = after.utility - before.utility
    return {
        "gain": float(gain[0]),
        "loss": float(-np.mean(gain[1:])),
        "stake": max(float(np.mean(np.abs(before.utility))), 1e-9),
    }


def attack_table(
    attacks: Sequence[str], defences: Mapping[str, Rule], rules: Mapping[str, Mechanism], seeds: int, owners: int
) -> pd.DataFrame:
    """Attacks x defences x payment rules: accuracy that the others lose, and what the attacker gains, per seed."""
    rows = []
    for seed in range(seeds):
        arena = Arena.of(seed, owners)
        for defence, learned in defences.items():
            recipe = replace(_RECIPE, rule=learned)
            for name, rule in rules.items():
                honest, own = arena.run(rule, recipe=recipe), arena.own(rule)
                for attack in attacks:
                    after = arena.run(rule, {0: deviating(attack, own)}, recipe, spoilt=attack == "noisy labels")
                    lost = float(np.mean(honest.accuracy[1:] - after.accuracy[1:]))
                    facts = {"attack": attack, "defence": defence, "rule": name, "seed": seed}
                    rows.append({**facts, "accuracy lost": lost, **_change(honest, after)})
    return pd.DataFrame(rows)


def _data(seed: int, owners: int, *, spoilt: bool) -> FederatedData:
    """Digits in unequal classes, seen through noise; half of the deviator's labels are wrong if they are spoilt."""
    quality: dict[int, Quality] = {owner: FeatureNoise(0.5) for owner in range(owners)}
    if spoilt:
        quality[0] = Both(FeatureNoise(0.5), LabelNoise(0.5))
    return from_partition(load_dataset("digits"), Dirichlet(owners, 0.5), seed, 0.5, quality, one_class="allow")


@dataclass(frozen=True)
class Both:
    """Data with two defects, one after the other."""

    first: Quality
    then: Quality

    def spoil(
        self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The samples after both."""
        return self.then.spoil(*self.first.spoil(x, y, rng, classes), rng, classes)
