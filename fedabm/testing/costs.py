"""The contract of every cost: never falling, kept by rows, and what its traits say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fedabm.common.errors import check_kind
from fedabm.games.costs import Cost, stack
from fedabm.games.curves import Array
from fedabm.testing.contract import Check, checked, expect, expect_value

__all__ = ["COST_CHECKS", "check_cost"]

_REACH = 25.0


def check_cost(cost: Cost, seeds: int = 3) -> None:
    """Raise `ContractBroken`, with one line for each promise that one owner's cost breaks somewhere, or do nothing.

    Parameters
    ----------
    cost : Cost
        The cost of one owner.
    seeds : int, optional
        How many random contributions are tried.
    """
    check_kind("cost", cost, Cost)
    checked(cost, COST_CHECKS, seeds)


def is_a_frozen_value(cost: Cost, seed: int) -> None:
    """Compared, hashed, pickled, varied; nothing can be changed."""
    expect_value(cost)


def is_finite_and_never_falls(cost: Cost, seed: int) -> None:
    """From no data on."""
    x = np.sort(np.append(_REACH * np.random.default_rng(seed).random(200), 0.0))
    found = _value(cost, x)
    expect(np.isfinite(found) & (found >= 0), "it is negative or not finite somewhere; define it from 0 on")
    expect(np.diff(found) >= -1e-12 * found.max(), "it falls somewhere; a cost must not fall")


def rows_are_what_owners_have_alone(cost: Cost, seed: int) -> None:
    """Among costs of its own family, scaled too."""
    x = _REACH * np.random.default_rng(seed).random((3, 5))
    together = stack([cost, cost.scaled(2.0), cost])
    alone = _value(cost, x[0]), 2.0 * _value(cost, x[1]), _value(cost, x[2])
    expect(np.allclose(together.value(x), alone, rtol=1e-12), "among others it is another; let row i depend on row i")


def slopes_are_derivatives(cost: Cost, seed: int) -> None:
    """Away from its breaks."""
    x, step = _away(cost, seed), 1e-6
    rise = (_value(cost, x + step) - _value(cost, x - step)) / (2 * step)
    slope = stack([cost]).slope(x[None])[0]
    expect(np.isclose(slope, rise, rtol=1e-4, atol=1e-6), "its slope is not the derivative of its value; mend it")


# What traits say


def is_convex_where_promised(cost: Cost, seed: int) -> None:
    """Between its breaks."""
    for found in _pieces(cost) if cost.traits.convex else ():
        bends = np.diff(found, 2) >= -1e-10 * found.max() - 1e-300
        expect(bends, "it bends down between its breaks and says convex; name its breaks, or set convex = False")


def is_straight_where_promised(cost: Cost, seed: int) -> None:
    """Between its breaks."""
    for found in _pieces(cost) if cost.traits.straight else ():
        bends = np.abs(np.diff(found, 2)) <= 1e-10 * found.max() + 1e-300
        expect(bends, "it bends between its breaks and says straight; name its breaks, or set straight = False")


def is_linear_where_promised(cost: Cost, seed: int) -> None:
    """c(0) + unit * s."""
    if cost.traits.linear:
        x = _REACH * np.random.default_rng(seed).random(9)
        line = _value(cost, np.zeros(1)) + stack([cost]).unit(x[None])[0] * x
        expect(np.allclose(_value(cost, x), line, rtol=1e-9), "it is not c(0) + unit * s; set linear = False")


def is_a_power_where_promised(cost: Cost, seed: int) -> None:
    """fixed + rate * s^exponent."""
    known = cost.as_power()
    expect((known is not None) == cost.traits.power, "power and as_power differ; let as_power tell it where it is")
    if known is not None:
        x = _REACH * np.random.default_rng(seed).random(9)
        same = np.allclose(_value(cost, x), known.fixed + known.rate * x**known.exponent, rtol=1e-12)
        expect(same, "it is not fixed + rate * s^exponent; set power = False")


COST_CHECKS: tuple[Check, ...] = (
    is_a_frozen_value,
    is_finite_and_never_falls,
    rows_are_what_owners_have_alone,
    slopes_are_derivatives,
    is_convex_where_promised,
    is_straight_where_promised,
    is_linear_where_promised,
    is_a_power_where_promised,
)


def _value(cost: Cost, x: Array) -> Array:
    """As a run asks it."""
    return stack([cost]).value(x[None])[0]


def _breaks(cost: Cost) -> Array:
    kinks = stack([cost]).kinks(1)[0]
    return np.unique(np.clip([0.0, *kinks, _REACH], 0.0, _REACH))


def _pieces(cost: Cost) -> list[Array]:
    """Its values at points of equal distance between neighbouring breaks."""
    edges = _breaks(cost)
    shares = np.linspace(1e-9, 1 - 1e-9, 65)
    return [_value(cost, low + (high - low) * shares) for low, high in pairwise(edges)]


def _away(cost: Cost, seed: int) -> Array:
    """Points that are not near a break."""
    x = _REACH * np.random.default_rng(seed).uniform(0.01, 0.99, 60)
    return x[np.min(np.abs(x[:, None] - _breaks(cost)), axis=1) > 1e-3]
