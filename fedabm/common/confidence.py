"""Intervals of means over seeds, in one place: 95% where the noise allows it, none where so few seeds cannot give one.

No interval of a mean holds its level whatever the noise is (Bahadur and Savage 1956), so something must be known.

    normal    Student's t is exact, from two seeds on.  It is for whoever makes the noise to say so: three seeds of
              skewed noise look no different from three of normal noise, and a test of normality lets through just those
              samples that have missed the tail.
    unknown   the union of Student's interval and of the bootstrap-t (Efron 1982; Hall 1988, Annals of Statistics 16),
              from `LEAST` seeds on: with 10 seeds it covers 97% of means of normal noise, 95% of exponential and 91% of
              lognormal noise (skewness 6), where t covers 84%; below, t has 83% there, so nothing is shown.

Rules and measures of one study share the draws of a seed: many of them are hardly more evidence about the shape of the
noise than one.  How well intervals cover is measured by `python -m tests.compare.coverage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError

__all__ = ["LEAST", "ConfidenceIntervals", "Noise", "confidence", "half_width", "student"]

Noise = Literal["unknown", "normal"]

#: from how many seeds on noise of unknown shape has an interval: the least with which it covers 90% of lognormal means
LEAST = 10
#: how many resamples a bootstrap takes
_RESAMPLES = 999
#: from how many values on t is enough for any noise up to the skewness of a lognormal, 25 x 6.2^2 (Cochran 1977, p. 42)
_MANY = 955


@dataclass(frozen=True)
class ConfidenceIntervals:
    """How the 95% intervals of a study are made.

    Parameters
    ----------
    noise : Noise, optional
        What is known of the shape of the noise between seeds: "normal", or "unknown".
    first : int | None, optional
        With how many seeds a sequential rule began, whose spread then counts (Stein 1945); None: seeds were fixed.
    """

    noise: Noise = "unknown"
    first: int | None = None

    def __post_init__(self) -> None:
        if self.noise not in get_args(Noise):
            raise InputError(f'noise must be "normal" or "unknown", got {self.noise!r}; unknown promises nothing')

    def __call__(self, values: Any) -> tuple[float, float]:
        """Lower and upper end of the interval of the mean; nan where so few values give none."""
        known = _known(values)
        below, above = self._sides(known)
        mean = known.mean() if len(known) else np.nan
        return float(mean - below), float(mean + above)

    def half(self, values: Any) -> float:
        """From the mean to the end that is farther away; nan where so few values give no interval."""
        return float(max(self._sides(_known(values))))

    @property
    def least(self) -> int:
        """How many seeds an interval takes."""
        return 2 if self.noise == "normal" else LEAST

    def lacking(self, seeds: int) -> str:
        """Why there are no intervals, and how many seeds they take; nothing where there are enough."""
        if seeds >= self.least:
            return ""
        few = f"{seeds} seed{'s' if seeds > 1 else ''}"
        known = ', or noise = "normal" where that is known' if seeds > 1 else ""
        return f"{few} of noise of unknown shape give no 95% interval; give at least {self.least}{known}"

    def _sides(self, known: NDArray[np.float64]) -> tuple[float, float]:
        """How far the interval reaches below the mean and above."""
        if len(known) < self.least:
            return (0.0, 0.0) if len(known) > 1 and _constant(known) else (np.nan, np.nan)
        now = self._fixed(known)
        if self.first is None or len(known) <= self.first:
            return now
        shrunk = np.sqrt(self.first / len(known))
        begun = self._fixed(known[: self.first])
        below, above = begun[0] * shrunk, begun[1] * shrunk
        return (below, above) if self.noise == "normal" else (max(below, now[0]), max(above, now[1]))

    def _fixed(self, known: NDArray[np.float64]) -> tuple[float, float]:
        """The same where the number of values was fixed beforehand."""
        if _constant(known):
            return 0.0, 0.0
        half = float(half_width(known.std(ddof=1), len(known)))
        if self.noise == "normal" or len(known) >= _MANY:
            return half, half
        below, above = _bootstrap(known)
        return (max(half, below), max(half, above)) if np.isfinite([below, above]).all() else (np.nan, np.nan)


def confidence(values: Any, noise: Noise = "unknown") -> tuple[float, float]:
    """The 95% confidence interval of a mean over seeds; nothing where so few values cannot give one.

    >>> low, high = confidence([1.0, 3.0], noise="normal")
    >>> round(low, 3), round(high, 3)
    (-10.706, 14.706)
    >>> confidence([1.0, 3.0])
    (nan, nan)

    Parameters
    ----------
    values : Any
        One number per run.
    noise : Noise, optional
        "normal" where the noise is known to be, else "unknown"; see `fedabm.common.confidence`.

    Returns
    -------
    tuple[float, float]
        Lower and upper end.
    """
    return ConfidenceIntervals(noise)(values)


def student(freedom: Any, level: float = 0.95) -> Any:
    """By how many standard errors Student's interval of this level reaches from the mean, for one freedom or many."""
    from scipy.stats import t  # slow to import, so only when it is wanted

    return t.ppf(0.5 + level / 2.0, freedom)


def half_width(deviation: float, count: Any) -> Any:
    """Half of the 95% interval of a mean of as many normal values, one count or several; nan for one value."""
    return student(np.asarray(count) - 1.0) * deviation / np.sqrt(count)


def _known(values: Any) -> NDArray[np.float64]:
    known = np.asarray(values, dtype=float)
    return known[np.isfinite(known)]


def _constant(known: NDArray[np.float64]) -> bool:
    """Whether values differ by no more than rounding."""
    return bool(np.ptp(known) <= 1e-12 * np.abs(known).max())


def _bootstrap(known: NDArray[np.float64]) -> tuple[float, float]:
    """How far the bootstrap-t reaches below and above; infinitely, if resamples without any spread are too many."""
    count, apart = len(known), (known - known.mean()) / known.std(ddof=1)
    weights = _weights(count)
    mean = weights @ apart
    spread = np.sqrt(np.maximum(weights @ apart**2 - mean**2, 0.0) * count / (count - 1))
    flat = spread < 1e-6
    ratio = np.where(flat, np.copysign(np.inf, mean), mean / np.where(flat, 1.0, spread))
    low, high = np.quantile(ratio, 0.025, method="lower"), np.quantile(ratio, 0.975, method="higher")
    return float(high * known.std(ddof=1)), float(-low * known.std(ddof=1))


@lru_cache(maxsize=8)
def _weights(count: int) -> NDArray[np.float64]:
    """How much each of the values weighs in each resample: always the same ones, so that tables are the same, too."""
    drawn = np.random.default_rng(count).multinomial(count, np.full(count, 1.0 / count), size=_RESAMPLES)
    return drawn / count
