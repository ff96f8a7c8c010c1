"""The experiments of Doshi et al. 2025, Section 5: sizes, private facts and scenarios that their figures share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedabm.common.random import generator
from fedabm.data.datasets import Dataset
from fedabm.data.partitions import Partition
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.oracles.learning import Learning
from fedabm.learning.oracles.memory import AnswerCache
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.recipe import Recipe
from fedabm.papers import presets
from fedabm.papers.doshi2025.protocols import fed_avg_strategic, two_phase_upbred, upbred
from fedabm.papers.presets import Size, engine_for
from fedabm.papers.protocols import Protocol, fed_avg
from fedabm.results.frames import Frames
from fedabm.simulation.scenario import Scenario

__all__ = ["PRESETS", "Doshi", "DoshiPreset", "OwnerFacts", "doshi_facts", "last_rows", "over_guessing"]


@dataclass(frozen=True, kw_only=True)
class DoshiPreset(presets.Preset):
    """Also the set, gamma while the model learns and in a first phase, and how many steps that may take at most."""

    data: str
    gamma: float
    gamma_first: float
    first_phase: int


PRESETS = {
    "quick": DoshiPreset(
        data="mnist",
        size=Size(10, 180, 60, "mlp"),
        rounds=24,
        seeds=5,
        recipe=Recipe(batch=10, optimiser=SGD(0.05)),
        gamma=0.5,
        gamma_first=50.0,
        first_phase=50,
    ),
    # Ten of the paper's hundred owners with all their data, and its network.  What counts are differences between
    # protocols on the same owners, whose spread over seeds is a few hundredths of an owner's accuracy: four seeds tell
    # gaps of a few tenths in the sum over ten owners, which is what half of the data are worth.
    "decisive": DoshiPreset(
        data="cifar10",
        size=Size(10, 450, 50, "cifar_cnn"),
        rounds=14,
        seeds=4,
        recipe=Recipe(batch=32, optimiser=Adam(0.001)),
        gamma=0.5,
        gamma_first=50.0,
        first_phase=60,
    ),
    "paper": DoshiPreset(
        data="cifar10",
        size=Size(100, 450, 50, "cifar_cnn"),
        rounds=100,
        seeds=10,
        recipe=Recipe(batch=32, optimiser=Adam(0.001)),
        gamma=0.5,
        gamma_first=10.0,
        first_phase=300,
    ),
}


@dataclass(frozen=True)
class Doshi:
    """One seed's owners: their data, costs and first contributions, the same under every protocol."""

    preset: DoshiPreset
    engine: Engine
    facts: OwnerFacts
    rounds: int
    known: AnswerCache

    @classmethod
    def of(
        cls,
        preset: DoshiPreset,
        dataset: Dataset,
        seed: int,
        steps: int | None = None,
        owners: int | None = None,
        partition: Partition | None = None,
        known: AnswerCache | None = None,
    ) -> Doshi:
        """Deal the data; `steps` shortens the training, `owners` changes their number, `known` remembers rounds."""
        size = preset.size if owners is None else replace(preset.size, owners=owners)
        engine = engine_for(dataset, size, seed, partition)
        facts = doshi_facts(engine.data.capacities, seed)
        return cls(preset, engine, facts, preset.shortened(steps), AnswerCache() if known is None else known)

    def learning(self) -> Learning:
        """The model in training, worth r_i - loss_i."""
        measure = over_guessing(self.engine.data.classes)
        return Learning(self.engine, self.preset.recipe, measure=measure, rounds=self.rounds, known=self.known)

    def protocols(self, subsidy: float, *, strategic: bool = True) -> tuple[Protocol, ...]:
        """The four that the figures compare, or without FedAvgStrategic."""
        four = fed_avg(), upbred(self.preset.gamma), self.strategic(), self.two_phase(subsidy)
        return four if strategic else (*four[:2], four[3])

    def strategic(self, *, as_printed: bool = False) -> Protocol:
        """FedAvgStrategic with the preset's first phase, or as printed: that ends at once, and needs no large steps."""
        gamma = self.preset.gamma if as_printed else self.preset.gamma_first
        return fed_avg_strategic(gamma, at_most=self.preset.first_phase, as_printed=as_printed)

    def two_phase(self, subsidy: float) -> Protocol:
        """2P-UPBReD with the preset's first phase."""
        return two_phase_upbred(self.preset.gamma_first, subsidy, at_most=self.preset.first_phase)

    def scenario(self, rule: Protocol) -> Scenario:
        """A protocol on these owners: as many rounds of training for all, a first phase comes on top."""
        steps = self.rounds + (rule.schedule.at_most or 0)
        costs, starts = self.facts
        return rule.scenario(self.learning(), costs, self.engine.data.capacities, starts, steps=steps)


def over_guessing(classes: int | None) -> Measure:
    """a_i = r_i - loss_i with r_i = log(classes): what the model is worth beyond guessing.

    Doshi et al. 2025, Section 5, leave r_i open; this choice gives a model that knows nothing about 0.
    """
    return Measure("loss", float(np.log(classes or 1)))


class OwnerFacts(NamedTuple):
    """Private facts: cost per sample and first contribution of every owner."""

    costs: Array
    starts: Array


def doshi_facts(capacities: Array, seed: int) -> OwnerFacts:
    """Costs uniform in [0, 1] and whole starts uniform in the middle third.  Doshi et al. 2025, Section 5."""
    rng = generator(seed, "population")
    costs = rng.uniform(0.0, 1.0, len(capacities))
    low, high = np.ceil(capacities / 3), np.floor(2 * capacities / 3)
    return OwnerFacts(costs, np.floor(low + rng.uniform(size=len(capacities)) * (np.maximum(high, low) - low + 1)))


def last_rows(frames: Frames) -> pd.DataFrame:
    """The owners in each run's last step."""
    return frames.owners[frames.owners["step"] == frames.owners.groupby("run")["step"].transform("max")]
