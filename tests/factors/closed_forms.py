"""Functions of the unit cube whose indices are known: Ishigami's in closed form, a game's by quadrature.

The game: one owner whose data cost c a unit, and others whose data cost ten times as much.  Under a subsidy of r it
contributes until a'(S) = c - r, the others nothing, and n owners share welfare n a(S) - c S with a(S) = 1 - (1 + S)^-b.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fedabm import Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy

Array = np.ndarray

#: of the game: (low, high) of cost (logarithmic), rate and exponent, and the numbers of owners
COST, RATE, EXPONENT, OWNERS = (0.1, 0.3), (0.0, 0.05), (0.5, 2.0), (2, 3, 4, 5, 6)
OVER = "cost=0.1:0.3:log, rate=0:0.05, exponent=0.5:2, owners=2:6"


class Known(NamedTuple):
    """A function of points (..., dimensions), and its indices: first order, total order, pairs in order."""

    values: Callable[[Array], Array]
    dimensions: int
    first: Array
    total: Array
    pairs: Array

    @property
    def all(self) -> Array:
        return np.concatenate([self.first, self.total, self.pairs])


def ishigami_values(points: Array) -> Array:
    """sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1 on [-pi, pi]^3: Ishigami and Homma 1990."""
    x = np.pi * (2.0 * points - 1.0)
    return np.sin(x[..., 0]) + 7.0 * np.sin(x[..., 1]) ** 2 + 0.1 * x[..., 2] ** 4 * np.sin(x[..., 0])


def ishigami() -> Known:
    a, b, pi = 7.0, 0.1, np.pi
    one, two = 0.5 * (1 + b * pi**4 / 5) ** 2, a**2 / 8
    both = b**2 * pi**8 * (1 / 18 - 1 / 50)
    whole = one + two + both
    shares = np.array([one, two, 0.0, one + both, two, both, 0.0, both, 0.0]) / whole
    return Known(ishigami_values, 3, shares[:3], shares[3:6], shares[6:])


def welfare(cost: Array, rate: Array, exponent: Array, owners: Array) -> Array:
    """In equilibrium."""
    given = (exponent / (cost - rate)) ** (1 / (exponent + 1))
    return owners * (1 - given**-exponent) - cost * (given - 1)


def game_values(points: Array) -> Array:
    """Welfare at shares of the way along cost, rate, exponent and owners."""
    u, v, w, number = np.moveaxis(points, -1, 0)
    owners = np.asarray(OWNERS)[np.minimum((number * len(OWNERS)).astype(int), len(OWNERS) - 1)]
    cost = COST[0] * (COST[1] / COST[0]) ** u
    return welfare(cost, RATE[0] + (RATE[1] - RATE[0]) * v, EXPONENT[0] + (EXPONENT[1] - EXPONENT[0]) * w, owners)


def game() -> Known:
    """Its indices by Gauss-Legendre quadrature, exact to more digits than any sample has."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    nodes, weights = (nodes + 1) / 2, weights / 2
    count = len(OWNERS)
    axes = [nodes, nodes, nodes, (np.arange(count) + 0.5) / count]
    mass = [weights, weights, weights, np.full(count, 1 / count)]
    values = game_values(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    return Known(game_values, 4, *_indices(values, mass))


def _indices(values: Array, mass: list[Array]) -> tuple[Array, Array, Array]:
    """Of a table of values on a product of weighted points."""
    everything = tuple(range(values.ndim))

    def explained(some: tuple[int, ...]) -> float:
        """The variance of the mean given some inputs."""
        table = values
        for axis in reversed(everything):
            if axis not in some:
                table = np.tensordot(table, mass[axis], axes=(axis, 0))
        weight = np.ones(())
        for axis in some:
            weight = np.multiply.outer(weight, mass[axis])
        mean = (table * weight).sum()
        return float((weight * (table - mean) ** 2).sum())

    whole = explained(everything)
    first = np.array([explained((one,)) for one in everything]) / whole
    total = 1 - np.array([explained(tuple(j for j in everything if j != one)) for one in everything]) / whole
    pairs = [explained((j, k)) / whole - first[j] - first[k] for j, k in itertools.combinations(everything, 2)]
    return first, total, np.array(pairs)


def build(cost: float = 0.2, rate: float = 0.02, exponent: float = 1.0, owners: int = 3) -> Scenario:
    """The game as a scenario."""
    costs = [cost, *[10.0 * cost] * (owners - 1)]
    return Scenario(population(costs, 100.0), PowerLaw(exponent=exponent), ContributionSubsidy(rate))
