"""A prize that everybody pays for, divided by how much each contributes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.common.leave_one_out import sum_of_others
from fedabm.common.rowwise import power
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Curve, Line, Rows, Scaled, align_rows
from fedabm.games.offers import Offers, Shape
from fedabm.games.varied import picked, spread
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports

__all__ = ["TullockContest"]


@dataclass(frozen=True)
class ContestShare(Curve):
    """x^exponent / (x^exponent + rivals); an equal part of 1 where nobody contributes anything."""

    rivals: Array
    exponent: Any
    equal: float
    closed = True

    def value(self, x: Array) -> Array:
        own, rivals = power(x, align_rows(self.exponent, x)), align_rows(self.rivals, x)
        both = own + rivals
        return np.divide(own, both, out=np.full(x.shape, self.equal), where=both > 0)

    def slope(self, x: Array) -> Array:
        exponent, rivals = align_rows(self.exponent, x), align_rows(self.rivals, x)
        own = power(x, exponent)
        with np.errstate(divide="ignore", invalid="ignore"):
            steep = exponent * rivals * power(x, exponent - 1) / (own + rivals) ** 2
        # Without rivals the share jumps from equal parts to all of it, and stays there.
        return np.where(rivals > 0, steep, 0.0)

    def take(self, rows: Rows) -> ContestShare:
        return ContestShare(self.rivals[rows], picked(self.exponent, rows), self.equal)


@dataclass(frozen=True)
class TullockContest(Mechanism):
    """The full model for everyone, and a prize that all pay in equal parts and that goes to them by what they give.

        p_i(s) = prize * (s_i^exponent / sum_j s_j^exponent - 1/n),      so payments sum to zero

    Tullock 1980, with exponent 1 the lottery contest.  Where the model is worth nothing, n equal owners with unit cost
    c each contribute prize * exponent (n - 1) / (n^2 c), if the exponent is at most n / (n - 1).  Where nobody
    contributes there is nothing to divide, and whoever begins gets all of it.

    Parameters
    ----------
    prize : float
        What is shared out, and paid for in equal parts.
    exponent : float, optional
        How sharply the larger contribution wins.
    """

    prize: float = field(metadata=within(1e-3, 10.0, log=True))
    exponent: float = field(default=1.0, metadata=within(0.25, 4.0, log=True))
    stacks = True
    columns = ("prize", "exponent")
    needs = "nothing"

    def __post_init__(self) -> None:
        check_number("prize", self.prize, zero=True)
        check_number("exponent of a contest", self.exponent)

    @property
    def form(self) -> Hashable:
        """Whether shares are concave."""
        return self.exponent <= 1

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and a share of the prize that grows with the own contribution."""
        claimed = reports.contribution
        n = claimed.shape[-1]
        weight = power(claimed, self.exponent)
        rivals = sum_of_others(weight)
        fee = Line(np.full(claimed.shape, -self.prize / n), np.zeros(claimed.shape))
        share = ContestShare(rivals, spread(self.exponent, claimed.shape), 1.0 / n)
        payment = Scaled(spread(self.prize, claimed.shape), share) + fee
        curves = accuracy.curves(claimed)
        # Where nobody else contributes the share jumps at 0.
        kinks = np.append(accuracy.kinks(claimed), np.where(rivals > 0, np.inf, 0.0)[..., None], axis=-1)
        return Offers(curves, curves, payment, kinks, self._shape(accuracy))

    def _shape(self, accuracy: Accuracy) -> Shape:
        """Shares are concave up to exponent 1; beyond, all that is sure is that they grow."""
        if np.all(self.exponent <= 1) and accuracy.concave:
            return "concave"
        return "monotone" if accuracy.monotone else "unknown"
