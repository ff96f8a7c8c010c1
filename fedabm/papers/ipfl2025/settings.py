"""Data, owners and training of a market study: small ones for a quick answer, those of iPFL 2025, and between them.

quick     handwritten digits (or a small part of a larger set), few samples per owner, so that others' models help;
          digits are seen through noise, since with clean ones owners that train alone are right in 95% and need no
          market.  lambda = 2 and c = 1 as in the paper, and K so that K / N is, too.  Writers have their own thin
          strokes, on which nothing is learned in ten large steps: there owners take 50 of 0.01, the paper's for FEMNIST
paper     the whole set, 50 rounds of 200 steps with batches of 64, SGD 0.01 with momentum 0.9, K = 5e5, c = 1; CIFAR-10
          with mean 0 and deviation 1, Fashion-MNIST cropped and mirrored at random
decisive  the paper's in everything but the length: 8 rounds of 50 steps, judged after the last.  On CIFAR-10 in groups
          trade settles in the fourth round (a pilot run: utilities are the same in rounds 4 to 10), so that sums over
          the paper's 50 rounds follow: the last round is counted for those left out, if utilities moved by at most 5%
          in it.  Accuracies grow by two points in the last two rounds: about them it can confirm a claim, not refute it

`natural` has what differs for PACS, Shakespeare and Sent140, whose owners are given: there 6 rounds
of 20 steps with smaller batches take as long, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import generator
from fedabm.data.datasets import load_dataset
from fedabm.data.datasets.base import Dataset
from fedabm.data.federated import FederatedData, from_partition, normalised
from fedabm.data.partitions import ClassSkew, Clusters, Dirichlet, Natural, Partition
from fedabm.data.quality import FeatureNoise
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.learning.engine.augment import CropAndFlip
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import (
    CFL,
    Ditto,
    FedAMP,
    FedAvgExchange,
    FedFomo,
    FedProxExchange,
    LocalOnly,
    Mechanism,
    ModelMarket,
    PFedGraph,
)
from fedabm.mechanisms.market import ImportGain
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.papers.ipfl2025.natural import NATURAL
from fedabm.papers.presets import Sizes
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import Honest, Strategy

__all__ = [
    "RIVALS",
    "Data",
    "MarketSetting",
    "Split",
    "at_home",
    "honest_owners",
    "market_rules",
    "market_setting",
]

#: what iPFL 2025 measures the market against, with its parameters; training alone first
RIVALS: tuple[Personalised, ...] = (
    LocalOnly(),
    FedAvgExchange(),
    FedProxExchange(),
    Ditto(),
    FedAMP(),
    CFL(),
    FedFomo(),
    PFedGraph(),
)

#: "auto": the preset's own, see `_AUTO`
Data = Literal[
    "auto", "digits", "fashion_mnist", "cifar10", "femnist", "femnist_digits", "pacs", "shakespeare", "sent140"
]
Split = Literal["niid", "cluster", "skew", "natural"]

#: what "auto" stands for, by preset: where owners are made, and where they are natural
_AUTO: dict[str, tuple[Data, Data]] = {
    "quick": ("digits", "femnist_digits"),
    "decisive": ("cifar10", "femnist"),
    "paper": ("cifar10", "femnist"),
}
#: lambda, eta and the steps of a round in the paper, by data; Fashion-MNIST's lambda is too small to see distances
_PAPER: dict[str, tuple[float, float, int]] = {
    "cifar10": (2.0, 5.0, 200),
    "fashion_mnist": (0.001, 5.0, 200),
    "femnist": (1.0, 5.0, 50),
}
#: sets that stand for the paper's where a preset is to decide: digits by 12 writers, with the smaller network
_STANDS_FOR = {"femnist_digits": "femnist"}
#: rounds, and steps in each, of the preset that decides
_ROUNDS, _STEPS = 8, 50
#: on how many of its own samples an owner measures others' losses, at most
_MEASURED = 256
#: on the training images of the digits, as a share of full brightness
_NOISE = FeatureNoise(0.5)
#: samples per owner that a quick study takes of a large set, for training and testing together
_QUICK_SAMPLES = 300
#: K / N: how eager owners of average size are in the paper, on CIFAR-10: 5e5 / 5,000
_EAGER = 100.0


@dataclass(frozen=True)
class MarketSetting:
    """What a market study needs besides its owners' strategies.

    `length` is how many rounds it stands for, if more than it has: the last one counts for those left out.
    """

    preset: Sizes
    data: Data
    owners: int
    split: Split
    network: str
    rounds: int
    recipe: Recipe
    rule: ModelMarket
    unit_cost: float = 1.0
    judged_every: int = 1
    length: int | None = None

    def lasting(self, rounds: int | None) -> MarketSetting:
        """With this many rounds (None: as it is); where they decide, models are judged after every quarter of them."""
        if rounds is None:
            return self
        check_whole("rounds", rounds, 4)
        every = -(-rounds // 4) if self.preset == "decisive" else self.judged_every
        return replace(self, rounds=rounds, judged_every=every)

    def federated(self, seed: int) -> FederatedData:
        """Everybody's data."""
        part = _partition(self.split, self.owners, self.data)
        if self.data in NATURAL:
            own = NATURAL[self.data]
            known = load_dataset(self.data, **own.options.get(self.preset, {}))
            return from_partition(known, part, seed, own.test_share.get(self.preset, 0.2), one_class="allow")
        known = load_dataset(self.data)
        if self.preset != "quick":
            owned = from_partition(known, part, seed, None if known.split is not None else 0.2, one_class="allow")
            return normalised(owned) if self.data == "cifar10" else owned
        small = known if self.data == "digits" or self.split == "natural" else _some(known, self.owners, seed)
        return from_partition(small, part, seed, 0.7, _NOISE if self.data == "digits" else None, one_class="allow")

    def eagerness(self, sizes: Array) -> float:
        """K, the same for everyone."""
        return _EAGER * float(np.mean(sizes)) if self.preset == "quick" else 5e5

    def accuracy(self, data: FederatedData) -> Personal:
        """Everyone's own model, in training."""
        return Personal(Engine(self.network, data), self.recipe, every=self.judged_every, measured=_MEASURED)

    def scenario(
        self, owners: Sequence[OwnerProfile], accuracy: Personal, mechanism: Mechanism | None = None
    ) -> Scenario:
        """One federation; without a mechanism, the market."""
        rule = self.rule if mechanism is None else mechanism
        return Scenario(tuple(owners), accuracy, rule, steps=self.rounds, valuation=ImportGain(self.rule.gain))


