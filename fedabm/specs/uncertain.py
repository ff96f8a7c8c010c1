"""Numbers that nobody knows exactly: a range, a distribution, or draws; written in the place of a number.

cost = { low = 0.01, high = 0.03 }            each number between the two as likely as the next
cost = { mean = 0.02, sd = 0.005 }            a normal distribution, cut off at zero
cost = { draws = [0.018, 0.021, 0.024] }      each of these as likely as the next
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, check_number, finite_vector

__all__ = ["Uncertain", "drawn_number", "is_uncertain", "likely_numbers", "middle_of"]


@dataclass(frozen=True)
class Uncertain:
    """A number between `low` and `high`, or about a `mean` with a standard deviation `sd`, or one of `draws`.

    >>> Uncertain(low=1.0, high=3.0).middle, Uncertain(mean=2.0, sd=0.5).middle, Uncertain(draws=(1.0, 2.0)).middle
    (2.0, 2.0, 1.5)
    """

    low: float | None = None
    high: float | None = None
    mean: float | None = None
    sd: float | None = None
    draws: tuple[float, ...] | None = None
    only_tables: ClassVar[bool] = True

    def __post_init__(self) -> None:
        pairs = (self.low, self.high), (self.mean, self.sd), (self.draws,)
        stated = [all(one is not None for one in pair) for pair in pairs]
        partly = [any(one is not None for one in pair) for pair in pairs]
        if sum(stated) != 1 or stated != partly:
            raise InputError("an uncertain number has low and high, or mean and sd, or draws; give one of the three")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise InputError(f"low must not be above high, got {self.low:g} and {self.high:g}; exchange them")
        if self.mean is not None and self.sd is not None:
            check_number("mean", self.mean)
            check_number("sd", self.sd)
        if self.draws is not None and not len(finite_vector("draws", self.draws)):
            raise InputError("draws of a number are none; give at least one")

    def at(self, part: Any) -> Array:
        """The number below which it is with this probability."""
        u = np.asarray(part, dtype=float)
        if self.low is not None and self.high is not None:
            return self.low + (self.high - self.low) * u
        if self.mean is not None and self.sd is not None:
            below = ndtr(-self.mean / self.sd)  # what is cut off
            return np.maximum(self.mean + self.sd * ndtri(below + (1.0 - below) * u), 0.0)
        known = np.sort(np.asarray(self.draws, dtype=float))
        return known[np.minimum((u * len(known)).astype(int), len(known) - 1)]

    @property
    def middle(self) -> float:
        """The number that counts where one is wanted."""
        if self.draws is not None:
            return float(np.mean(self.draws))
        return float(self.mean if self.mean is not None else self.at(0.5))


def is_uncertain(given: Any) -> bool:
    """Whether it is such a number."""
    return isinstance(given, Uncertain)


def middle_of(given: Any) -> Any:
    """The number in the middle of an uncertain one; anything else as it is."""
    return given.middle if isinstance(given, Uncertain) else given


def drawn_number(given: Any, rng: np.random.Generator) -> Any:
    """One draw of an uncertain number; anything else as it is."""
    return float(given.at(rng.uniform())) if isinstance(given, Uncertain) else given


def likely_numbers(given: Any, count: int, rng: np.random.Generator) -> Array:
    """`count` draws, one from each of as many equally likely parts in random order; a number is repeated.

    >>> likely_numbers(Uncertain(low=0.0, high=1.0), 4, np.random.default_rng(0)).round(1).tolist()
    [0.5, 0.0, 0.5, 1.0]
    """
    if not isinstance(given, Uncertain):
        return np.full(count, float(given))
    return given.at((rng.permutation(count) + rng.uniform(size=count)) / count)
