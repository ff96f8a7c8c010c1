"""How points are drawn and indices computed: Sobol, Morris and PAWN, by SALib (Herman and Usher 2017).

    Sobol    S_i = V(E(y | x_i)) / V(y),  T_i = 1 - V(E(y | x_~i)) / V(y),  S_ij: what two inputs explain only together
    Morris   mean |y(x + d e_i) - y(x)| / d over trajectories, and how much these effects differ
    PAWN     median over slices of x_i of the Kolmogorov distance between y and y given x_i

All points lie in the unit cube.  They come in blocks, which are kept or lost as a whole: the base points of Sobol, the
trajectories of Morris, the single points of PAWN.

Points of one Sobol sequence are so even that a bootstrap, which takes them for independent, states intervals far too
wide (they held the true index in 100 of 100 repetitions).  So the base points are those of 16 sequences, scrambled
independently of each other, and intervals come from leaving out one sequence after the other (jackknife, Student's t):
what resampling whole sequences comes to.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, MissingExtraError, check_whole, nearest

__all__ = ["METHODS", "Index", "Method", "method_of"]

#: numbers of points, blocks or seeds
Numbers = NDArray[np.integer]
#: a half-width of the interval that is narrow enough
ENOUGH = 0.1


class Index(NamedTuple):
    """An index of an input (or of two), and half the width of its 95% interval (nan: none is stated)."""

    kind: str
    inputs: tuple[int, ...]
    value: float
    half: float


@dataclass(frozen=True)
class Method(ABC):
    """How points are drawn, and what is made of the answers."""

    #: the index that ranks inputs, and the one beside it
    main: ClassVar[str]
    second: ClassVar[str]
    usual: ClassVar[int]
    least: ClassVar[int]

    def count(self, wanted: int | None) -> int:
        """How many blocks, as the method takes them."""
        if wanted is None:
            return self.usual
        check_whole("n", wanted, self.least, 2**24)
        return wanted

    @abstractmethod
    def size(self, dimensions: int) -> int:
        """How many points a block has."""

    @abstractmethod
    def points(self, dimensions: int, count: int, seed: int) -> Array:
        """Blocks of points: (count, size, dimensions)."""

    @abstractmethod
    def indices(self, points: Array, values: Array, seed: int, sequences: Numbers) -> list[Index]:
        """The indices of blocks of answers, (count, size); `sequences` says from which sequence each block is."""

    def sequences(self, count: int) -> Numbers:
        """From which sequence each block is."""
        return np.zeros(count, dtype=int)

    def independent(self, points: Array) -> Numbers:
        """The numbers of points that were drawn independently of each other: the first of each block."""
        return np.arange(len(points)) * points.shape[1]

    def seeds(self, shares: Array, seed: int) -> Numbers:
        """Seeds of runs from the coordinate of all randomness, (count, size): as many as there are coordinates."""
        return (shares * 2**31).astype(np.int64) + seed

    def wide(self, found: Sequence[Index]) -> float:
        """The widest half-width of what ranks inputs, as a multiple of what is narrow enough."""
        return max((one.half for one in found if one.kind in (self.main, self.second)), default=np.nan) / ENOUGH

    def needed(self, found: Sequence[Index], count: int) -> int | None:
        """How many blocks would be enough; None: these are."""
        wide = self.wide(found)
        return self.count(math.ceil(count * wide**2)) if np.isfinite(wide) and wide > 1 else None


@dataclass(frozen=True)
class SobolIndices(Method):
    """First and total order, and with `pairs` second order (Saltelli et al. 2010)."""

    pairs: bool = True
    main, second, usual, least = "total", "first", 512, 64
    scrambled: ClassVar[int] = 16

    def count(self, wanted: int | None) -> int:
        """The next power of two."""
        return 1 << (super().count(wanted) - 1).bit_length()

    def size(self, dimensions: int) -> int:
        return (2 if self.pairs else 1) * dimensions + 2

    def points(self, dimensions: int, count: int, seed: int) -> Array:
        sample = _salib("sample.sobol").sample
        each, problem = count // self.scrambled, _problem(dimensions)
        seeds = np.random.SeedSequence(seed).generate_state(self.scrambled)
        drawn = [sample(problem, each, calc_second_order=self.pairs, seed=int(one)) for one in seeds]
        return np.concatenate(drawn).reshape(count, self.size(dimensions), dimensions)

    def independent(self, points: Array) -> Numbers:
        """Both base points of each block."""
        first = super().independent(points)
        return np.concatenate([first, first + points.shape[1] - 1])

    def sequences(self, count: int) -> Numbers:
        return np.arange(count) // (count // self.scrambled)

    def indices(self, points: Array, values: Array, seed: int, sequences: Numbers) -> list[Index]:
        estimate, labels = self._estimates(values), self._labels(points.shape[-1])
        known = np.unique(sequences)
        without = np.array([self._estimates(values[sequences != one]) for one in known])
        spread = np.sqrt((len(known) - 1) ** 2 / len(known) * without.var(axis=0, ddof=1))
        half = stats.t.ppf(0.975, len(known) - 1) * spread
        return [Index(kind, inputs, *pair) for (kind, inputs), *pair in zip(labels, estimate, half, strict=True)]

    def _labels(self, dimensions: int) -> list[tuple[str, tuple[int, ...]]]:
        labels: list[tuple[str, tuple[int, ...]]]
        labels = [(kind, (one,)) for kind in ("first", "total") for one in range(dimensions)]
        if self.pairs:
            labels += [("pair", both) for both in combinations(range(dimensions), 2)]
        return labels

    def _estimates(self, values: Array) -> Array:
        """First order of all inputs, total order of all, second order of all pairs."""
        found = _salib("analyze.sobol")
        count, size = values.shape
        dimensions = (size - 2) // (2 if self.pairs else 1)
        scaled = (values.ravel() - values.mean()) / values.std()
        a, b, ab, ba = found.separate_output_values(scaled, dimensions, count, self.pairs)
        first = [found.first_order(a, ab[:, j], b) for j in range(dimensions)]
        total = [found.total_order(a, ab[:, j], b) for j in range(dimensions)]
        pairs = combinations(range(dimensions), 2) if self.pairs else ()
        second = [found.second_order(a, ab[:, j], ab[:, k], ba[:, j], b) for j, k in pairs]
        return np.array([*first, *total, *second], dtype=float)


@dataclass(frozen=True)
class MorrisEffects(Method):
    """Elementary effects on a grid of four levels (Morris 1991; the mean of their sizes: Campolongo et al. 2007).

    Every trajectory has seeds of its own, so that the effect of the seed is that of any two.
    """

    main, second, usual, least = "mean effect", "spread", 100, 8
    levels: ClassVar[int] = 4

    def size(self, dimensions: int) -> int:
        return dimensions + 1

    def points(self, dimensions: int, count: int, seed: int) -> Array:
        sample = _salib("sample.morris").sample
        drawn = sample(_problem(dimensions), count, num_levels=self.levels, seed=seed)
        return drawn.reshape(count, dimensions + 1, dimensions)

    def seeds(self, shares: Array, seed: int) -> Numbers:
        level = np.rint(shares * (self.levels - 1)).astype(np.int64)
        return np.arange(len(shares))[:, None] * self.levels + level + seed

    def indices(self, points: Array, values: Array, seed: int, sequences: Numbers) -> list[Index]:
        dimensions = points.shape[-1]
        found = _salib("analyze.morris").analyze(
            _problem(dimensions), points.reshape(-1, dimensions), values.ravel(), num_levels=self.levels, seed=seed
        )
        sizes = zip(found["mu_star"], found["mu_star_conf"], strict=True)
        return [
            *(Index("mean effect", (j,), float(value), float(half)) for j, (value, half) in enumerate(sizes)),
            *(Index("signed effect", (j,), float(value), np.nan) for j, value in enumerate(found["mu"])),
            *(Index("spread", (j,), float(value), np.nan) for j, value in enumerate(found["sigma"])),
        ]

    def wide(self, found: Sequence[Index]) -> float:
        """Against the largest effect."""
        effects = [one for one in found if one.kind == self.main]
        largest = max((one.value for one in effects), default=0.0)
        return max(one.half for one in effects) / largest / ENOUGH if largest > 0 else np.nan


@dataclass(frozen=True)
class PawnDistances(Method):
    """Distances of distributions, for answers whose variance says little (Pianosi and Wagener 2018).

    A further input without any effect, called (none), shows how large a distance chance alone gives.
    """

    main, second, usual, least = "distance", "distance", 1024, 100
    slices: ClassVar[int] = 10
    resamples: ClassVar[int] = 40

    def size(self, dimensions: int) -> int:
        return 1

    def points(self, dimensions: int, count: int, seed: int) -> Array:
        drawn = _salib("sample.latin").sample(_problem(dimensions), count, seed=seed)
        return drawn.reshape(count, 1, dimensions)

    def indices(self, points: Array, values: Array, seed: int, sequences: Numbers) -> list[Index]:
        rng = np.random.default_rng(seed)
        columns = np.column_stack([points[:, 0], rng.random(len(points))])
        estimate = self._distances(columns, values[:, 0])
        rows = rng.integers(len(points), size=(self.resamples, len(points)))
        again = np.array([self._distances(columns[some], values[some, 0]) for some in rows])
        half = stats.norm.ppf(0.975) * again.std(axis=0, ddof=1)
        return [Index("distance", (j,), float(estimate[j]), float(half[j])) for j in range(len(estimate))]

    def _distances(self, columns: Array, values: Array) -> Array:
        analyse = _salib("analyze.pawn").analyze
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of slices that hold few points
            found = analyse(_problem(columns.shape[1]), columns, values, S=self.slices, seed=0)
        return np.asarray(found["median"], dtype=float)


METHODS: dict[str, type[Method]] = {"sobol": SobolIndices, "morris": MorrisEffects, "pawn": PawnDistances}


def method_of(name: str, *, pairs: bool) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; {nearest(name, METHODS)}")
    return SobolIndices(pairs) if name == "sobol" else METHODS[name]()


def _problem(dimensions: int) -> dict[str, Any]:
    names = [f"x{j}" for j in range(dimensions)]
    return {"num_vars": dimensions, "names": names, "bounds": [[0.0, 1.0]] * dimensions}


def _salib(module: str) -> Any:
    """A module of SALib, which is slow to import, and an extra."""
    from importlib import import_module

    try:
        return import_module(f"SALib.{module}")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"sensitivity needs {error.name}, which is not here; pip install 'fedabm[sensitivity]'"
        ) from None