def market_setting(preset: Sizes, data: Data, owners: int, split: Split, rounds: int | None = None) -> MarketSetting:
    """The preset's setting for this data; `rounds` are the paper's number, cut to 12 in the quick one.

    Where there are clusters, three groups of equal size: one owner or two more than that are left out.
    """
    check_whole("owners", owners, 2)
    data = _AUTO[preset][split == "natural"] if data == "auto" else data
    owners -= owners % 3 if split == "cluster" and owners > 3 else 0
    if data in NATURAL:
        return _natural_setting(preset, data, owners, split, rounds)
    if preset == "quick":
        steps, rate = (50, 0.01) if data.startswith("femnist") else (10, 0.05)
        recipe, rule = Recipe(steps=steps, batch=16, optimiser=SGD(rate, momentum=0.9)), ModelMarket(2.0, 10.0)
        return MarketSetting(preset, data, owners, split, "mlp", min(rounds or 12, 12), recipe, rule)
    known = _STANDS_FOR.get(data, data) if preset == "decisive" else data
    if known not in _PAPER:
        others = ", ".join([*_PAPER, *NATURAL][1:])
        raise InputError(f"the paper has no study of {data}; add --set data=cifar10 (or {others})")
    similarity, step, steps = _PAPER[known]
    augment = CropAndFlip(4) if data == "fashion_mnist" else None
    recipe = Recipe(steps=steps, batch=64, optimiser=SGD(0.01, momentum=0.9, weight_decay=1e-5), augment=augment)
    network = "femnist_net" if data == "femnist" else "simple_cnn"
    setting = MarketSetting(preset, data, owners, split, network, rounds or 50, recipe, ModelMarket(similarity, step))
    if preset == "paper":
        return setting
    return replace(
        setting, rounds=_ROUNDS, judged_every=_ROUNDS, recipe=replace(recipe, steps=_STEPS), length=setting.rounds
    )


def _natural_setting(preset: Sizes, data: Data, owners: int, split: Split, rounds: int | None) -> MarketSetting:
    """The same for sets whose owners are given; the preset that decides has smaller batches, too."""
    own = NATURAL[data]
    quick = Recipe(steps=10, batch=16, optimiser=SGD(0.01, momentum=0.9))
    full = Recipe(steps=own.steps, batch=64, optimiser=SGD(0.01, momentum=0.9, weight_decay=1e-5))
    setting = MarketSetting(preset, data, owners, split, own.network, rounds or 50, full, own.rule)
    if preset == "quick":
        return replace(setting, network=own.small, rounds=min(rounds or 12, 12), recipe=quick)
    if preset == "decisive":
        short = replace(full, steps=20, batch=16)
        return replace(setting, rounds=6, judged_every=6, recipe=short)
    return setting


def at_home(data: Data, owners: int, split: Split) -> tuple[int, Split]:
    """How many owners and which split a study that has one of its own takes: given owners where there are such."""
    return (NATURAL[data].owners, "natural") if data in NATURAL else (owners, split)


def honest_owners(
    setting: MarketSetting, data: FederatedData, strategies: dict[int, Strategy] | None = None
) -> list[OwnerProfile]:
    """Traders with the same cost and eagerness, honest unless a strategy is given for their number."""
    eager = setting.eagerness(data.capacities)
    owner = OwnerProfile(Linear(setting.unit_cost), 1.0, Honest(), eagerness=eager, role="trader")
    own = [replace(owner, capacity=float(size)) for size in data.capacities]
    return [replace(one, strategy=(strategies or {}).get(i, one.strategy)) for i, one in enumerate(own)]


def _partition(split: Split, owners: int, data: Data) -> Partition:
    if split == "natural":
        return Natural(owners, parts_each=NATURAL[data].parts_each if data in NATURAL else 1)
    return {"niid": Dirichlet(owners, 0.1, rule="ipfl"), "cluster": Clusters(owners), "skew": ClassSkew(owners)}[split]


def _some(known: Dataset, owners: int, seed: int) -> Dataset:
    """A random part of a large set."""
    rows = generator(seed, "data", owners).permutation(len(known.y))[: owners * _QUICK_SAMPLES]
    return known.subset(rows)


def market_rules(setting: MarketSetting) -> dict[str, Mechanism]:
    """The market and its rivals by the names of the paper, training alone first."""
    names = {"PFedGraph": "pFedGraph", "LocalOnly": "Local", "FedAvgExchange": "FedAvg", "FedProxExchange": "FedProx"}
    rivals = {names.get(name := type(rival).__name__, name): rival for rival in RIVALS}
    return {**rivals, "iPFL": setting.rule}
