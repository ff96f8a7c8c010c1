"""Those who contribute less than the best contributor get a model that is worse in proportion.

All three rules have the form

    received_i(x) = (psi_i / max_j psi_j)^p * a_i(x, s_-i)  where a_i > 0, else a_i,       0 <= p <= 1,

with a merit psi: the data (PD, eq. 12), their value alone (PV, eq. 13) or the Shapley value (PS, eq. 14, in
`proportional_shapley`) of Karimireddy et al. 2022, Appendix C.2.  p = 0 is `NoPayments`.  Where nobody has any merit
(0/0) everyone gets the full model.  A part of a model that is worse than none would be worth more than the whole one,
so such a model is not rationed.

Theorem VI, corrected: with n identical owners every common contribution m with

    -p * psi'(m)/psi(m) * v(n m)  <=  v'(n m) - c  <=  0

withstands small deviations, so there is a whole interval of equilibria.  m*/n is the one with the least data; as
n v'(m*) > c, more data would give everyone more utility, so it is not the one with the most utility as printed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_range
from fedabm.common.rowwise import raised
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Curve, Flags, Line, Rows, align_rows
from fedabm.games.offers import ModelShare, Offers, Shape, full_access, nothing
from fedabm.games.roots import falling_root
from fedabm.games.varied import picked, spread
from fedabm.mechanisms.base import Mechanism
from fedabm.views import Reports
from fedabm.views.known import Need

__all__ = [
    "AgainstFixed",
    "Merits",
    "Proportional",
    "ProportionalData",
    "ProportionalValue",
    "RationedShare",
    "best_other",
]


class Merits(ABC):
    """Each owner's merit and that of its best rival, as functions of the own contribution."""

    @property
    def exact(self) -> bool:
        """Whether the merits are computed, not sampled; samples prove nothing about the shape."""
        return True

    @abstractmethod
    def value(self, x: Array) -> tuple[Array, Array]:
        """Own and best other merit."""

    @abstractmethod
    def slope(self, x: Array) -> tuple[Array, Array]:
        """Their derivatives."""

    def ratio(self, x: Array) -> Array:
        """Own merit over the best merit."""
        return _ratio(*self.value(x))

    @abstractmethod
    def take(self, rows: Rows) -> Merits:
        """The merits of some owners only."""


@dataclass(frozen=True)
class AgainstFixed(Merits):
    """A merit of its own against rivals whose merit does not depend on it."""

    own: Curve
    rival: Array

    def value(self, x: Array) -> tuple[Array, Array]:
        return self.own.value(x), np.broadcast_to(align_rows(self.rival, x), x.shape)

    def slope(self, x: Array) -> tuple[Array, Array]:
        return self.own.slope(x), np.zeros(x.shape)

    def take(self, rows: Rows) -> AgainstFixed:
        return AgainstFixed(self.own.take(rows), self.rival[rows])


@dataclass(frozen=True)
class RationedShare(ModelShare):
    """The full model times (own merit / best merit)^power."""

    full: Curve
    merits: Merits
    power: Any

    @property
    def grows(self) -> bool:  # type: ignore[override]
        """The own merit does, but with it may the best rival's."""
        return isinstance(self.merits, AgainstFixed)

    def share(self, x: Array, full: Array | None = None) -> Array:
        """All of a model that is worth less than nothing."""
        return self._part(x, self.full.value(x) if full is None else full)

    def value(self, x: Array) -> Array:
        full = self.full.value(x)
        return self._part(x, full) * full

    def _part(self, x: Array, full: Array) -> Array:
        return _unless(full < 0, raised(self.merits.ratio(x), align_rows(self.power, x)))

    def slope(self, x: Array) -> Array:
        own, rival = self.merits.value(x)
        ratio, full = _ratio(own, rival), self.full.value(x)
        power = align_rows(self.power, x)
        part, grown = raised(ratio, power), np.zeros_like(ratio)
        if np.all(power > 0):
            rise = _ratio_slope(own, rival, *self.merits.slope(x))
            # Infinite where a first bit of merit opens access to a model that the others' data made good.
            first = np.full_like(ratio, np.where(power < 1, np.inf, 1.0))
            steep = power * np.divide(part, ratio, out=first, where=ratio > 0)
            grows = (rise > 0) & (full > 0)
            grown = np.multiply(steep, rise * full, out=grown, where=grows)
        return _unless(full < 0, part) * self.full.slope(x) + grown

    def take(self, rows: Rows) -> RationedShare:
        return RationedShare(self.full.take(rows), self.merits.take(rows), picked(self.power, rows))


