"""Digits learned by a few owners, more and more of whose labels are wrong: rounds to value, and exact shares."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fedabm.common.random import generator
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.data.quality import LabelNoise
from fedabm.games.messages import Effort, OwnerMessages
from fedabm.learning import SGD, Engine, Learning, Measure, Recipe, Trained
from fedabm.learning.knowledge.com_fed_sv import ComFedSV, seen
from fedabm.learning.knowledge.fed_sv import by_enumeration
from fedabm.learning.knowledge.gtg_shapley import by_orders
from fedabm.learning.knowledge.round_shapley import RoundGame
from fedabm.shapley import shapley, shapley_of_values
from fedabm.shapley.completed import completed
from fedabm.shapley.truncated import Truncation


def pearson(one: np.ndarray, other: np.ndarray) -> float:
    """The correlation of two columns."""
    return float(np.corrcoef(one, other)[0, 1])


@dataclass(frozen=True)
class Digits:
    """One federation: this many owners and rounds; the last owner has the share `worst` of its labels wrong."""

    owners: int = 5
    rounds: int = 10
    seed: int = 0
    worst: float = 0.8
    network: str = "mlp"
    recipe: Recipe = field(default_factory=lambda: Recipe(epochs=1, batch=32, optimiser=SGD(0.1)))
    samples: int | None = None

    @cached_property
    def engine(self) -> Engine:
        """Its data and network."""
        digits = load_dataset("digits")
        if self.samples is not None:
            digits = replace(digits, x=digits.x[: self.samples], y=digits.y[: self.samples])
        shares = np.linspace(0.0, self.worst, self.owners)
        noise = [LabelNoise(share) for share in shares] if self.worst else None
        return Engine(self.network, from_partition(digits, IID(self.owners), self.seed, 0.3, noise), device="cpu")

    @cached_property
    def games(self) -> list:
        """The updates of every round."""
        learning = Learning(self.engine, self.recipe)
        full = self.engine.data.capacities.astype(float)
        state, found = learning.begin(self.seed), []
        for _ in range(self.rounds):
            effort = Effort(full, full)
            state, _ = learning.round(state, OwnerMessages(effort, effort, keep=True))
            found.append(learning.updates(state))
        return found

    def exact(self, utility: str) -> tuple[np.ndarray, int]:
        """Sums of exact values of all rounds, and how many models were judged."""
        return _summed(by_enumeration(RoundGame(one, utility)) for one in self.games)

    def gtg(self, utility: str, truncation: Truncation | None = None) -> tuple[np.ndarray, int]:
        """Sums of values by truncated orders, and how many models were judged."""
        rule = truncation or Truncation()
        rngs = (generator(self.seed, "server", number + 1) for number in range(self.rounds))
        return _summed(by_orders(RoundGame(one, utility), rng, rule) for one, rng in zip(self.games, rngs, strict=True))

    def completed(self, utility: str, taking: int = 3) -> tuple[np.ndarray, np.ndarray, int]:
        """The same of `ComFedSV` and `FedSV` where all take part in the first round and so many, drawn, in the others.

        Scores of each round as they are paid, summed, of both, and how many models were judged.
        """
        table, paid, selected, cost = [], np.zeros(self.owners), np.zeros(self.owners), 0
        for number, updates in enumerate(self.games):
            drawn = generator(self.seed, "server", number).permutation(self.owners)[: taking if number else None]
            there = np.isin(np.arange(self.owners), drawn)
            game = RoundGame(replace(updates, claimed=np.where(there, updates.claimed, 0.0)), utility)
            row, asked = seen(game)
            table.append(row)
            paid += shapley_of_values(completed(np.array(table), ComFedSV.rank, ComFedSV.weight)[-1])
            selected += by_enumeration(game).scores
            cost += asked
        return paid, selected, cost

    def retrained(self, utility: str, seed: int | None = None) -> np.ndarray:
        """Shares by training every coalition anew."""
        measure = Measure(utility)
        oracle = Trained(self.engine, self.rounds, self.recipe, self.seed if seed is None else seed, measure)
        full = self.engine.data.capacities.astype(float)
        return np.asarray(shapley(oracle, full, "enumeration")) / self.owners


def _summed(rounds) -> tuple[np.ndarray, int]:
    found = list(rounds)
    return np.sum([one.scores for one in found], axis=0), sum(one.evaluations for one in found)
