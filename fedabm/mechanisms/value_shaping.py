"""Beyond what it would collect alone, an owner gets just what each further unit costs it, up to the full model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, cast

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import InputError, check_number, check_positive
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.accuracy.many import CurveTable, common_curve
from fedabm.games.costs import Cost, PowerCost
from fedabm.games.curves import Array, Cap, Curve, Rows, align_rows
from fedabm.games.individual import best_alone, individual_optimum
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.games.roots import falling_root, just_inside
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports

__all__ = ["TILT", "Lowest", "Ramp", "ValueShaping", "bends", "last_crossing", "shaped_equilibrium"]

#: The limit slack -> 0+ in floating point: gradients exceed the unit cost by this share, so that an owner who would be
#: indifferent between all contributions on a ramp prefers its upper end by more than rounding.
TILT = 1e-10
#: how many owners' crossings are looked for together
_AT_ONCE = 16384


@dataclass(frozen=True)
class Ramp(Curve):
    """A curve up to `start`, from there a straight line with its own gradient."""

    curve: Curve
    start: Array
    gradient: Array

    @property
    def closed(self) -> Any:
        """If the curve is."""
        return self.curve.closed

    @property
    def cap(self) -> Cap:
        """The straight line, which nobody gets beyond."""
        return Cap(self, self.start)

    def value(self, x: Array) -> Array:
        start = align_rows(self.start, x)
        return self.curve.value(np.minimum(x, start)) + align_rows(self.gradient, x) * np.maximum(x - start, 0.0)

    def slope(self, x: Array) -> Array:
        return np.where(x < align_rows(self.start, x), self.curve.slope(x), align_rows(self.gradient, x))

    def take(self, rows: Rows) -> Ramp:
        return Ramp(self.curve.take(rows), self.start[rows], self.gradient[rows])


@dataclass(frozen=True)
class Lowest(Curve):
    """The lowest of several curves; concave wherever all of them are."""

    parts: tuple[Curve, ...]

    @property
    def closed(self) -> Any:
        """If all are."""
        return np.logical_and.reduce([part.closed for part in self.parts])

    def value(self, x: Array) -> Array:
        return reduce(np.minimum, (part.value(x) for part in self.parts))

    def slope(self, x: Array) -> Array:
        values = np.array([part.value(x) for part in self.parts])
        slopes = np.array([part.slope(x) for part in self.parts])
        return np.min(np.where(values == values.min(axis=0), slopes, np.inf), axis=0)

    def take(self, rows: Rows) -> Lowest:
        return Lowest(tuple(part.take(rows) for part in self.parts))


def last_crossings(full: Offers, ramp: Ramp, high: Array) -> Array:
    """`last_crossing` of all owners, as many at once as a cache holds.

    Whoever is below the full model with all its data crosses nowhere before, and needs no search.
    """
    crossing = np.array(high, dtype=float)
    short = np.flatnonzero(~(full.accuracy.value(high) > ramp.value(high)))
    for first in range(0, len(short), _AT_ONCE):
        rows = short[first : first + _AT_ONCE]
        crossing[rows] = last_crossing(full.take(rows), ramp.take(rows), high[rows])
    return crossing


def last_crossing(full: Offers, ramp: Ramp, high: Array) -> Array:
    """The largest x in [start, high] up to which the full model is worth as much as the ramp promises.

    `full.accuracy` minus the ramp is concave beyond the kinks, so its top is found first and the crossing after it.
    Where the full model never reaches the ramp the answer is the ramp's start.
    """
    needed = np.max(np.where(np.isfinite(full.kinks), full.kinks, 0.0), axis=1, initial=0.0)
    low = np.minimum(np.maximum(ramp.start, needed), high)
    inside, _ = just_inside(low, high)
    top = falling_root(lambda x: full.accuracy.slope(x) - ramp.gradient, inside, high)

    def margin(x: Array) -> Array:
        return full.accuracy.value(x) - ramp.value(x)

    crossing = falling_root(margin, top, high)
    crossing = np.where(crossing == inside, low, crossing)
    return np.where(margin(top) >= 0, crossing, np.minimum(ramp.start, high))


def bends(points: Array) -> Array:
    """Kinks at these contributions; none at 0, where a kink would stand for a jump."""
    return np.where(points > 0, points, np.inf)


@dataclass(frozen=True)
class ValueShaping(Mechanism):
    """Hand out a model that is worth what the owner could reach alone, plus a little more than its extra cost.

        received_i(x) = v(x)                               for x <= m_i*
                        v(m_i*) + (c_i + slack)(x - m_i*)  for m_i* <= x <= m_i^max
                        v(x + sum_{j != i} s_j)            for x >= m_i^max

    Karimireddy et al. 2022, eq. (11): m_i* is the individual optimum at the reported unit cost c_i (costs must be
    verifiable) and m_i^max is where the line meets the full model.  As slack -> 0+ no feasible and rational mechanism
    collects more data (Theorem IV); slack=0 means that limit.  Owners gain nothing over being alone (Theorem V).

    As printed the line can promise more than v(sum_j s_j) while the others' data are not viable (m_i* = 0); it is
    capped there.  Owners whose accuracies differ are treated by their own: v(x) is a_i with the others at zero.

    Parameters
    ----------
    slack : float, optional
        By how much the line is steeper than the cost.
    """

    slack: float = field(default=0.0, metadata=within(0.0, 0.1))
    asks_cost = True

    def __post_init__(self) -> None:
        check_number("slack", self.slack, zero=True)

    def terms(self, accuracy: Accuracy, types: Reports) -> Ramp:
        """The ramp that starts at m_i*, by reported costs and sizes; of many games, one game after the other."""
        cost, nobody = _linear(types.cost), np.zeros(types.size.shape)
        full = full_access(accuracy, nobody, nothing(nobody.shape))
        if nobody.ndim > 1:
            full, cost = full.take(_places(nobody.shape)), cost.take(_places(nobody.shape))
        alone, _ = best_alone(full, cost, types.size.ravel())
        return Ramp(full.accuracy, alone, (1.0 + TILT) * cost.unit(nobody.ravel()) + self.slack)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The lower of the full model and the ramp that starts at the individual optimum."""
        full = full_access(accuracy, reports.contribution, nothing(len(reports.contribution)))
        return self._capped(full, accuracy.kinks(np.zeros(len(reports.contribution))), accuracy, reports)

    def tabled(self, accuracy: Accuracy, owners: int) -> bool:
        """Where all learn from a common total; a subclass with offers of its own must say itself."""
        usual = type(self).offers is ValueShaping.offers and type(self).terms is ValueShaping.terms
        return usual and common_curve(accuracy) is not None

    def table_offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The same for many games."""
        claimed = reports.contribution
        full = full_access(accuracy, claimed, nothing(claimed.shape)).take(_places(claimed.shape))
        alone = accuracy.kinks(np.zeros(claimed.shape)).reshape(claimed.size, -1)
        return self._capped(full, alone, accuracy, reports)

    def _capped(self, full: Offers, first: Array, accuracy: Accuracy, reports: Reports) -> Offers:
        ramp = self.standing_terms(accuracy, reports)
        most = last_crossings(full, ramp, np.maximum(reports.size, reports.contribution).ravel())
        kinks = np.column_stack([full.kinks, first, bends(ramp.start), bends(most)])
        return replace(full, received=Lowest((full.accuracy, ramp)), kinks=kinks, caps=(ramp.cap,))

    def table_guess(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """The equilibria with the most data, as `shaped_equilibrium` finds one."""
        ramp, table = self.standing_terms(accuracy, reports), cast("CurveTable", accuracy)
        shape, most = reports.size.shape, reports.size
        alone, rate = ramp.start.reshape(shape), ramp.gradient.reshape(shape)
        at_alone = ramp.curve.value(ramp.start).reshape(shape)

        def asked(totals: Array) -> Array:
            worth = table.curve(np.repeat(totals[:, None], shape[1], axis=1))
            return np.minimum(most, alone + np.maximum(worth - at_alone, 0.0) / rate)

        totals = most.sum(axis=1)
        for _ in range(100):
            given = asked(totals)
            steep = table.curve_slope(np.repeat(totals[:, None], shape[1], axis=1)) / rate
            fall = 1.0 - np.sum(np.where(given < most, steep, 0.0), axis=1)
            lower = totals - (totals - given.sum(axis=1)) / np.where(fall > 0, fall, np.inf)
            lower = np.maximum(lower, alone.sum(axis=1))
            if not np.any(lower < totals * (1.0 - 1e-15)):
                break
            totals = np.minimum(lower, totals)
        return np.where((given.sum(axis=1) >= totals * (1.0 - 1e-9))[:, None], given, alone)


def shaped_equilibrium(accuracy: Exposure, cost: Cost, capacity: Array | None = None) -> Array:
    """What every owner contributes in the equilibrium of value shaping with the most data, for slack -> 0+.

    There v(S) = v(m_i*) + c_i (m_i - m_i*) for every owner below its capacity, so that the total is the largest root of

        S = sum_i min(capacity_i, m_i* + (v(S) - v(m_i*)) / c_i),        v a function of the total.

    The difference is concave beyond the viable total, so Newton's method from above falls on that root without ever
    passing it.  Without a root nobody contributes more than alone.  Karimireddy et al. 2022, Remark 3 and Figure 4.

    Parameters
    ----------
    accuracy : Exposure
        What models are worth to owners at a profile of contributions.
    cost : Cost
        The cost function of each owner, one row each.
    capacity : Array | None, optional
        How much data each owner has; None: without end.

    Returns
    -------
    Array
        Contribution of each owner, shape (owners,).
    """
    rate = _linear(cost).unit(np.zeros(cost.owners or 1))
    check_positive("unit costs", rate)
    best, nothing_ = _ends(accuracy)
    most = (best - nothing_) / rate if capacity is None else np.asarray(capacity, dtype=float)
    alone, _ = individual_optimum(accuracy, PowerCost(rate), most)
    at_alone = accuracy.curve(alone)

    def asked(value: float) -> Array:
        return np.minimum(most, alone + np.maximum(value - at_alone, 0.0) / rate)

    total = float(asked(best).sum())
    for _ in range(500):
        if total <= accuracy.viable:
            return alone
        given = asked(float(accuracy.curve(np.array(total))))
        fall = 1.0 - float(accuracy.curve_slope(np.array(total))) * float(np.sum(1.0 / rate[given < most]))
        if fall <= 0:
            return alone
        lower = total - (total - float(given.sum())) / fall
        if not lower < total * (1.0 - 1e-15):
            break
        total = lower
    return given


def _ends(accuracy: Exposure) -> tuple[float, float]:
    """v with unlimited data and with none."""
    return float(accuracy.curve(np.array(1e200))), float(accuracy.curve(np.array(0.0)))


def _places(shape: tuple[int, ...]) -> Any:
    """Where the owners of a table stand, one game after the other."""
    return np.unravel_index(np.arange(int(np.prod(shape))), shape)


def _linear(cost: Cost | None) -> Cost:
    if cost is None:
        raise InputError("value shaping needs the owners' reported costs, got none; report them")
    if not cost.linear:
        raise InputError("value shaping needs linear costs, got one that is not linear; use Linear or Affine")
    return cost
