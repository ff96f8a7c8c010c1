"""What every cost shares, and how to write one of your own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_positive
from fedabm.games.curves import Array, Curve, Rows
from fedabm.games.traits import CostTraits, Declaring

Flags = NDArray[np.bool_]

__all__ = ["Cost", "Flags", "ScaledCost"]


class Cost(Declaring, Curve):
    """The cost c(s) of one owner, or of many with one row each (`stack`).

    A cost of your own is a subclass with `value(x)` for one owner, elementwise on arrays of any shape:

        @dataclass(frozen=True)
        class Storage(Cost):
            rate: float
            disc: float
            breaks = (100.0,)

            def value(self, x):
                return self.rate * x + self.disc * (x > 100.0)

    It is defined for every x >= 0, never falls, and is convex between its `breaks`; `check_costs` looks at many points.
    Where it is not convex say convex = False: proofs then take longer.  With a `slope` of its own it is faster; it is
    checked against the values, and proofs rest on these alone.
    """

    #: own contributions at which one owner's cost or its slope jumps; at a jump `value` decides what is paid there
    breaks: Sequence[float] = ()
    _kind_of_traits: ClassVar[type[CostTraits]] = CostTraits
    # Flags: `CostTraits` says what they mean.  Of many owners the first three may have one entry each.
    convex: bool | Flags = True
    straight: bool | Flags = False
    closed: bool | Flags = False
    linear: bool = False
    power: bool = False

    @property
    def traits(self) -> CostTraits:
        """All that is known of it beyond its values, of all owners."""
        flags = self.convex, self.straight, self.linear, self.closed, self.power
        return CostTraits(*(bool(np.all(flag)) for flag in flags))

    @abstractmethod
    def value(self, x: Array) -> Array:
        """c(x)."""

    def slope(self, x: Array) -> Array:
        """c'(x), from the right; by differences between the same two breaks unless a family knows better."""
        step = 1e-6 * np.maximum(np.abs(x), 1e-3)
        low, high = np.maximum(x - step, 0.0), x + step
        kinks = np.concatenate([[-np.inf], np.sort(np.asarray(self.breaks, dtype=float)), [np.inf]])
        after = np.searchsorted(kinks, x, side="right")
        low = np.maximum(low, kinks[after - 1] + 1e-3 * step)
        high = np.minimum(high, kinks[np.minimum(after, len(kinks) - 1)] - 1e-3 * step)
        width = np.maximum(high - low, 1e-3 * step)
        return (self.value(low + width) - self.value(low)) / width

    def curvature(self, x: Array) -> Array:
        """c''(x), by differences of the slope unless a family knows better."""
        step = 1e-4 * np.maximum(np.abs(x), 1e-3)
        low = np.maximum(x - step, 0.0)
        return (self.slope(x + step) - self.slope(low)) / (x + step - low)

    def unit(self, x: Array) -> Array:
        """The price of a unit where one number is asked for: the marginal cost at x (of a `PowerCost` the rate)."""
        return self.slope(x)

    def kinks(self, owners: int) -> Array:
        """The breaks of every owner, (owners, b); infinite where an owner has fewer."""
        return np.tile(np.asarray(self.breaks, dtype=float), (owners, 1))

    @property
    def states_slope(self) -> bool:
        """Whether its class says what the slope is, so that it can be wrong; differences cannot."""
        return type(self).slope is not Cost.slope

    def scaled(self, factor: float) -> Cost:
        """The cost multiplied by a factor, as a liar would state it."""
        return self if factor == 1 else ScaledCost(self, float(factor))

    # Many owners.  One function serves everybody; families with numbers per owner know better.

    @property
    def owners(self) -> int | None:
        """Of how many owners this is the cost; None: of one, and it serves as many as there are."""
        return None

    @property
    def columns(self) -> tuple[NDArray, ...]:
        """The arrays in which it keeps its numbers."""
        return ()

    @property
    def family(self) -> Hashable:
        """Costs of one family can be held together: equal ones, or all that differ in their numbers only."""
        try:
            hash(self)
        except TypeError:
            return (type(self), id(self))
        return self

    def take(self, rows: Rows) -> Cost:
        """The costs of some owners only."""
        return self

    def each(self, owners: int) -> Cost:
        """The same with one row per owner."""
        return self

    def concatenated(self, others: Sequence[Any]) -> Cost:
        """The rows of several costs of this family, one after the other."""
        return self

    def figures(self) -> Array:
        """The numbers (n, m) that are an owner's secret: a lie states others, zero or positive; the kind is public."""
        return np.ones((1, 1))

    def as_power(self) -> Any:
        """The `PowerCost` that it is (`CostTraits.power`); None: it is none."""
        return None

    def same_family(self, other: Cost) -> bool | Flags:
        """Whether another cost is of the same kind, so that only its figures differ."""
        return _plain(self).family == _plain(other).family


@dataclass(frozen=True)
class ScaledCost(Cost):
    """factor * c(s)."""

    plain: Cost
    factor: float

    def __post_init__(self) -> None:
        check_positive("factor of a cost", self.factor, zero=True)

    @property
    def breaks(self) -> Sequence[float]:  # type: ignore[override]
        """As those of the plain cost."""
        return self.plain.breaks

    @property
    def convex(self) -> bool | Flags:  # type: ignore[override]
        """As the plain cost."""
        return self.plain.convex

    @property
    def straight(self) -> bool | Flags:  # type: ignore[override]
        """As the plain cost."""
        return self.plain.straight

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """As the plain cost."""
        return self.plain.linear

    @property
    def family(self) -> Hashable:
        """Multiples by the same factor."""
        return (self.plain.family, self.factor)

    def value(self, x: Array) -> Array:
        """factor * c(x)."""
        return self.factor * self.plain.value(x)

    def slope(self, x: Array) -> Array:
        """factor * c'(x)."""
        return self.factor * self.plain.slope(x)

    def curvature(self, x: Array) -> Array:
        """factor * c''(x)."""
        return self.factor * self.plain.curvature(x)

    def scaled(self, factor: float) -> Cost:
        """The plain cost multiplied once."""
        return self.plain.scaled(self.factor * factor)

    def figures(self) -> Array:
        """The factor."""
        return np.full((1, 1), self.factor)


def _plain(cost: Cost) -> Cost:
    return cost.plain if isinstance(cost, ScaledCost) else cost
