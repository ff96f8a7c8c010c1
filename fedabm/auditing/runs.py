"""Deviations in federations that really train: paired runs with the same seed, with and without the deviation.

A model in training is no function of a profile, so nothing can be solved or proven.  What can be had is the mean
utility of every owner over some rounds, and its difference between two runs of one seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from fedabm.auditing.answers import Unpromised
from fedabm.auditing.deviations import LieLimits
from fedabm.common.confidence import confidence
from fedabm.common.texts import readable
from fedabm.games.curves import Array
from fedabm.mechanisms import NoPayments
from fedabm.mechanisms.base import Mechanism
from fedabm.simulation.model import Federation
from fedabm.simulation.owners import OwnerProfile
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Never
from fedabm.strategies import Attacker, FixedShare, FreeRider, Liar, Strategy

__all__ = ["Interval", "Move", "Runs", "Score", "interval", "moves"]

Changes = Mapping[int, Strategy]


class Move(NamedTuple):
    """Something that an owner can do instead: its kind, its words, the strategy, and whether it is honest."""

    kind: str
    words: str
    strategy: Strategy
    honest: bool = False


def moves(profile: OwnerProfile, rule: Mechanism, limits: LieLimits) -> list[Move]:
    """All that is tried of one owner, around what it does anyway."""
    own = profile.strategy
    tried = [
        Move("contribution", "contributes nothing, and says so", FreeRider(), honest=True),
        Move("contribution", "contributes half of its data, and says so", FixedShare(0.5), honest=True),
        Move("contribution", "contributes all its data, and says so", FixedShare(1.0), honest=True),
        Move("claim", f"claims {limits.claim:g} times what it uses", Liar(own, contribution_factor=limits.claim)),
        Move("claim", "claims nothing of what it uses", Liar(own, contribution_factor=0.0)),
        Move("tampering", "does not train, sends back the model and claims as ever", _idle(own)),
        Move("tampering", "sends the opposite of its update", Attacker(own, "sign_flip")),
        Move("tampering", "sends an update that cannot be used", Attacker(own, "nan")),
    ]
    if not rule.ignores_size:
        words = "claims to have {:g} times its data"
        tried += [Move("size", words.format(factor), Liar(own, size_factor=factor)) for factor in limits.size]
    if rule.asks_cost:
        factors = (limits.cost[0], 0.5, 2.0, limits.cost[1])
        tried += [
            Move("cost", f"states {factor:g} times its cost", Liar(own, cost_factor=factor)) for factor in factors
        ]
    if rule.asks_eagerness and profile.eagerness > 0:
        words = "states {:g} times its eagerness"
        ends = limits.eagerness
        tried += [Move("eagerness", words.format(factor), Liar(own, eagerness_factor=factor)) for factor in ends]
    return tried


def _idle(own: Strategy) -> Strategy:
    return Attacker(own, "free_ride", trains=False)


class Score(NamedTuple):
    """What a run brought: everybody's mean utility over its rounds (n,), and the largest sums that were paid."""

    utility: Array
    contribution: Array
    paid: float
    moved: float


@dataclass(frozen=True)
class Runs:
    """Runs of a scenario for some rounds; each is done once."""

    scenario: Scenario
    rounds: int
    _known: dict[tuple, Score] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, scenario: Scenario, rounds: int) -> Runs:
        """All rounds are played, also at rest, and money that leaks is a finding."""
        rule = scenario.mechanism
        rule = Unpromised(rule) if rule.budget_balanced else rule
        rounds = min(rounds, scenario.steps)
        return cls(replace(scenario, mechanism=rule, steps=rounds, stopping=Never(), record=None), rounds)

    @property
    def owners(self) -> Sequence[OwnerProfile]:
        """Who plays."""
        return self.scenario.owners

    def __len__(self) -> int:
        return len(self._known)

    @property
    def together(self) -> list[Score]:
        """All runs so far in which everybody is there."""
        return [score for (*_, among), score in self._known.items() if among is None]

    def score(self, seed: int, changes: Changes | None = None, among: tuple[int, ...] | None = None) -> Score:
        """What a run with this seed brings if some owners do something else, or if some are `among` themselves.

        A group keeps the rule; who trains alone pays nobody where a rule promises something for data.
        """
        changes = changes or {}
        key = (seed, tuple(sorted((owner, repr(one)) for owner, one in changes.items())), among)
        if key not in self._known:
            self._known[key] = self._run(seed, changes, among)
        return self._known[key]

    def _run(self, seed: int, changes: Changes, among: tuple[int, ...] | None) -> Score:
        people = [replace(one, strategy=changes.get(row, one.strategy)) for row, one in enumerate(self.owners)]
        rule = self.scenario.mechanism
        if among is not None:
            late = self.rounds + 1
            people = [one if row in among else replace(one, joins=late) for row, one in enumerate(people)]
            rule = NoPayments() if rule.promises and len(among) == 1 else rule
        model = Federation(replace(self.scenario, owners=tuple(people), mechanism=rule), seed)
        utility: list[Array] = []
        given: list[Array] = []
        paid: list[Array] = []
        while model.running:
            model.step()
            utility.append(model.population.utility)
            given.append(model.population.contribution)
            paid.append(model.population.payment)
        worst = max((float(one.sum()) for one in paid), key=abs)
        return Score(np.mean(utility, axis=0), np.mean(given, axis=0), worst, float(np.abs(paid).sum(axis=1).max()))


class Interval(NamedTuple):
    """A mean over seeds and its 95% interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{readable(self.mean)} with every seed"
        return f"{readable(self.mean)} (95%: {readable(self.low)} to {readable(self.high)})"

    @property
    def lost(self) -> str:
        """As the loss of all others: they gain what is below zero."""
        if self.mean >= 0:
            return f"the others lose {self}"
        return f"the others gain {Interval(-self.mean, -self.high, -self.low)}"


def interval(values: Sequence[float]) -> Interval:
    """Student's interval of the mean, which takes noise for normal: trained runs are few.

    >>> [round(one, 3) for one in interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    found = np.asarray(values, dtype=float)
    mean = float(found.mean())
    return Interval(mean, *confidence(found, noise="normal"))
