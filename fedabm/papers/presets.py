"""What the experiments of all papers on real data share: which data, dealt to how many owners, trained how."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fedabm.common.confidence import half_width
from fedabm.common.errors import check_count, check_whole
from fedabm.common.random import generator
from fedabm.data.datasets import Dataset, load_dataset, status
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID, Natural, Partition
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import ShapleyShare

__all__ = ["Preset", "Size", "Sizes", "choose", "engine_for", "more_seeds", "spread"]

#: how large a trained scenario is run: in minutes, so that it decides the claim on an ordinary machine, as in the paper
Sizes = Literal["quick", "decisive", "paper"]


def choose(name: str, note: Callable[[str], None], wanted: str = "mnist", spare: str = "digits") -> Dataset:
    """The named set; "auto" is the wanted one or, if its files are not there, the spare one, and then says so.

    Parameters
    ----------
    name : str
        The set, or "auto".
    note : Callable[[str], None]
        Is told which set was taken instead.
    wanted : str, optional
        What "auto" takes where its files are there.
    spare : str, optional
        What "auto" takes otherwise.

    Returns
    -------
    Dataset
        The set.
    """
    if name != "auto":
        return load_dataset(name)
    if any(row.name == wanted and row.state == "present" for row in status()):
        return load_dataset(wanted)
    found = load_dataset(spare)
    note(
        f"Data: {wanted} is not there, so {spare} is used instead, with {len(found):,} samples in all; "
        "see `fedabm data list` (FEDABM_DATA sets the folder)"
    )
    return found


@dataclass(frozen=True)
class Size:
    """How large a federation of a preset is: owners, training and test samples of each on average, and its network.

    With `published` test samples are those that the set's publisher put aside, else a part of the training samples.

    Parameters
    ----------
    owners : int
        How many owners there are.
    samples : int
        Training samples of each owner, on average.
    tests : int
        Test samples of each owner, on average.
    network : str
        The network, by name.
    published : bool, optional
        Whether test samples are those that the publisher put aside.
    """

    owners: int
    samples: int
    tests: int
    network: str
    published: bool = False

    def __post_init__(self) -> None:
        for name in ("owners", "samples", "tests"):
            check_whole(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What every preset says: how large, for how many rounds, how many seeds, how owners train.

    `permutations` is the number of sampled orders for Shapley shares; None looks at all coalitions.

    Parameters
    ----------
    size : Size
        How large the federation is.
    rounds : int
        How many rounds.
    seeds : int
        How many seeds.
    recipe : Recipe, optional
        How owners train in a round and how the server learns from their updates.
    permutations : int | None, optional
        How many sampled orders for Shapley shares; None: all coalitions.
    """

    size: Size
    rounds: int
    seeds: int
    recipe: Recipe = field(default_factory=Recipe)
    permutations: int | None = None

    def series(self, first: int, seeds: int) -> range:
        """As many seeds as asked for, from the first one on; 0: as many as the preset has."""
        check_count("seeds", seeds, 0)
        return range(first, first + (seeds or self.seeds))

    def shortened(self, steps: int | None) -> int:
        """The rounds, or fewer if a study is to take fewer steps."""
        return min(self.rounds, steps or self.rounds)

    def shares(self, seed: int) -> ShapleyShare:
        """Shapley shares, exact or sampled."""
        if self.permutations is None:
            return ShapleyShare()
        return ShapleyShare(method="monte_carlo", permutations=self.permutations, seed=seed)


def engine_for(dataset: Dataset, size: Size, seed: int, partition: Partition | None = None) -> Engine:
    """A random part of a set, dealt to owners (default: equally and at random), with a test part of each.

    Natural owners keep all their samples.  If a set is too small, owners get less, in the same proportions, and a
    warning says so.

    Parameters
    ----------
    dataset : Dataset
        The set to deal.
    size : Size
        How large the federation is.
    seed : int
        Seed of all random draws; the same seed gives the same numbers.
    partition : Partition | None, optional
        Who gets which samples; by default equal random parts.

    Returns
    -------
    Engine
        The engine on the owners' data.
    """
    pool, rule = dataset if size.published else dataset.train, IID(size.owners) if partition is None else partition
    needed = len(pool) if isinstance(rule, Natural) else size.owners * (size.samples + size.tests)
    rows = np.sort(rule.drawn(pool.y, needed, generator(seed, "data", 1_000_000)))
    dealt = from_partition(
        pool.subset(rows),
        rule,
        seed,
        None if size.published else size.tests / (size.samples + size.tests),
        one_class="allow",
    )
    if not isinstance(rule, Natural) and dealt.capacities.mean() < 0.98 * size.samples:
        got = f"an owner has {dealt.capacities.mean():.0f} samples on average where {size.samples} are asked for"
        warnings.warn(f"{dataset.name} is too small: {got}; take fewer owners or samples", stacklevel=2)
    return Engine(size.network, dealt)


def spread(values: Array) -> tuple[float, float]:
    """Mean and half the width of its 95% interval over seeds; no width for a single value.

    Parameters
    ----------
    values : Array
        One number per seed.

    Returns
    -------
    tuple[float, float]
        The mean, and half the width of its 95% interval.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(half_width(values.std(ddof=1), len(values)))


def more_seeds(gap: float, width: float, seeds: int, most: int = 1000, unit: str = "seeds") -> str:
    """How many seeds would tell a gap of this size, if gap and deviation stay what `seeds` of them show, in words.

    `width` is half the 95% interval of the gap, t(n - 1) s / sqrt(n): the least n is looked for whose interval leaves
    out 0.

    >>> more_seeds(0.1, 0.2, 3)
    'about 5 seeds instead of 3, if gap and deviation stay as they are'
    >>> more_seeds(0.001, 0.2, 3)
    'more than 1000 seeds: the gap is next to nothing'
    """
    if seeds < 2 or not np.isfinite(width):
        return f"at least 3 {unit}: one has no spread"
    counts = np.arange(seeds, most + 1)
    enough = counts[half_width(width / half_width(1.0, seeds), counts) < abs(gap)]
    if not len(enough):
        return f"more than {most} {unit}: the gap is next to nothing"
    return f"about {enough[0]} {unit} instead of {seeds}, if gap and deviation stay as they are"
