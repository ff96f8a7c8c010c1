"""Functions of an owner's own contribution, one per owner, evaluated for all owners at once.

A curve has one row per owner.  `value(x)` and `slope(x)` take contributions of shape (n,), or (n, k) for k trial
contributions of each owner, and return the same shape.  Row i of the result depends on row i of `x` only, so that the
rows of one owner, `curve.take([i])`, are all that this owner needs to know.

Rows may also be arranged as a table (runs, n), for many runs at once: then x is (runs, n) or (runs, n, k), and
`curve.take((run, owner))` picks single rows, as an array would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Flags, Rows, apart, distinct, made, select_rows
from fedabm.common.rowwise import sum_last
from fedabm.games.varied import mapped, picked, rows_of

__all__ = [
    "Along",
    "AlongEach",
    "AlongOwn",
    "Array",
    "Cap",
    "Curve",
    "Flags",
    "Line",
    "Rows",
    "Scaled",
    "ScaledEach",
    "align_rows",
    "is_affine",
    "leaves",
]


def align_rows(rows: Any, x: Array) -> Any:
    """Shape per-owner numbers (n,) so that they broadcast against x of shape (n,) or (n, k); or with runs in front."""
    return rows if np.ndim(rows) in (0, x.ndim) else np.asarray(rows)[..., None]


class Curve(ABC):
    """One function of the own contribution per owner."""

    #: `slope` is a formula of this library, beyond doubt; proofs about other curves rest on their values alone
    closed: Any = False
    #: a mean over coalitions or orders that were drawn, not over all: nothing about the rule itself is proven from it
    sampled: bool = False

    def errors(self, x: Array) -> Array:
        """The standard error of the value at x; none unless it is `sampled`."""
        return np.zeros(x.shape)

    @abstractmethod
    def value(self, x: Array) -> Array:
        """The function's value at each owner's contribution x."""

    @abstractmethod
    def slope(self, x: Array) -> Array:
        """Its derivative there (from the right, where it has a kink)."""

    @abstractmethod
    def take(self, rows: Rows) -> Curve:
        """The curves of some owners only."""

    def singly(self, rows: int) -> Iterator[Curve]:
        """The curve of each of its `rows` owners, one by one."""
        return (self.take([row]) for row in range(rows))

    def __add__(self, other: Curve) -> Curve:
        return Sum(self, other)

    def __sub__(self, other: Curve) -> Curve:
        return Sum(self, -1.0 * other)

    def __rmul__(self, factor: float) -> Curve:
        return Scaled(factor, self)


@dataclass(frozen=True)
class Line(Curve):
    """intercept + gradient * x, with one intercept and gradient per owner.

    Parameters
    ----------
    intercept : Array
        The value at 0, per owner.
    gradient : Array
        The slope, per owner.
    """

    intercept: Array
    gradient: Array
    closed = True

    @cached_property
    def zero(self) -> bool:
        """Whether it is nothing but zero for everybody."""
        return not (np.any(distinct(self.intercept)) or np.any(distinct(self.gradient)))

    def value(self, x: Array) -> Array:
        if self.zero:
            return np.zeros(x.shape)
        return align_rows(self.intercept, x) + align_rows(self.gradient, x) * x

    def slope(self, x: Array) -> Array:
        return np.full(x.shape, align_rows(self.gradient, x), dtype=float)

    def take(self, rows: Rows) -> Line:
        if self.zero:
            none = np.broadcast_to(0.0, len(rows[0] if isinstance(rows, tuple) else rows))
            return Line(none, none)
        return Line(select_rows(self.intercept, rows), select_rows(self.gradient, rows))

    def singly(self, rows: int) -> Iterator[Curve]:
        if self.zero:
            return repeat(self.take([0]), rows)
        return super().singly(rows)


@dataclass(frozen=True)
class Cap(Curve):
    """A straight line from `start` on, infinity before: what another curve never exceeds."""

    line: Curve
    start: Array
    closed = True

    def value(self, x: Array) -> Array:
        return np.where(x >= align_rows(self.start, x), self.line.value(x), np.inf)

    def slope(self, x: Array) -> Array:
        return self.line.slope(x)

    def take(self, rows: Rows) -> Cap:
        return Cap(self.line.take(rows), self.start[rows])


@dataclass(frozen=True)
class Along(Curve):
    """function(base + weight * x): a common function of an exposure that grows with the own contribution."""

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    base: Array
    weight: Array
    closed = True

    def value(self, x: Array) -> Array:
        return self.function(align_rows(self.base, x) + align_rows(self.weight, x) * x)

    def slope(self, x: Array) -> Array:
        weight = align_rows(self.weight, x)
        return weight * self.derivative(align_rows(self.base, x) + weight * x)

    def take(self, rows: Rows) -> Along:
        return Along(self.function, self.derivative, select_rows(self.base, rows), select_rows(self.weight, rows))

    def singly(self, rows: int) -> Iterator[Curve]:
        same = {"function": self.function, "derivative": self.derivative}
        pairs = zip(apart(self.base), apart(self.weight), strict=True)
        return (made(Along, **same, base=base, weight=weight) for base, weight in pairs)


@dataclass(frozen=True)
class AlongOwn(Curve):
    """v_i(base + weight * x), where each row has numbers of its own in the common formula of `family`.

    Its columns have one number per row; `family.curve` and `family.curve_slope` take exposures of the same shape.
    """

    family: Any
    base: Array
    weight: Array
    closed = True

    def value(self, x: Array) -> Array:
        return self._aligned(x).curve(align_rows(self.base, x) + align_rows(self.weight, x) * x)

    def slope(self, x: Array) -> Array:
        weight = align_rows(self.weight, x)
        return weight * self._aligned(x).curve_slope(align_rows(self.base, x) + weight * x)

    def take(self, rows: Rows) -> AlongOwn:
        return AlongOwn(rows_of(self.family, rows), select_rows(self.base, rows), select_rows(self.weight, rows))

    def _aligned(self, x: Array) -> Any:
        return self.family if x.ndim == self.base.ndim else mapped(self.family, lambda column: align_rows(column, x))


@dataclass(frozen=True)
class AlongEach(Curve):
    """sum_j function(base_j + weight_j * x): several exposures (n, m) that grow with the own contribution."""

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    base: Array
    weight: Array
    closed = True

    def value(self, x: Array) -> Array:
        return sum_last(self.function(self._exposures(x)))

    def slope(self, x: Array) -> Array:
        weight = self.weight if x.ndim == 1 else self.weight[:, None]
        return sum_last(weight * self.derivative(self._exposures(x)))

    def take(self, rows: Rows) -> AlongEach:
        return AlongEach(self.function, self.derivative, self.base[rows], self.weight[rows])

    def _exposures(self, x: Array) -> Array:
        """(n, m), or (n, k, m) for k trials."""
        base, weight = (self.base, self.weight) if x.ndim == 1 else (self.base[:, None], self.weight[:, None])
        return base + weight * x[..., None]


@dataclass(frozen=True)
class Sum(Curve):
    """The sum of two curves."""

    left: Curve
    right: Curve

    @property
    def closed(self) -> Any:
        """If both are."""
        return np.logical_and(self.left.closed, self.right.closed)

    @property
    def sampled(self) -> bool:  # type: ignore[override]
        """If one of them is."""
        return self.left.sampled or self.right.sampled

    def errors(self, x: Array) -> Array:
        """As if the errors of the two had nothing to do with each other."""
        return np.hypot(self.left.errors(x), self.right.errors(x))

    def value(self, x: Array) -> Array:
        return self.left.value(x) + self.right.value(x)

    def slope(self, x: Array) -> Array:
        return self.left.slope(x) + self.right.slope(x)

    def take(self, rows: Rows) -> Sum:
        return Sum(self.left.take(rows), self.right.take(rows))


@dataclass(frozen=True)
class Scaled(Curve):
    """A curve times a number, or times one number per row."""

    factor: Any
    part: Curve

    @property
    def closed(self) -> Any:
        """If the curve is."""
        return self.part.closed

    @property
    def sampled(self) -> bool:  # type: ignore[override]
        """If the curve is."""
        return self.part.sampled

    def errors(self, x: Array) -> Array:
        """That of the curve times the number."""
        return np.abs(align_rows(self.factor, x)) * self.part.errors(x)

    def value(self, x: Array) -> Array:
        return align_rows(self.factor, x) * self.part.value(x)

    def slope(self, x: Array) -> Array:
        return align_rows(self.factor, x) * self.part.slope(x)

    def take(self, rows: Rows) -> Scaled:
        return Scaled(picked(self.factor, rows), self.part.take(rows))


@dataclass(frozen=True)
class ScaledEach(Curve):
    """A curve times a number of every owner's own."""

    factor: Array
    part: Curve

    @property
    def closed(self) -> Any:
        """If the curve is."""
        return self.part.closed

    def value(self, x: Array) -> Array:
        return align_rows(self.factor, x) * self.part.value(x)

    def slope(self, x: Array) -> Array:
        return align_rows(self.factor, x) * self.part.slope(x)

    def take(self, rows: Rows) -> ScaledEach:
        return ScaledEach(self.factor[rows], self.part.take(rows))


def leaves(curve: Curve) -> Iterator[Curve]:
    """The curves that a sum consists of."""
    if isinstance(curve, Sum):
        yield from leaves(curve.left)
        yield from leaves(curve.right)
    elif isinstance(curve, Scaled):
        yield from (Scaled(curve.factor, part) for part in leaves(curve.part))
    else:
        yield curve


def is_affine(curve: Curve) -> bool:
    """Whether a curve is known to be a straight line: lines, sums and multiples of lines."""
    if isinstance(curve, Sum):
        return is_affine(curve.left) and is_affine(curve.right)
    return is_affine(curve.part) if isinstance(curve, Scaled) else isinstance(curve, Line)
