"""The accuracies of many games as a table: each game has a curve of its own, each owner a value of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Rows
from fedabm.common.leave_one_out import sum_of_others
from fedabm.common.rowwise import sum_last
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.accuracy.laws import Laws, laws_of
from fedabm.games.curves import Curve, ScaledEach, align_rows

__all__ = ["AlongRows", "CurveTable", "common_curve"]


@dataclass(frozen=True)
class AlongRows(Curve):
    """v_g(base + x): rows, or tables of games, with a curve each."""

    laws: Laws
    base: Array
    closed = True

    def value(self, x: Array) -> Array:
        return self.laws.value(align_rows(self.base, x) + x)

    def slope(self, x: Array) -> Array:
        return self.laws.slope(align_rows(self.base, x) + x)

    def take(self, rows: Any) -> AlongRows:
        return AlongRows(self.laws.take(rows[0] if isinstance(rows, tuple) else rows), self.base[rows])


def common_curve(accuracy: Accuracy) -> Exposure | None:
    """The curve of the total that all owners learn from, each by its own value; None: there is none."""
    known = accuracy.as_common(accuracy.owners or 1)
    return None if known is None else known[0]


@dataclass(frozen=True)
class CurveTable(Exposure):
    """a_gi(s) = factor_gi v_g(sum_j s_gj) for all games g and owners i, (games, owners)."""

    laws: Laws
    factors: Array
    flags: tuple[bool, bool]
    stacks = True

    @classmethod
    def of(cls, accuracies: Sequence[Accuracy], owners: int) -> CurveTable:
        """One row per accuracy, each of which has a `common_curve`."""
        known = [one.as_common(owners) for one in accuracies]
        curves, factors = zip(*known, strict=True)
        traits = [one.traits for one in accuracies]
        flags = all(one.concave for one in traits), all(one.monotone for one in traits)
        return cls(laws_of(curves), np.array(factors), flags)

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """If all are."""
        return self.flags[0]

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """If all are."""
        return self.flags[1]

    def take_games(self, games: Rows) -> CurveTable:
        """Some of the games."""
        return CurveTable(self.laws.take(np.asarray(games)), self.factors[games], self.flags)

    def curve(self, exposure: Array) -> Array:
        """Of all owners, (games, owners)."""
        return self.factors * self.laws.value(exposure)

    def curve_slope(self, exposure: Array) -> Array:
        """The derivative."""
        return self.factors * self.laws.slope(exposure)

    def curve_curvature(self, exposure: Array) -> Array:
        """The second derivative."""
        return self.factors * self.laws.curvature(exposure)

    def exposures(self, profiles: Array) -> Array:
        """The totals."""
        return np.repeat(sum_last(profiles)[..., None], profiles.shape[-1], axis=-1)

    def values(self, profiles: Array) -> Array:
        """One profile per game."""
        return self.curve(self.exposures(np.asarray(profiles, dtype=float)))

    def at_zero(self, owners: int) -> Array:
        """Of every game."""
        return self.curve(np.zeros(self.factors.shape))

    def curves(self, profile: Array) -> Curve:  # type: ignore[override]
        """Along the own contribution."""
        return ScaledEach(self.factors, AlongRows(self.laws, sum_of_others(profile)))

    def kinks(self, profile: Array) -> Array:
        """The own contribution from which on the model is worth anything, where that takes any."""
        viable = self.laws.viable
        if not np.any(viable > 0):
            return np.empty((*profile.shape, 0))
        needed = viable[:, None] - sum_of_others(profile)
        return np.where(needed > 0, needed, np.inf)[..., None]

    def spillovers(self, profile: Array) -> Curve:
        """What the others have of it."""
        others = self.factors.sum(axis=1, keepdims=True) - self.factors
        return ScaledEach(others, AlongRows(self.laws, sum_of_others(profile)))
