"""How the experiments of Murhekar et al. 2025 are run: sizes, units and fits.

Contributions count batches: of 10 samples on MNIST, Fashion-MNIST and the tables, of 64 on CIFAR-10.  Costs per batch,
steps of best responses and the fitted weights all belong to that unit.  Training takes whole samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fedabm.data.partitions import IID, LabelMix, Partition, Rotated
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Fit, Points, fit_groups
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import ShapleyShare
from fedabm.papers.presets import Preset, Size

__all__ = ["GROUP_PRESETS", "TABLES", "GroupsPreset", "Units", "fit_in_batches"]

#: sets that are tables of numbers, with two owners: 70% and 30% positive samples
TABLES = ("lumpy_skin", "quadratic")
#: the two owners of a table: the first has 70% positive samples
_MIX = LabelMix(((0.3, 0.7), (0.7, 0.3)))


@dataclass(frozen=True)
class Units:
    """A contribution of 1 is a batch of `batch` samples; an owner gives at most `most` of them."""

    batch: int = 10
    most: float = np.inf

    def capacities(self, samples: Array) -> Array:
        """How many batches owners may give; the last one may be a small one."""
        return np.minimum(np.ceil(np.asarray(samples) / self.batch), self.most)

    def samples(self, batches: Array, capacities: Array) -> Array:
        """Whole samples of contributions in batches.

        >>> Units(batch=64).samples(np.array([0.5, 27.0]), np.array([1666, 1666])).tolist()
        [32.0, 1666.0]
        """
        return np.minimum(np.rint(np.asarray(batches) * self.batch), capacities)


@dataclass(frozen=True, kw_only=True)
class GroupsPreset(Preset):
    """A federation of groups of owners (`size` for pictures, `tables` for tables), its fit, costs and units.

    `corner` batches of each group or none make the points that are fitted; `cost` is the highest cost of a batch;
    `sizes`, `networks`, `batches` and `rates` (of learning) are those of single sets.
    """

    permutations: int
    tables: Size
    corner: int
    cost: float
    most: float = 100.0
    sizes: dict[str, Size] = field(default_factory=dict)
    networks: dict[str, str] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)

    def sized(self, name: str) -> Size:
        """Owners, samples and network for a set."""
        size = self.sizes.get(name, self.tables if name in TABLES else self.size)
        return replace(size, network=self.networks.get(name, size.network))

    def units(self, name: str) -> Units:
        """What one contribution is for a set; owners of tables may give all they have."""
        return Units(self.batches.get(name, self.recipe.batch), np.inf if name in TABLES else self.most)

    def training(self, name: str) -> Recipe:
        """How owners of a set train: on as many batches in each round as they contribute."""
        rate = self.rates.get(name)
        recipe = replace(self.recipe, batch=self.units(name).batch)
        return recipe if rate is None else replace(recipe, optimiser=SGD(rate))

    def dealt(self, name: str) -> tuple[Partition, list[int]]:
        """How a set is dealt, and the group of every owner."""
        if name in TABLES:
            return _MIX, [0, 1]
        each = self.size.owners // 3
        return Rotated(IID(3 * each)), np.repeat([0, 1, 2], each).tolist()

    def corner_samples(self, name: str, engine: Engine, groups: list[int]) -> float:
        """How many samples a group gives in a corner: `corner` batches, or all of the smallest group."""
        has = np.bincount(groups, weights=engine.data.capacities)
        return float(min(self.corner * self.units(name).batch, has.min()))

    def exact(self, owners: int) -> bool:
        """Whether all coalitions are no more work than the sampled orders."""
        return 2**owners <= owners * self.permutations

    def payments(self, owners: int, seed: int) -> ShapleyShare:
        """Shapley shares: exact for few owners, as the paper has them for two, else sampled."""
        return ShapleyShare(method="enumeration") if self.exact(owners) else self.shares(seed)


#: `quick` in a minute on a laptop; `decisive` with the paper's networks, batches and corners but fewer owners and
#: rounds; `paper` as stated there and in the authors' code
GROUP_PRESETS = {
    "quick": GroupsPreset(
        size=Size(6, 220, 60, "logistic"),
        rounds=35,
        seeds=2,
        recipe=Recipe(batch=10, optimiser=SGD(0.03)),
        permutations=4000,
        tables=Size(2, 150, 150, "tiny_mlp"),
        corner=40,
        cost=0.03,
    ),
    "decisive": GroupsPreset(
        size=Size(6, 1000, 200, "mnist_cnn"),
        rounds=8,
        seeds=2,
        recipe=Recipe(batch=10, optimiser=SGD(0.1)),
        permutations=102,
        tables=Size(2, 2000, 400, "resmlp"),
        networks={"quadratic": "quadratic"},
        rates={"quadratic": 0.01},
        corner=200,
        cost=0.001,
    ),
    "paper": GroupsPreset(
        size=Size(30, 1810, 180, "mnist_cnn"),
        rounds=100,
        seeds=3,
        recipe=Recipe(batch=10, optimiser=SGD(0.1)),
        permutations=102,
        tables=Size(2, 2000, 400, "resmlp"),
        sizes={"cifar10": Size(30, 1666, 333, "resnet18", published=True)},
        networks={"quadratic": "quadratic"},
        batches={"cifar10": 64},
        rates={"cifar10": 0.001, "quadratic": 0.01},
        corner=200,
        cost=0.001,
    ),
}


def fit_in_batches(points: Points, batch: int, groups: list[int], *, chance: bool) -> Fit:
    """Fit the accuracy functions to points whose totals are samples, with weights per batch.

    With `chance` the accuracy without data is free (a guess is right now and then), else 0 as in the paper.
    """
    free = ("scale",) if chance else ()
    return fit_groups(points.totals / batch, points.accuracies, groups, free=free)
