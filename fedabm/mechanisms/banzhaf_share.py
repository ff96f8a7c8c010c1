"""Everyone gets its Banzhaf index of the total accuracy: as Appendix F of Murhekar et al. 2025 prints it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import check_whole
from fedabm.common.random import check_seed
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Curve, Line
from fedabm.games.offers import Offers
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.shapley_share import shape_of_shares
from fedabm.shapley import counting
from fedabm.shapley.curves import coalition_curve
from fedabm.shapley.enumeration import EveryCoalition
from fedabm.views import Reports

__all__ = ["BanzhafShare"]

#: up to here all coalitions are looked at
_FEW = 12


@dataclass(frozen=True)
class BanzhafShare(Mechanism):
    """Pay everyone up to its Banzhaf index psi_i(s), on top of what no data at all would give.

        p_i(s) = psi_i(s) + a_i(0) - a_i(s),      psi_i = 2^-(n-1) sum_{X without i} (A(X + i) - A(X))

    Murhekar et al. 2025 print these weights in Appendix F but mean Shapley's, eq. (3).  Indices do not add up to
    A(s) - A(0), so these payments do not sum to zero: use it to see the difference, and `ShapleyShare` otherwise.
    Above 12 owners the indices are exact where only the total matters and no more than 21 contributions differ; else
    `subsets` coalitions are drawn from `seed`, the same at every question.

    Parameters
    ----------
    subsets : int, optional
        How many coalitions are drawn where not all can be looked at.
    seed : int, optional
        Seed of that draw.
    """

    subsets: int = 256
    seed: int = 0
    budget_balanced = False
    needs = "coalitions"

    def __post_init__(self) -> None:
        check_whole("subsets", self.subsets)
        check_seed(self.seed)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and money up to the index."""
        owners = len(reports.contribution)
        curves = accuracy.curves(reports.contribution)
        payment = self.indices(accuracy, reports.contribution, reports.size) - curves
        payment = payment + Line(accuracy.at_zero(owners), np.zeros(owners))
        return Offers(curves, curves, payment, accuracy.own_jumps(owners), shape_of_shares(accuracy, owners))

    def indices(self, accuracy: Accuracy, profile: Array, reach: Array | None = None) -> Curve:
        """psi_i as a function of the own contribution, up to `reach`."""
        if len(profile) <= _FEW:
            return coalition_curve(accuracy, profile, EqualChances(len(profile)))
        total = accuracy.as_total()
        if total is not None and counting.is_short(profile):
            return counting.counting_curve(total, profile, reach, evenly=True)
        drawn = np.random.default_rng(self.seed).random((self.subsets, len(profile))) < 0.5
        return coalition_curve(accuracy, profile, Drawn(drawn))


@dataclass(frozen=True)
class EqualChances(EveryCoalition):
    """All coalitions of the others, each with the same chance."""

    @property
    def weights(self) -> Array:
        """2^-(n-1) each."""
        return np.full(2 ** (self.owners - 1), 0.5 ** (self.owners - 1))


@dataclass(frozen=True)
class Drawn:
    """Some coalitions (C, n); an owner is not in its own."""

    members: NDArray[np.bool_]
    drawn = True

    @property
    def weights(self) -> Array:
        """All count the same."""
        return np.full(len(self.members), 1.0 / len(self.members))

    def before(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Who is in each coalition, (rows, C, n)."""
        own = np.arange(self.members.shape[1]) == rows[:, None]
        return self.members[None] & ~own[:, None, :]
