"""Owners pay what the federation brings them, and the middle one of three reported costs wins what others pay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import InputError, check_number
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Curve, Rows, align_rows
from fedabm.games.individual import individual_optimum
from fedabm.games.offers import Offers, Shape, full_access, nothing
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports

__all__ = ["FACT", "chance_of_the_middle"]

#: a slope of a cost whose square is not infinite
_STEEP = 1e100


@dataclass(frozen=True)
class FACT(Mechanism):
    """A penalty keeps everyone at what it would give alone, and a game of three makes lies about costs a gamble.

        p_i(x) = -h_i (d_i + m_i* - x)^2 - D_i + 3 chance_i mean_{j != i} D_j,      h_i = penalty c_i'(m_i*)^2

    m_i* is the individual optimum at the reported cost, d_i = (c_i' - a_i') / (2 h_i) at m_i*, at least 0, so that
    m_i* is the best reply whatever the others give (eq. 4); D_i, paid beforehand, is what the federation brings owner i
    after the penalty where everyone gives m*.  `chance_i` is how often owner i's reported cost is the middle one of
    three that are drawn, ties by lot; here everyone is paid the expectation, so that nothing is drawn.  With fewer
    than three owners nobody pays or wins.  Bornstein et al. 2024, "FACT or Fiction", eq. (4), (10), Theorems 4 and 5.

    Their penalty is written for the loss bound sqrt(gamma sigma L / 2 c); here it is for any accuracy, and how harsh it
    is remains a parameter (their eq. 21 sets it so that the bound stays rational).  They count the distance in samples;
    here it is what so much data cost at the margin, so that fines are on the scale of accuracy whatever the data are
    counted in, and at most 1 / (4 penalty) is lost in m_i*.  Truth is best in their Theorem 5
    and in their public check because rivals' costs are drawn symmetrically around the own one.  Where costs differ,
    whoever is far from the median wins more often by reporting a cost nearer to it: the audit finds that lie.

    Parameters
    ----------
    penalty : float, optional
        How much it is to be off by data that cost as much as perfect accuracy is worth.
    """

    penalty: float = field(default=10.0, metadata=within(1.0, 100.0, log=True))
    budget_balanced = False
    asks_cost = True

    def __post_init__(self) -> None:
        check_number("penalty", self.penalty)

    def terms(self, accuracy: Accuracy, types: Reports) -> Array:
        """The individual optima m_i*, d_i where everyone gives them, and what is won less what models gain, (3, n)."""
        cost = _reported(types)
        alone = individual_optimum(accuracy, cost, types.size)[0]
        if len(alone) < 3:
            return np.stack([alone, np.zeros(len(alone)), np.zeros(len(alone))])
        together, apart = (accuracy.curves(profile) for profile in (alone, np.zeros(len(alone))))
        height = self._height(cost, alone)
        beyond, gain = _beyond(together, cost, alone, height), together.value(alone) - apart.value(alone)
        return np.stack([alone, beyond, _won(cost.slope(alone), gain - height * beyond**2) - gain])

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and a payment that is largest a little above m_i*."""
        claimed, cost = reports.contribution, _reported(reports)
        alone, paid, won = self.standing_terms(accuracy, reports)
        bare, height = full_access(accuracy, claimed, nothing(len(claimed))), self._height(cost, alone)
        beyond = _beyond(bare.accuracy, cost, alone, height)
        # The penalty at m_i* and the one paid beforehand cancel: only what they differ by is added.
        there = won + height * (paid - beyond) * (paid + beyond)
        shape: Shape = "concave" if accuracy.concave else "unknown"
        return replace(bare, payment=Parabola(there, alone, beyond, height), shape=shape)

    def _height(self, cost: Cost, alone: Array) -> Array:
        """h_i: how much a squared unit of data costs; 0 where data are free."""
        return self.penalty * np.minimum(cost.slope(alone), _STEEP) ** 2


@dataclass(frozen=True)
class Parabola(Curve):
    """there - height ((at + beyond - x)^2 - beyond^2): `there` where x is `at`, and largest `beyond` it.

    A peak far beyond all data is a large square; written as a product, it is never subtracted from another one.
    """

    there: Array
    at: Array
    beyond: Array
    height: Array
    closed = True

    def value(self, x: Array) -> Array:
        there, at, beyond, height = (align_rows(one, x) for one in (self.there, self.at, self.beyond, self.height))
        return there - height * (at - x) * (2.0 * beyond + (at - x))

    def slope(self, x: Array) -> Array:
        at, beyond, height = (align_rows(one, x) for one in (self.at, self.beyond, self.height))
        return 2.0 * height * (beyond + (at - x))

    def take(self, rows: Rows) -> Parabola:
        return Parabola(self.there[rows], self.at[rows], self.beyond[rows], self.height[rows])


def _beyond(curves: Curve, cost: Cost, alone: Array, height: Array) -> Array:
    """d_i: how far above m_i* the penalty must vanish for m_i* to be the best reply."""
    steep = curves.slope(alone)
    missing = np.maximum(cost.slope(alone) - np.where(np.isfinite(steep), steep, 0.0), 0.0)
    return np.divide(missing, 2.0 * height, out=np.zeros(len(alone)), where=height > 0)


def chance_of_the_middle(costs: Array) -> Array:
    """How often each cost is the middle one of three that are drawn with it, ties by lot.

    >>> chance_of_the_middle(np.array([1.0, 2.0, 3.0, 4.0]))
    array([0.        , 0.66666667, 0.66666667, 0.        ])
    """
    owners = len(costs)
    if owners < 3:
        return np.zeros(owners)
    lower = np.sum(costs[:, None] > costs, axis=1)
    equal = np.sum(costs[:, None] == costs, axis=1) - 1
    higher = owners - 1 - lower - equal
    # Among its equals an owner has each place with the same chance: the mean of (lower + k)(higher + equal - k).
    pairs = lower * higher + equal * (lower + higher) / 2.0 + equal * (equal - 1.0) / 6.0
    return np.asarray(pairs / ((owners - 1) * (owners - 2) / 2.0))


def _won(slopes: Array, brought: Array) -> Array:
    """What is won on average, by the slopes of the reported costs."""
    return 3.0 * chance_of_the_middle(slopes) * sum_of_others(brought) / (len(brought) - 1)


def _reported(reports: Reports) -> Cost:
    if reports.cost is None:
        raise InputError("FACT needs the owners' reported costs, got none; report them")
    return reports.cost
