"""The closed family of costs,

    c(s) = fixed + rate * s^exponent,        rate, fixed >= 0, exponent >= 1.

Its numbers are floats for one owner, or arrays with one entry per owner.  Murhekar et al. 2023 Section 4 and Murhekar
et al. 2025 Theorem 4.9 use c(s) = rate * s + fixed; the fixed part is paid even at s = 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import made
from fedabm.common.errors import InputError, as_numbers, check_positive
from fedabm.common.rowwise import power
from fedabm.games.costs.base import Cost, Flags
from fedabm.games.curves import Array, Rows, align_rows

__all__ = ["Affine", "Linear", "Power", "PowerCost", "Quadratic"]

#: larger exponents are a wall and no cost
_STEEPEST = 1000.0


@final
@dataclass(frozen=True)
class PowerCost(Cost):
    """c(s) = fixed + rate * s^exponent; use `Linear`, `Affine`, `Power` or `Quadratic` to make one.

    Parameters
    ----------
    rate : Any
        Cost of the first unit, per owner.
    exponent : Any, optional
        At least 1, per owner.
    fixed : Any, optional
        What is paid even at 0, per owner.
    """

    rate: Any
    exponent: Any = 1.0
    fixed: Any = 0.0
    closed = True
    power = True

    def __init_subclass__(cls) -> None:
        raise InputError(f"{cls.__name__} would be charged as a PowerCost; write a subclass of Cost with value(x)")

    def __post_init__(self) -> None:
        check_positive("cost rate", self.rate, zero=True)
        check_positive("fixed cost", self.fixed, zero=True)
        exponent = as_numbers("cost exponent", self.exponent)
        if not np.all(np.isfinite(exponent) & (exponent >= 1)):
            raise InputError(f"cost exponent must be at least 1, got {self.exponent}; smaller ones are not convex")
        if np.any(exponent > _STEEPEST):
            worst = f"must be at most {_STEEPEST:g}, got {np.max(exponent):g}"
            raise InputError(f"cost exponent {worst}; to forbid more than so much data lower the capacity instead")

    @cached_property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether every owner's cost grows at a constant rate."""
        if type(self.exponent) is float:
            return self.exponent == 1.0  # without NumPy, as this is asked of every owner
        return bool(np.all(np.asarray(self.exponent) == 1))

    @property
    def straight(self) -> Flags:  # type: ignore[override]
        """Whose cost grows at a constant rate."""
        return (np.asarray(self.exponent) == 1) | (np.asarray(self.rate) == 0)

    @np.errstate(over="ignore")
    def value(self, x: Array) -> Array:
        """c(x); far above the capacity it may be infinite, and so may its slope."""
        grown = x if self.linear else power(x, align_rows(self.exponent, x))
        return align_rows(self.fixed, x) + align_rows(self.rate, x) * grown

    @np.errstate(over="ignore")
    def slope(self, x: Array) -> Array:
        """c'(x)."""
        if self.linear:
            return np.full(x.shape, align_rows(self.rate, x), dtype=float)
        exponent = align_rows(self.exponent, x)
        return align_rows(self.rate, x) * exponent * power(x, exponent - 1)

    def curvature(self, x: Array) -> Array:
        """c''(x); infinite at 0 for exponents between 1 and 2."""
        if self.linear:
            return np.zeros(x.shape)
        exponent = align_rows(self.exponent, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bend = align_rows(self.rate, x) * exponent * (exponent - 1) * power(x, exponent - 2)
        return np.where(np.isnan(bend), 0.0, bend)

    def unit(self, x: Array) -> Array:
        """The rate, whatever the exponent."""
        return np.full(x.shape, align_rows(self.rate, x), dtype=float)

    def scaled(self, factor: Any) -> PowerCost:
        """The cost multiplied by a factor, as a liar would state it."""
        with np.errstate(over="ignore"):  # what is infinite is refused in one line
            return PowerCost(self.rate * factor, self.exponent, self.fixed * factor)

    @property
    def columns(self) -> tuple[NDArray, ...]:
        """Rates, exponents and fixed parts."""
        return tuple(np.asarray(part) for part in self._parts)

    @property
    def owners(self) -> int | None:
        """How many entries its arrays have."""
        return max((len(part) for part in self._parts if np.ndim(part)), default=None)

    @property
    def family(self) -> Hashable:
        """All of them."""
        return PowerCost

    @property
    def _parts(self) -> tuple[Any, Any, Any]:
        return self.rate, self.exponent, self.fixed

    def take(self, rows: Rows) -> PowerCost:
        """The costs of some owners only; a single number serves everybody."""
        rate, exponent, fixed = (part if np.ndim(part) == 0 else part[rows] for part in self._parts)
        return made(PowerCost, rate=rate, exponent=exponent, fixed=fixed)

    def each(self, owners: int) -> PowerCost:
        """The same with arrays throughout."""
        parts = [np.asarray(part, dtype=float) for part in self._parts]
        sizes = {part.shape for part in parts if part.ndim}
        if len(sizes) > 1 or any(len(shape) > 1 or not shape[0] for shape in sizes):
            raise InputError(f"cost rates, exponents and fixed costs have shapes {sorted(sizes)}; give one per owner")
        return PowerCost(*(np.broadcast_to(part, next(iter(sizes), (owners,))).copy() for part in parts))

    def concatenated(self, others: Sequence[PowerCost]) -> PowerCost:
        """One row per number."""
        columns = zip(*(other._parts for other in others), strict=True)
        return PowerCost(*(np.hstack(column).astype(float) for column in columns))

    def as_power(self) -> PowerCost:
        """Itself."""
        return self

    def figures(self) -> Array:
        """Rate and fixed part."""
        return np.column_stack(np.broadcast_arrays(self.rate, self.fixed))

    def same_family(self, other: Cost) -> bool | Flags:
        """Whose exponents are equal."""
        return np.asarray(self.exponent) == other.exponent if isinstance(other, PowerCost) else False


def Linear(rate: Any) -> PowerCost:
    """c(s) = rate * s.  Karimireddy et al. 2022, eq. (2).

    Parameters
    ----------
    rate : Any
        Cost of a unit: one number, or one per owner.

    Returns
    -------
    PowerCost
        The cost function.
    """
    return PowerCost(rate)


def Affine(rate: Any, fixed: Any) -> PowerCost:
    """c(s) = rate * s + fixed.  Murhekar et al. 2023, Section 4.

    Parameters
    ----------
    rate : Any
        Cost of a unit.
    fixed : Any
        What is paid even at 0.

    Returns
    -------
    PowerCost
        The cost function.
    """
    return PowerCost(rate, fixed=fixed)


def Power(rate: Any, exponent: Any) -> PowerCost:
    """c(s) = rate * s^exponent, exponent >= 1: growing marginal cost.

    Parameters
    ----------
    rate : Any
        Cost of the first unit.
    exponent : Any
        At least 1.

    Returns
    -------
    PowerCost
        The cost function.
    """
    return PowerCost(rate, exponent)


def Quadratic(rate: Any) -> PowerCost:
    """c(s) = rate * s^2.

    Parameters
    ----------
    rate : Any
        Cost of the first unit.

    Returns
    -------
    PowerCost
        The cost function.
    """
    return PowerCost(rate, 2.0)
