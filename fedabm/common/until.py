"""Enough seeds, decided by the data: as many as it takes to know every compared mean to within a given width.

Stein's two stages (1945, Annals of Mathematical Statistics 16): n seeds first, whose interval reaches H from the mean;
then N = n (H / width)^2 in all, and intervals of N seeds whose spread is that of the *first* n,

    t(n - 1) s_n / sqrt(N) <= width.

For normal noise its level is exact, since a mean does not depend on the spread that has decided on N.  A rule that
looks at all seeds again and again stops too often when the spread happens to look small, and covers less.  Where the
shape of the noise is unknown H is that of `fedabm.common.confidence`, the interval of all N seeds must be as narrow,
too, and more stages follow until it is; the wider of the two counts.  A first stage in which most values are equal, so
that it has no interval, is doubled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.confidence import ConfidenceIntervals, Noise
from fedabm.common.errors import InputError, check_positive, check_whole

__all__ = ["EnoughSeeds", "Until", "until"]

#: with how many seeds the rule begins
FIRST: dict[Noise, int] = {"unknown": 20, "normal": 10}
#: a further stage adds at least this share of seeds, so that there are few looks
_STAGE = 0.1
_NUMBER = r"[0-9.]+(?:e[+-]?[0-9]+)?"
_FORM = re.compile(
    rf"until\s+(?P<width>{_NUMBER})(?:\s+of\s+(?P<of>[a-z_]+))?(?:,?\s+from\s+(?P<first>\d+))?"
    r"(?:,?\s+at\s+most\s+(?P<most>\d+))?(?:\s+seeds)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Until:
    """Seeds until the 95% interval of every compared mean reaches at most `width` from it.

    Parameters
    ----------
    width : float
        How far intervals may reach from their means, in units of the measure.
    of : str | None, optional
        Which measure; None: the headline of what is run, net welfare.
    first : int | None, optional
        With how many seeds it begins; None: 10 where the noise is known to be normal, else 20.
    most : int, optional
        No more seeds than these; where they are not enough, it is said what they came to.
    """

    width: float
    of: str | None = None
    first: int | None = None
    most: int = 1000

    def __post_init__(self) -> None:
        check_positive("width of intervals", self.width)
        check_whole("most seeds", self.most, low=2)
        if self.first is not None:
            check_whole("first seeds", self.first, low=2)

    def __str__(self) -> str:
        measure = f" of {self.of}" if self.of else ""
        begun = f" from {self.first}" if self.first else ""
        return f"until {self.width:g}{measure}{begun} at most {self.most}"

    @classmethod
    def read(cls, text: str) -> Until:
        """From words.

        >>> Until.read("until 0.01")
        Until(width=0.01, of=None, first=None, most=1000)
        >>> str(Until.read("until 0.5 of data, from 10, at most 200 seeds"))
        'until 0.5 of data from 10 at most 200'
        """
        found = _FORM.fullmatch(text.strip())
        if found is None:
            example = 'write for instance "until 0.01", or "until 0.01 of welfare, from 20, at most 500"'
            raise InputError(f"seeds must be a number or until when, got {text!r}; {example}")
        whole = {name: int(found[name]) for name in ("first", "most") if found[name]}
        return cls(float(found["width"]), found["of"], **whole)

    def begins(self, noise: Noise) -> int:
        """How many seeds the first stage has."""
        first = FIRST[noise] if self.first is None else self.first
        least = ConfidenceIntervals(noise).least
        if first < least:
            raise InputError(f"{first} first seeds give no interval of noise of unknown shape; give at least {least}")
        if first > self.most:
            raise InputError(f"at most {self.most} seeds but {first} to begin with; allow more, or begin with fewer")
        return first


@dataclass(frozen=True)
class EnoughSeeds:
    """What a rule came to.

    Parameters
    ----------
    rule : Until
        The rule.
    intervals : ConfidenceIntervals
        How intervals are made of its seeds.
    stages : tuple[int, ...]
        How many seeds there were in all after each stage.
    half : float
        How far the widest of the compared intervals reaches from its mean.
    what : str
        What was compared, in words.
    """

    rule: Until
    intervals: ConfidenceIntervals
    stages: tuple[int, ...]
    half: float
    what: str

    @property
    def reached(self) -> bool:
        """Whether the seeds were enough."""
        return self.half <= self.rule.width * (1.0 + 1e-9)

    def __str__(self) -> str:
        seeds = self.stages[-1]
        how = f"{seeds} seeds ({', then '.join(map(str, self.stages))}; {self.intervals.noise} noise)"
        came = f"{how} give the {self.what} to within ±{self.half:.3g}"
        if self.reached:
            return f"{came}, as asked (±{self.rule.width:g})"
        more = f"about {_more(seeds, self.half, self.rule.width):,}" if np.isfinite(self.half) else "many more"
        return (
            f"{came}, not ±{self.rule.width:g} as asked: {self.rule.most} is the most allowed; {more} would be enough"
        )

    def describe(self) -> dict[str, Any]:
        """The same as plain data, for a manifest."""
        return {
            "rule": str(self.rule),
            "of": self.what,
            "noise": self.intervals.noise,
            "stages": list(self.stages),
            "half_width": self.half if np.isfinite(self.half) else None,
            "reached": self.reached,
        }


def until(rule: Until, noise: Noise, sample: Callable[[int], Sequence[Any]], what: str = "means") -> EnoughSeeds:
    """Ask for samples of more and more seeds until their means are known well enough, or no more are allowed.

    Parameters
    ----------
    rule : Until
        How well, and how many seeds at most.
    noise : Noise
        What is known of the shape of the noise.
    sample : Callable[[int], Sequence[Any]]
        All compared quantities with that many seeds in all: one array of numbers each, the first seeds in front.
    what : str, optional
        What is compared, in words.

    Returns
    -------
    EnoughSeeds
        How many seeds there are now, and how well the means are known.
    """
    stages = [rule.begins(noise)]
    intervals = ConfidenceIntervals(noise, first=stages[0])
    while True:
        seeds = stages[-1]
        halves = [intervals.half(one) for one in sample(seeds)]
        half = max((np.inf if np.isnan(one) else one for one in halves), default=0.0)
        if half <= rule.width or seeds >= rule.most:
            return EnoughSeeds(rule, intervals, tuple(stages), half, what)
        stages.append(min(_more(seeds, half, rule.width), rule.most))
        if not np.isfinite(half):  # too many equal values to say how they spread: the first stage was too short
            intervals = ConfidenceIntervals(noise, first=stages[-1])


def _more(seeds: int, half: float, width: float) -> int:
    """How many seeds make an interval as narrow; twice as many where there is none yet."""
    if not np.isfinite(half):
        return 2 * seeds
    return max(math.ceil(seeds * (half / width) ** 2 - 1e-9), math.ceil(seeds * (1.0 + _STAGE)))
