"""Designs drawn at random: plain, Latin hypercube and Sobol (scipy.stats.qmc).

    Sobol({"rate": Span(1e-3, 1e-1, log=True), "owners": Span(5, 50, whole=True), "kind": ["a", "b"]}, count=64)

These designs draw points, and nothing else: indices of Sobol, Morris and PAWN, which say what an answer depends on,
come from `fedabm.sensitivity` and `fedabm sensitivity`.

A span is a range of numbers; a list is a choice.  The first points of a random or Sobol design stay the same when its
count grows; those of a Latin hypercube do not.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.common.names import snake
from fedabm.common.random import check_seed
from fedabm.games.curves import Array
from fedabm.specs.written import written
from fedabm.sweep.designs import Cell, Design, listed, name_of
from fedabm.sweep.seeds import MOST_RUNS

__all__ = ["LatinHypercube", "RandomDesign", "Sobol", "Span"]


@dataclass(frozen=True)
class Span:
    """Numbers from `low` to `high`, evenly or on a logarithmic scale, whole numbers if wanted (both ends included).

    Parameters
    ----------
    low : float
        Least number.
    high : float
        Largest number.
    log : bool, optional
        Whether numbers are even on a logarithmic scale.
    whole : bool, optional
        Whether numbers are whole.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(f"a span must rise, got {self.low!r} to {self.high!r}; give low < high")
        if self.whole and (self.low % 1 or self.high % 1):
            raise InputError(f"a whole span needs whole ends, got {self.low!r} to {self.high!r}; give whole numbers")
        if self.log and self.low <= 0:
            raise InputError(f"a logarithmic span must be positive, got low = {self.low!r}; give low > 0")

    def at(self, share: float) -> float | int:
        """The number at a share in [0, 1) of the way."""
        low, high = (self.low, self.high + 1) if self.whole else (self.low, self.high)
        value = low * (high / low) ** share if self.log else low + share * (high - low)
        return min(math.floor(value), int(self.high)) if self.whole else float(value)


class _Sampled(Design):
    """Points of the unit cube, stretched to spans and choices."""

    def __init__(self, ranges: Mapping[str, Span | Sequence[Any]], count: int, seed: int = 0) -> None:
        check_whole("count of a design", count, high=MOST_RUNS)
        check_seed(seed)
        self.count, self.seed = int(count), int(seed)
        self.ranges = {
            name: given if isinstance(given, Span) else listed({name: given})[name] for name, given in ranges.items()
        }
        if not self.ranges:
            raise InputError("a random design has no parameters; give spans or lists, such as rate = Span(0, 1)")

    @abstractmethod
    def _points(self, dimensions: int, rng: np.random.Generator) -> Array:
        """Points in the unit cube: (count, dimensions)."""

    def cells(self) -> list[Cell]:
        points = self._points(len(self.ranges), np.random.default_rng(self.seed))
        settings = [
            {name: _at(given, share) for (name, given), share in zip(self.ranges.items(), point, strict=True)}
            for point in points.tolist()
        ]
        return [Cell(name_of(setting), setting) for setting in settings]

    def describe(self) -> dict[str, Any]:
        ranges = {name: asdict(given) if isinstance(given, Span) else given for name, given in self.ranges.items()}
        kind = snake(type(self).__name__).removesuffix("_design")
        return {"kind": kind, "count": self.count, "seed": self.seed, "parameters": written(ranges)}


class RandomDesign(_Sampled):
    """Independent uniform points.

    Parameters
    ----------
    ranges : Mapping[str, Span | Sequence[Any]]
        A `Span`, or values, by parameter.
    count : int
        How many points.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    """

    def _points(self, dimensions: int, rng: np.random.Generator) -> Array:
        return rng.random((self.count, dimensions))


class LatinHypercube(_Sampled):
    """Each of `count` slices of every parameter is met once (McKay et al. 1979).

    Parameters
    ----------
    ranges : Mapping[str, Span | Sequence[Any]]
        A `Span`, or values, by parameter.
    count : int
        How many points.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    """

    def _points(self, dimensions: int, rng: np.random.Generator) -> Array:
        from scipy.stats import qmc  # slow to import, and no worker needs it

        return qmc.LatinHypercube(dimensions, rng=rng).random(self.count)


class Sobol(_Sampled):
    """The points of a scrambled Sobol sequence, best a power of two of them.

    Points only: Sobol indices are what `fedabm.sensitivity` finds, from a design of its own.

    Parameters
    ----------
    ranges : Mapping[str, Span | Sequence[Any]]
        A `Span`, or values, by parameter.
    count : int
        How many points, best a power of two.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    """

    def _points(self, dimensions: int, rng: np.random.Generator) -> Array:
        from scipy.stats import qmc

        power = max(self.count - 1, 0).bit_length()
        return qmc.Sobol(dimensions, rng=rng).random_base2(power)[: self.count]


def _at(given: Span | list[Any], share: float) -> Any:
    return given.at(share) if isinstance(given, Span) else given[int(share * len(given))]
