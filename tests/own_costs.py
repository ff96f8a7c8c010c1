"""Costs as a user would write them, and strategies of hypothesis that draw costs of all families."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from fedabm.games.costs import Affine, Cost, Linear, Piecewise, Power, Quadratic, Tabulated

CAPACITY = 12.0


@dataclass(frozen=True)
class Congested(Cost):
    """Convex without a kink, known by its values alone."""

    rate: float
    bend: float

    def value(self, x):
        return self.rate * np.expm1(self.bend * x) / (1.0 + self.bend)


@dataclass(frozen=True)
class Discs(Cost):
    """One disc per `size` units, bought for the first unit beyond the last disc, or already for the last one on it."""

    price: float
    size: float
    rate: float
    already: bool = False

    @property
    def breaks(self):
        return tuple(self.size * np.arange(1, 2 + int(CAPACITY / self.size)))

    def value(self, x):
        bought = np.searchsorted(self.breaks, x, side="right" if self.already else "left")
        return self.rate * x + self.price * bought


@dataclass(frozen=True)
class Discount(Cost):
    """Cheaper by the dozen: not convex, and it says so."""

    rate: float
    convex = False

    def value(self, x):
        return self.rate * np.sqrt(x)


rates = st.floats(0.0, 0.3)
starts = st.lists(st.floats(0.1, 1.2 * CAPACITY), max_size=3, unique=True).map(lambda more: [0.0, *sorted(more)])


@st.composite
def piecewise(draw):
    """Straight pieces with rising slopes, some with jumps."""
    where = draw(starts)
    several = {"min_size": len(where), "max_size": len(where)}
    slopes = np.cumsum(draw(st.lists(st.floats(0.0, 0.1), **several)))
    jumps = draw(st.lists(st.sampled_from([0.0, 0.0, 0.05, 0.4]), **several))
    return Piecewise(where, slopes, jumps, draw(st.sampled_from([0.0, 0.2])))


@st.composite
def tabulated(draw):
    """A table of convex costs."""
    points = np.array([*draw(starts), 20.0])
    slopes = np.cumsum(draw(st.lists(st.floats(0.0, 0.1), min_size=len(points) - 1, max_size=len(points) - 1)))
    return Tabulated(points, np.append(0.0, np.cumsum(np.diff(points) * slopes)))


powers = st.one_of(
    st.builds(Linear, rates),
    st.builds(Affine, rates, rates),
    st.builds(Power, rates, st.floats(1.0, 3.0)),
    st.builds(Quadratic, rates),
)
closed_costs = st.one_of(powers, piecewise(), tabulated())
own_costs = st.one_of(
    st.builds(Congested, rates, st.floats(0.01, 0.5)),
    st.builds(Discs, rates, st.floats(0.7, 8.0), st.floats(0.0, 0.1), st.booleans()),
)
any_cost = st.one_of(closed_costs, own_costs, st.builds(Discount, rates))