@dataclass(frozen=True)
class Proportional(Mechanism):
    """What the three proportional rules share; a subclass says what merit is and where it equals the best rival's.

    Parameters
    ----------
    p : float
        The exponent: the share of the full model is (own merit / best merit)^p.
    """

    p: float = field(metadata=within(0.0, 1.0))
    ignores_size = True
    needs: ClassVar[Need] = "coalitions"

    def __post_init__(self) -> None:
        check_range("exponent p", self.p, 0.0, 1.0)
        if self.p == 0:
            object.__setattr__(self, "needs", "nothing")

    @abstractmethod
    def merits(self, accuracy: Accuracy, reports: Reports) -> tuple[Merits, Array]:
        """The merits, and the own contributions (n, b) at which they have a kink or catch up with the best rival."""

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, rationed by relative merit."""
        full = full_access(accuracy, reports.contribution, nothing(reports.contribution.shape))
        if np.all(self.p == 0):
            return full
        merits, kinks = self.merits(accuracy, reports)
        shape: Shape = "monotone" if accuracy.monotone and merits.exact else "unknown"
        received = RationedShare(full.accuracy, merits, spread(self.p, reports.contribution.shape))
        return replace(full, received=received, kinks=np.concatenate([full.kinks, kinks], axis=-1), shape=shape)


@dataclass(frozen=True)
class ProportionalData(Proportional):
    """Ration by data: psi_i = s_i.  PD of Karimireddy et al. 2022, eq. (12).

    Parameters
    ----------
    p : float
        The exponent: the share of the full model is (own merit / best merit)^p.
    """

    stacks = True
    columns = ("p",)
    needs = "nothing"

    @property
    def form(self) -> Hashable:
        """Whether models are rationed at all."""
        return self.p > 0

    def merits(self, accuracy: Accuracy, reports: Reports) -> tuple[Merits, Array]:
        """The contributions themselves."""
        rival = best_other(reports.contribution)
        return AgainstFixed(Line(np.zeros(rival.shape), np.ones(rival.shape)), rival), rival[..., None]


@dataclass(frozen=True)
class ProportionalValue(Proportional):
    """Ration by what the data are worth alone: psi_i = v(s_i).  PV of Karimireddy et al. 2022, eq. (13).

    Where accuracies differ between owners, v(s_i) is a_i with the others at zero.

    Parameters
    ----------
    p : float
        The exponent: the share of the full model is (own merit / best merit)^p.
    """

    def merits(self, accuracy: Accuracy, reports: Reports) -> tuple[Merits, Array]:
        """Everyone's accuracy with the others at zero."""
        claimed, nobody = reports.contribution, np.zeros(len(reports.contribution))
        alone = accuracy.curves(nobody)
        rival = best_other(alone.value(claimed))
        level = falling_root(lambda x: rival - alone.value(x), nobody, np.maximum(reports.size, claimed))
        # Owners with the best rival's merit are exactly level with it.
        level = np.where(alone.value(claimed) == rival, claimed, level)
        return AgainstFixed(alone, rival), np.column_stack([accuracy.kinks(nobody), level])


def best_other(merit: Array) -> Array:
    """The largest of everybody else's merits, 0 for an owner that is alone.

    >>> best_other(np.array([1.0, 5.0, 3.0]))
    array([5., 3., 5.])
    """
    if merit.shape[-1] < 2:
        return np.zeros(merit.shape)
    best, others = np.argmax(merit, axis=-1)[..., None], np.array(merit, dtype=float)
    np.put_along_axis(others, best, -np.inf, axis=-1)
    second = np.max(others, axis=-1, keepdims=True)
    others[...] = np.take_along_axis(merit, best, axis=-1)
    np.put_along_axis(others, best, second, axis=-1)
    return others


def _unless(worse: Flags, part: Array) -> Array:
    """All instead of a part of a model that is worse than none."""
    return np.where(worse, 1.0, part) if np.any(worse) else part


def _ratio(own: Array, rival: Array) -> Array:
    """own / best where there is a best, which no merit exceeds; never below 0."""
    best = np.maximum(own, rival)
    some = best > 0
    ratio = own / best if np.all(some) else np.divide(own, best, out=np.ones_like(best), where=some)
    return np.maximum(ratio, 0.0, out=ratio)


def _ratio_slope(own: Array, rival: Array, own_slope: Array, rival_slope: Array) -> Array:
    """Derivative of own / rival below 1, zero above."""
    change = own_slope * rival - own * rival_slope
    return np.divide(change, rival * rival, out=np.zeros_like(change), where=own < rival)
