"""Value shaping when nobody can check costs: a menu from which low-cost and high-cost owners choose for themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedabm.common.bounds import given, within
from fedabm.common.errors import InputError, check_number, check_range
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import PowerCost
from fedabm.games.curves import Array, Cap, Curve, Line
from fedabm.games.individual import individual_optimum
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.games.roots import falling_root, just_inside
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.value_shaping import TILT, Lowest, Ramp, bends, last_crossing
from fedabm.views import Reports

__all__ = ["Menu", "Screening"]

_BELIEF = "what the server believes of the owners' costs"


@dataclass(frozen=True)
class Menu:
    """The corners of what is offered to each owner, given the others' contributions.

    `high_most` and `low_most` are what value shaping would collect from a known high-cost or low-cost owner; `up` is
    meant for an owner with high cost, `down` for one with low cost: high_alone <= up <= high_most <= down <= low_most.

    Parameters
    ----------
    high_alone : Array
        What an owner with high cost contributes alone.
    high_most : Array
        The most that can be had of an owner with high cost.
    low_most : Array
        The most that can be had of an owner with low cost.
    up : Array
        The contribution meant for high cost.
    down : Array
        The contribution meant for low cost.
    """

    high_alone: Array
    high_most: Array
    low_most: Array
    up: Array
    down: Array


@dataclass(frozen=True)
class Screening(Mechanism):
    """Offer everyone the same menu, which makes owners with low and high unit cost choose different contributions.

        received_i(x) = v(x)                             for x <= m*, the individual optimum at the high cost
                        v(m*) + (high + slack)(x - m*)   for m* <= x <= up
                        v(down + D) - (low + slack)(down - x)   for up <= x <= down,    D = sum_{j != i} s_j
                        v(x + D)                         for x >= down

    Karimireddy et al. 2022, eq. (15)-(17), capped at v(x + D) as in `ValueShaping`.  An owner has low cost with
    probability p = `probability_low`; expected data (1 - p) up + p down is largest for

        v'(down + D) = low - p/(1-p) (high - low),      down between what known high and low costs would give.

    Eq. (16), (21) print high in place of (high - low), which collects less; printed=True follows them.  With the
    correct formula a low-cost owner gives all it would under known costs for p >= low/high (printed in Remark 5 as
    low/(low + high)).  While the others' data are so few that the full model still gains more than `low` per unit at
    high_most, eq. (17) puts `up` beyond high_most, which is not feasible: there up = high_most, and `down` is at least
    the last point that a low-cost owner likes as much as high_most.

    `probability_low` is one number, or one per owner where the server believes unlike things of them; then each has a
    menu of its own, and owners that are equal may be offered unequal ones.

    Parameters
    ----------
    low : float
        The low unit cost.
    high : float
        The high unit cost.
    probability_low : float or sequence of float
        The chance that an owner has low cost; one for all, or one for each.
    printed : bool, optional
        Whether the menu is taken as printed.
    slack : float, optional
        By how much the lines are steeper than the costs.
    """

    low: float = field(metadata=given(_BELIEF))
    high: float = field(metadata=given(_BELIEF))
    probability_low: Any = field(metadata=given(_BELIEF))
    printed: bool = False
    slack: float = field(default=0.0, metadata=within(0.0, 0.1))

    def __post_init__(self) -> None:
        check_number("low unit cost", self.low)
        check_number("high unit cost", self.high)
        for chance in self.chances.ravel().tolist():
            check_range("probability of low cost", chance, 0.0, 1.0)
        if self.chances.ndim > 1:
            raise InputError(f"probabilities of shape {self.chances.shape}; give one number, or one per owner")
        if self.chances.ndim:
            object.__setattr__(self, "probability_low", FrozenArray(self.chances, "probabilities of low cost"))
            object.__setattr__(self, "equal_treatment", False)
        check_number("slack", self.slack, zero=True)
        if not self.low < self.high:
            raise InputError(f"low unit cost {self.low:g} is not below the high one {self.high:g}; swap them")

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The lowest of the full model, the ramp for high costs and the line for low costs."""
        nobody, full = np.zeros(len(reports.contribution)), _full(accuracy, reports)
        menu = self.menu(accuracy, reports)
        steep = self._gradient(self.low, len(nobody))
        line = Line(full.accuracy.value(menu.down) - steep * menu.down, steep)
        ramp = self._ramp(accuracy, self.high, menu.high_alone)
        received = Lowest((full.accuracy, ramp, line))
        corners = [bends(corner) for corner in (menu.high_alone, menu.up, menu.down)]
        kinks = np.column_stack([full.kinks, accuracy.kinks(nobody), *corners])
        return replace(full, received=received, kinks=kinks, caps=(ramp.cap, Cap(line, nobody)))

    def terms(self, accuracy: Accuracy, types: Reports) -> Array:
        """What owners of high and of low cost would contribute alone, by reported sizes, (2, n)."""
        return np.stack([_alone(accuracy, cost, types) for cost in (self.high, self.low)])

    def menu(self, accuracy: Accuracy, reports: Reports) -> Menu:
        """The corners of the offers.  Karimireddy et al. 2022, eq. (16) corrected, and eq. (17)."""
        full = _full(accuracy, reports)
        # What an owner says of its contribution must not change its own menu; what it says of its size may.
        range_ = reports.size
        high_alone, low_alone = self.standing_terms(accuracy, reports)
        high, low = self._ramp(accuracy, self.high, high_alone), self._ramp(accuracy, self.low, low_alone)
        high_most, low_most = (last_crossing(full, ramp, range_) for ramp in (high, low))
        least = high_most
        if not self.printed:
            least = last_crossing(full, Ramp(full.accuracy, high_most, low.gradient), range_)
        down = self._down(full, self._targets(reports), np.minimum(least, low_most), low_most)
        up = _meeting(full.accuracy, down, low.gradient, high)
        return Menu(high.start, high_most, low_most, np.clip(up, high.start, high_most), down)

    def information_rent(self, accuracy: Accuracy, reports: Reports) -> Array:
        """What an owner with low cost gains over being alone because its cost is its secret.

        low (low_most - down) - v(low_most + D) + v(down + D) >= 0.  Karimireddy et al. 2022, Theorem VIII.
        """
        menu, value = self.menu(accuracy, reports), _full(accuracy, reports).accuracy.value
        return self.low * (menu.low_most - menu.down) - value(menu.low_most) + value(menu.down)

    @property
    def chances(self) -> Array:
        """The probabilities of low cost: one for all owners, or one for each."""
        return np.asarray(self.probability_low, dtype=float)

    @property
    def target(self) -> Array:
        """The slope of the full model at `down`, before the bounds on `down`; one for all owners, or one for each."""
        with np.errstate(divide="ignore"):
            odds = self.chances / (1.0 - self.chances)
        return np.asarray(self.low - odds * (self.high if self.printed else self.high - self.low))

    def _targets(self, reports: Reports) -> Array:
        """The targets of those who are there."""
        owners = len(reports.size)
        if not self.chances.ndim:
            return np.full(owners, float(self.target))
        numbers = np.arange(owners) if reports.owners is None else reports.owners
        if numbers.max(initial=0) >= len(self.chances):
            raise InputError(f"{len(self.chances)} probabilities of low cost but more owners; give one per owner")
        return self.target[numbers]

    def _down(self, full: Offers, target: Array, least: Array, most: Array) -> Array:
        # Slopes are never negative, so that a target of at most zero is met nowhere and leaves the upper bound.
        if np.all(target <= 0):
            return most
        inside, _ = just_inside(least, most)
        needed = np.where(np.isfinite(full.kinks), full.kinks, 0.0).max(axis=1, initial=0.0)
        inside = np.minimum(np.maximum(inside, needed * (1 + 1e-12)), most)
        found = falling_root(lambda x: full.accuracy.slope(x) - target, inside, most)
        return np.where(target <= 0, most, found)

    def _ramp(self, accuracy: Accuracy, unit_cost: float, start: Array) -> Ramp:
        return Ramp(accuracy.curves(np.zeros(len(start))), start, self._gradient(unit_cost, len(start)))

    def _gradient(self, unit_cost: float, owners: int) -> Array:
        return np.full(owners, (1.0 + TILT) * unit_cost + self.slack)


def _full(accuracy: Accuracy, reports: Reports) -> Offers:
    return full_access(accuracy, reports.contribution, nothing(len(reports.contribution)))


def _alone(accuracy: Accuracy, unit_cost: float, reports: Reports) -> Array:
    """The individual optimum of every owner if its unit cost were this."""
    return individual_optimum(accuracy, PowerCost(np.full(len(reports.size), unit_cost)), reports.size)[0]


def _meeting(full: Curve, down: Array, shallow: Array, ramp: Ramp) -> Array:
    """Where the line through (down, full(down)) meets the straight part of the ramp: eq. (17)."""
    at_start = ramp.curve.value(ramp.start)
    rise = full.value(down) - shallow * down - at_start + ramp.gradient * ramp.start
    return rise / (ramp.gradient - shallow)
