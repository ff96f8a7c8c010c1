"""What owners collect alone and under value shaping, and what a model of language is worth to them.

Karimireddy et al. 2022, Figures 2, 4 and 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedabm.common.errors import InputError, check_positive, finite_vector
from fedabm.games.accuracy import Exposure, PacBound, PowerLaw
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum, smallest_federation
from fedabm.mechanisms.value_shaping import shaped_equilibrium

__all__ = ["PowerFit", "fit_losses", "largest_complexity", "optima_alone", "shaped_total", "value_of_tokens"]


def optima_alone(accuracy: Exposure, costs: Array) -> Array:
    """m* at each marginal cost; nobody collects more than the best model is worth."""
    most = float(accuracy.curve(np.array(1e200)))
    return individual_optimum(accuracy, Linear(costs), most / costs)[0]


def shaped_total(accuracy: Exposure, cost: float, owners: int) -> float:
    """Data at the equilibrium of value shaping with the most data, for owners with equal costs."""
    return float(shaped_equilibrium(accuracy, Linear(np.full(owners, cost))).sum())


def largest_complexity(ceiling: float, cost: float, owners: int) -> float:
    """The complexity from which on these owners cannot begin, by bisection of its logarithm."""
    low, high = 1e-6, 1e12
    while high / low > 1 + 1e-9:
        middle = float(np.sqrt(low * high))
        viable = smallest_federation(PacBound(ceiling, middle), cost) <= owners
        low, high = (middle, high) if viable else (low, middle)
    return low


class PowerFit(NamedTuple):
    """loss(m) = (tokens / m)^exponent, and the share of the variance of log loss that it explains."""

    tokens: float
    exponent: float
    r_squared: float


def fit_losses(sizes: Array, losses: Array) -> PowerFit:
    """A straight line through log loss against log size, as in Karimireddy et al. 2022, Appendix C.1.

    >>> sizes = np.array([1e8, 1e9, 1e10])
    >>> fit = fit_losses(sizes, (5.4e13 / sizes) ** 0.095)
    >>> round(fit.exponent, 6), f"{fit.tokens:.3g}", round(fit.r_squared, 6)
    (0.095, '5.4e+13', 1.0)
    """
    sizes, losses = finite_vector("sizes", sizes), finite_vector("losses", losses, len(sizes))
    check_positive("sizes", sizes)
    check_positive("losses", losses)
    if len(np.unique(sizes)) < 2:
        raise InputError(f"{len(sizes)} points of one size; give losses at two sizes of data at least")
    x, y = np.log(sizes), np.log(losses)
    slope, intercept = np.polyfit(x, y, 1)
    if slope >= 0:
        raise InputError(f"losses rise with the data (slope {slope:.3g}); give losses that fall")
    left, spread = np.sum((y - slope * x - intercept) ** 2), np.sum((y - y.mean()) ** 2)
    return PowerFit(float(np.exp(-intercept / slope)), float(-slope), float(1 - left / spread))


def value_of_tokens(exponent: float = 0.095, worth: float = 1e9, tokens: float = 5.4e13) -> PowerLaw:
    """v(m) = worth (1 - (tokens / m)^exponent), nothing below `tokens`."""
    return PowerLaw(scale=worth * tokens**exponent, exponent=exponent, offset=0.0, ceiling=worth)
