"""Symmetric equilibria of proportional rules among equal owners: Karimireddy et al. 2022, Appendix C.2.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from fedabm.games.accuracy import PacBound
from fedabm.games.best import best_response
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum
from fedabm.games.intervals import ProofLimits
from fedabm.games.offers import Offers
from fedabm.games.roots import falling_root
from fedabm.mechanisms.proportional import Proportional
from fedabm.views import Reports

__all__ = ["Deviations", "Market", "Outside", "largest_symmetric"]

Outside = Literal["alone", "nothing"]


Deviations = Literal["all", "small"]


@dataclass(frozen=True)
class Market:
    """Equal owners with a common cost, and what they have if they leave."""

    accuracy: PacBound
    cost: float
    owners: int
    outside: Outside = "alone"

    @property
    def most(self) -> float:
        """The best model is worth no more data than this."""
        return self.accuracy.ceiling / self.cost

    @property
    def elsewhere(self) -> float:
        """Utility of an owner that leaves."""
        alone = individual_optimum(self.accuracy, Linear(np.array([self.cost])), np.array([self.most]))[1]
        return float(alone[0]) if self.outside == "alone" else 0.0

    def utility(self, each: Array) -> Array:
        """v(n m) - c m."""
        return self.accuracy.curve(self.owners * each) - self.cost * each

    def offers(self, rule: Proportional, each: float) -> Offers:
        """What one owner is offered while all others contribute `each`."""
        return rule.offers(self.accuracy, Reports(np.full(self.owners, each), np.full(self.owners, self.most))).take(
            [0]
        )

    def gain(self, rule: Proportional, each: float, tolerance: float) -> float:
        """A proven bound on what an owner could gain by any other contribution, or by leaving."""
        cost, capacity = Linear(np.array([self.cost])), np.array([self.most])
        best = best_response(self.offers(rule, each), cost, capacity, certify=ProofLimits(tolerance))
        return max(float(best.bound[0]), self.elsewhere) - float(self.utility(np.array(each)))

    def rational(self) -> float:
        """The largest common contribution that leaves nobody worse off than elsewhere; 0 if there is none."""
        low, high = np.array([self.accuracy.viable * (1 + 1e-12) / self.owners]), np.array([self.most])
        peak = falling_root(lambda m: self.owners * self.accuracy.curve_slope(self.owners * m) - self.cost, low, high)
        last = falling_root(lambda m: self.utility(m) - self.elsewhere, peak, high)
        return float(last[0]) if self.utility(peak)[0] >= self.elsewhere else 0.0


def largest_symmetric(
    market: Market, rule: type[Proportional], powers: Array, deviations: Deviations = "all", points: int = 120
) -> Array:
    """For each power, the largest contribution m such that no owner leaves it if all contribute m.

    Giving a little less must not pay: power * pressure(m) + v'(n m) >= c, where the pressure is what a first bit less
    costs the owner at power 1, by the rule's own offers.
    """
    top = market.rational() if deviations == "all" else market.most
    grid = np.linspace(0.0, top, points + 1)[1:]
    known = np.array([_pressure(market, rule, each) for each in grid]) if top > 0 else np.zeros((points, 2))
    return np.array([_last(market, rule, power, grid, known, deviations) for power in powers])


def _pressure(market: Market, rule: type[Proportional], each: float) -> tuple[float, float]:
    """What a little less costs an owner through its rank at power 1, and through the total."""
    offers, below = market.offers(rule(1.0), each), np.array([each * (1 - 1e-9)])
    total = float(offers.accuracy.slope(below)[0])
    return float(offers.received.slope(below)[0]) - total, total


def _last(
    market: Market, rule: type[Proportional], power: float, grid: Array, known: Array, deviations: Deviations
) -> float:
    """The last contribution that withstands small deviations and, if wanted, all others."""
    holds = np.flatnonzero(power * known[:, 0] + known[:, 1] >= market.cost)
    if len(holds) == 0:
        return 0.0

    def settled(each: float) -> bool:
        rank, total = _pressure(market, rule, each)
        return power * rank + total >= market.cost

    last = _bisect(settled, grid[holds[-1]], grid[min(holds[-1] + 1, len(grid) - 1)])
    if deviations == "small":
        return last if market.utility(np.array(last)) >= market.elsewhere else 0.0
    return _descend(lambda each: _withstands(market, rule(power), each), last)


def _withstands(market: Market, rule: Proportional, each: float) -> bool:
    """A quick look at all smaller contributions; the table proves the result by branch and bound."""
    trial = np.linspace(0.0, each, 65)[None]
    utility = market.offers(rule, each).received.value(trial)[0] - market.cost * trial[0]
    return bool(np.max(utility) <= utility[-1] + 1e-9)


def _descend(holds: Callable[[float], bool], top: float, parts: int = 24) -> float:
    """The largest value up to `top` that holds: the first on a falling grid, sharpened."""
    if holds(top):
        return top
    falling = np.linspace(top, 0.0, parts + 1)
    for above, here in pairwise(falling[:-1]):
        if holds(here):
            return _bisect(holds, here, above, 1e-5)
    return 0.0


def _bisect(holds: Callable[[float], bool], low: float, high: float, width: float = 1e-10) -> float:
    """Where a condition that holds at `low` ends, if not beyond `high`."""
    while high - low > width * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(low)
