"""What data costs its owner: c(s), private, non-decreasing and convex.

Each family is a frozen dataclass whose numbers are floats for one owner, or arrays with one entry per owner after
`stack`.  All are of the form

    c(s) = fixed + rate * s^exponent,        rate, fixed >= 0, exponent >= 1.

Murhekar et al. 2023 Section 4 and Murhekar et al. 2025 Theorem 4.9 use c(s) = rate * s + fixed; the fixed part
is paid even at s = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, as_numbers, check_positive
from fedabm.common.rowwise import power
from fedabm.games.curves import Array, Curve, Rows, beside

__all__ = ["Affine", "Cost", "Linear", "Power", "Quadratic", "costs_of", "stack"]


@dataclass(frozen=True)
class Cost(Curve):
    """c(s) = fixed + rate * s^exponent; use `Linear`, `Affine`, `Power` or `Quadratic` to make one."""

    rate: Any
    exponent: Any = 1.0
    fixed: Any = 0.0

    def __post_init__(self) -> None:
        check_positive("cost rate", self.rate, zero=True)
        check_positive("fixed cost", self.fixed, zero=True)
        exponent = as_numbers("cost exponent", self.exponent)
        if not np.all(np.isfinite(exponent) & (exponent >= 1)):
            raise InputError(f"cost exponent must be at least 1, got {self.exponent}; smaller ones are not convex")

    @property
    def linear(self) -> bool:
        """Whether every owner's cost grows at a constant rate."""
        return bool(np.all(np.asarray(self.exponent) == 1))

    def value(self, x: Array) -> Array:
        """c(x)."""
        grown = x if self.linear else power(x, beside(self.exponent, x))
        return beside(self.fixed, x) + beside(self.rate, x) * grown

    def slope(self, x: Array) -> Array:
        """c'(x)."""
        if self.linear:
            return np.broadcast_to(beside(self.rate, x), x.shape).astype(float)
        exponent = beside(self.exponent, x)
        return beside(self.rate, x) * exponent * power(x, exponent - 1)

    def curvature(self, x: Array) -> Array:
        """c''(x); infinite at 0 for exponents between 1 and 2."""
        if self.linear:
            return np.zeros(x.shape)
        exponent = beside(self.exponent, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = beside(self.rate, x) * exponent * (exponent - 1) * power(x, exponent - 2)
        return np.where(np.isnan(bend), 0.0, bend)

    def take(self, rows: Rows) -> Cost:
        """The costs of some owners only; a single number serves everybody."""
        return Cost(*(part if np.ndim(part) == 0 else part[rows] for part in (self.rate, self.exponent, self.fixed)))

    def scaled(self, factor: Any) -> Cost:
        """The cost multiplied by a factor, as a liar would state it."""
        return Cost(self.rate * factor, self.exponent, self.fixed * factor)


def Linear(rate: Any) -> Cost:
    """c(s) = rate * s.  Karimireddy et al. 2022, eq. (2)."""
    return Cost(rate)


def Affine(rate: Any, fixed: Any) -> Cost:
    """c(s) = rate * s + fixed.  Murhekar et al. 2023, Section 4."""
    return Cost(rate, fixed=fixed)


def Power(rate: Any, exponent: Any) -> Cost:
    """c(s) = rate * s^exponent, exponent >= 1: growing marginal cost."""
    return Cost(rate, exponent)


def Quadratic(rate: Any) -> Cost:
    """c(s) = rate * s^2."""
    return Cost(rate, 2.0)


def stack(costs: Sequence[Cost]) -> Cost:
    """Put the costs of many owners into one `Cost` with arrays, one entry per owner.

    >>> stack([Linear(0.1), Quadratic(0.25)]).value(np.array([2.0, 2.0]))
    array([0.2, 1. ])
    """
    if not costs:
        raise InputError("no owners: got an empty list of costs; give at least one owner")
    columns = [(one.rate, one.exponent, one.fixed) for one in costs]
    if any(np.ndim(number) for column in columns for number in column):
        raise InputError("one of the costs is that of several owners; list one cost per owner, with single numbers")
    rate, exponent, fixed = (np.array(column, dtype=float) for column in zip(*columns, strict=True))
    return Cost(rate, exponent, fixed)


def costs_of(costs: Any, owners: int = 1) -> Cost:
    """Costs of all owners with arrays throughout, from a list of costs or numbers (linear rates) or a stacked `Cost`.

    A single cost or number is that of each of `owners`.

    >>> costs_of([0.1, Quadratic(0.25)]).rate
    array([0.1 , 0.25])
    """
    if not isinstance(costs, Cost):
        several = isinstance(costs, (Sequence, np.ndarray)) and not isinstance(costs, str)
        several = several and getattr(costs, "ndim", 1) > 0
        items = list(costs) if several else [costs] * owners
        return stack([item if isinstance(item, Cost) else Linear(_rate(item)) for item in items])
    parts = [np.asarray(part, dtype=float) for part in (costs.rate, costs.exponent, costs.fixed)]
    sizes = {part.shape for part in parts if part.ndim}
    if len(sizes) > 1 or any(len(shape) > 1 or not shape[0] for shape in sizes):
        raise InputError(f"cost rates, exponents and fixed costs have shapes {sorted(sizes)}; give one per owner")
    return Cost(*(np.broadcast_to(part, next(iter(sizes), (owners,))).copy() for part in parts))


def _rate(item: Any) -> float:
    """One number as the rate of a linear cost."""
    try:
        return float(item)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"a cost must be a number or a Cost, got {item!r}; give the cost of one unit of data"
        ) from None
