"""Where trained rules meet: data that are divided anew by every seed, a curve measured on them, owners that respond.

The server measures what the data are worth by training on parts of them, fits a power law and announces it; owners move
along their own slopes, so that contributions lie between nothing and all.  Rules that exchange models train one per
owner, who gives all.  One unit everywhere: accuracy, payments and costs in units of accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.auditing.tuned import asks
from fedabm.common.random import generator
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import Dirichlet
from fedabm.data.quality import FeatureNoise, LabelNoise, Quality
from fedabm.games.accuracy import Oracle, PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.games.curves import Array
from fedabm.knowledge import Knowledge
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.oracles.learning import Learning
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import LocalOnly, Mechanism, NoPayments
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.solving.game import Game
from fedabm.strategies import AsAsked, FixedShare, GradientResponse, Honest, Strategy
from fedabm.views import Reports

__all__ = ["DIGITS", "WORLDS", "Arena", "Both", "Ended", "World", "fitted"]

_PARTS = (0.1, 0.3, 1.0)


@dataclass(frozen=True)
class World:
    """A data set, and how models learn from it.

    Parameters
    ----------
    data : str
        Name of the data set.
    network : str
        Name of the network.
    recipe : Recipe
        How owners train.
    rounds : int
        How many rounds are played.
    samples : int | None
        How many samples a seed draws; None: all.
    noise : float
        Width of the noise through which features are seen; 0: none.
    """

    data: str
    network: str
    recipe: Recipe
    rounds: int
    samples: int | None = None
    noise: float = 0.0

    def divided(self, seed: int, owners: int, defects: Mapping[int, Quality] | None = None) -> FederatedData:
        """Data in unequal classes, those of some owners with defects."""
        whole = load_dataset(self.data)
        if self.samples is not None:
            whole = whole.train
            whole = whole.subset(generator(seed, "data").permutation(len(whole))[: self.samples])
        seen = FeatureNoise(self.noise) if self.noise else None
        quality: dict[int, Quality] = {} if seen is None else dict.fromkeys(range(owners), seen)
        for owner, defect in (defects or {}).items():
            quality[owner] = defect if seen is None else Both(seen, defect)
        return from_partition(whole, Dirichlet(owners, 0.5), seed, 0.5, quality, one_class="allow")


#: what the league is played on in minutes
DIGITS = World("digits", "mlp", Recipe(steps=10, batch=16, optimiser=SGD(0.05, momentum=0.9)), 5, noise=0.5)
#: what it is played on where it is recorded: networks that learn much in seconds
WORLDS = {
    "digits": DIGITS,
    "mnist": World("mnist", "mlp", Recipe(steps=20, batch=32, optimiser=SGD(0.05, momentum=0.9)), 8, 6_000, 0.5),
    "cifar10": World("cifar10", "mlp", Recipe(steps=20, batch=32, optimiser=SGD(0.02, momentum=0.9)), 8, 3_000),
    "sent140": World("sent140", "token_mlp", Recipe(steps=20, batch=32, optimiser=Adam(0.003)), 6, 6_000),
}


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
    """The data of a seed, the curve measured on them, and owners whose best responses lie inside.

    `noisy` are the data with defects: in the league half of the first owner's labels are wrong.
    """

    world: World
    clean: FederatedData
    noisy: FederatedData
    curve: PowerLaw
    error: float
    rates: Array
    step: float
    seed: int

    @classmethod
    def of(cls, seed: int, owners: int, world: World = DIGITS) -> Arena:
        """Measure the curve, and draw costs for which about three fifths of all data would be best for all."""
        clean = world.divided(seed, owners)
        noisy = world.divided(seed, owners, {0: LabelNoise(0.5)})
        bare = cls(world, clean, noisy, PowerLaw(), 0.0, np.full(owners, 1e-12), 0.0, seed)
        totals, reached = [0.0], [1.0 / (clean.classes or 2)]
        for part in _PARTS:
            ended = bare.run(NoPayments(), {row: FixedShare(part) for row in range(owners)})
            totals.append(float(ended.contribution.sum()))
            reached.append(float(ended.accuracy.mean()))
        curve, error = fitted(np.array(totals), np.array(reached))
        steep = owners * float(curve.curve_slope(np.array(0.6 * totals[-1])))
        rates = steep * generator(seed, "population").uniform(0.5, 1.5, owners)
        step = float(np.mean(clean.capacities)) / (4.0 * world.rounds * steep)
        return cls(world, clean, noisy, curve, error, rates, step, seed)

    def with_defects(self, defects: Mapping[int, Quality]) -> Arena:
        """The same, with other spoilt data."""
        return replace(self, noisy=self.world.divided(self.seed, len(self.rates), defects))

    @property
    def owners(self) -> list[OwnerProfile]:
        """Who respond by gradients, from half of their data."""
        facts = zip(self.rates.tolist(), np.asarray(self.clean.capacities, dtype=float).tolist(), strict=True)
        return [
            OwnerProfile(Linear(rate), size, GradientResponse(self.step or 1.0), 0.5 * size, eagerness=100.0 * size)
            for rate, size in facts
        ]

    def among(self, rows: Sequence[int]) -> Arena:
        """The same with some of the owners only."""
        kept = np.asarray(rows, dtype=np.intp)
        return replace(self, clean=_of_some(self.clean, kept), noisy=_of_some(self.noisy, kept), rates=self.rates[kept])

    @property
    def game(self) -> Game:
        """The game by the measured curve, without a rule."""
        cost = PowerCost(self.rates, np.ones(len(self.rates)), np.zeros(len(self.rates)))
        return Game(self.curve, cost, np.asarray(self.clean.capacities, dtype=float), NoPayments())

    @cached_property
    def alone(self) -> Array:
        """The accuracy of the model that each owner trains by itself on all its data, (n,)."""
        return self.run(LocalOnly()).accuracy

    def run(
        self,
        rule: Mechanism,
        changes: Mapping[int, Strategy] | None = None,
        recipe: Recipe | None = None,
        knowledge: Knowledge | None = None,
        *,
        spoilt: bool = False,
        announced: PowerLaw | None = None,
    ) -> Ended:
        """Play some rounds with what some owners do instead; `announced` is another curve than the measured one."""
        played = self.played(rule, changes, recipe, knowledge, spoilt=spoilt, announced=announced)
        return self.ended(played, rule)

    def ended(self, model: Federation, rule: Mechanism) -> Ended:
        """How a federation under a rule ended."""
        return _ended(model, self.rates, paid=rule.promises)

    def played(
        self,
        rule: Mechanism,
        changes: Mapping[int, Strategy] | None = None,
        recipe: Recipe | None = None,
        knowledge: Knowledge | None = None,
        *,
        spoilt: bool = False,
        announced: PowerLaw | None = None,
    ) -> Federation:
        """The federation after these rounds."""
        world = self.world
        engine = self.spoilt_engine if spoilt else self.engine
        how = recipe or world.recipe
        curve = announced or self.curve
        oracle: Oracle = Learning(engine, how, announced=curve) if rule.promises else Personal(engine, how, measured=64)
        people = [replace(one, strategy=self.own(rule)) for one in self.owners]
        for row, strategy in (changes or {}).items():
            people[row] = replace(people[row], strategy=strategy)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* values owners by single rounds")  # the table says so
            scenario = Scenario(tuple(people), oracle, rule, steps=world.rounds, knowledge=knowledge)
            return Federation(scenario, self.seed).run()

    @cached_property
    def engine(self) -> Engine:
        """The network and the owners' data."""
        return Engine(self.world.network, self.clean)

    @cached_property
    def spoilt_engine(self) -> Engine:
        """The same with defects."""
        return Engine(self.world.network, self.noisy)

    def rations(self, rule: Mechanism, ended: Ended) -> bool:
        """Whether the rule asks for data, or hands anybody less than the full model for what it gave in the end."""
        game = self.game
        reports = Reports(ended.contribution, game.capacities, game.costs if rule.asks_cost else None)
        if rule.quotas(reports) is not None:
            return True
        return bool(np.any(rule.offers(self.curve, reports).access(ended.contribution) < 1.0))

    def own(self, rule: Mechanism) -> Strategy:
        """What owners do anyway: what a rule asks for if it asks, all where each has its own model, else respond."""
        if rule.promises and asks(rule, self.game):
            return AsAsked()
        return GradientResponse(self.step or 1.0) if rule.promises else Honest()


def _of_some(data: FederatedData, rows: NDArray[np.intp]) -> FederatedData:
    """The data of some owners, in that order."""
    parts: dict[str, Any] = {}
    for part, offsets in (("train", data.offsets), ("test", data.test_offsets)):
        taken = np.concatenate([np.arange(offsets[row], offsets[row + 1]) for row in rows])
        parts |= {f"{what}_{part}": getattr(data, f"{what}_{part}")[taken] for what in "xy"}
    ends = [np.concatenate([[0], np.cumsum(sizes[rows])]) for sizes in (data.capacities, data.test_sizes)]
    names = tuple(data.names[row] for row in rows) if data.names else ()
    return replace(data, **parts, offsets=ends[0], test_offsets=ends[1], names=names)


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
