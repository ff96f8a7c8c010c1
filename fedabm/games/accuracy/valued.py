"""What accuracy is worth to its owners, where that is not the accuracy itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.curves import Array, Curve, Rows, ScaledEach, align_rows

__all__ = ["AccuracyPayoff", "CurvedPayoff", "LinearPayoff", "Valued"]

#: the most accurate model that a payoff tells from a perfect one, whose curved payoff would be infinite
_BEST = 1.0 - 1e-9


@dataclass(frozen=True)
class AccuracyPayoff(ABC):
    """phi_i(a), rising in the accuracy; `weight` is one number for all owners, or one for each.

    Parameters
    ----------
    weight : Any, optional
        How much accuracy is worth: one number for all owners, or one for each.
    """

    weight: Any = 1.0
    #: a straight line, so that whatever is known of sums of accuracies is known of sums of payoffs
    straight: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive("weight of a payoff", self.weights)
        if self.weights.ndim > 1:
            raise InputError(f"weights of a payoff have shape {self.weights.shape}; give one number, or one per owner")
        if self.weights.ndim:
            object.__setattr__(self, "weight", FrozenArray(self.weights, "weights of a payoff"))

    @property
    def weights(self) -> Array:
        """w, a number or (n,)."""
        return np.asarray(self.weight, dtype=float)

    @property
    def owners(self) -> int | None:
        """For how many owners it has weights; None: for any number."""
        return len(self.weights) if self.weights.ndim else None

    @abstractmethod
    def of(self, accuracy: Array) -> Array:
        """phi / w."""

    @abstractmethod
    def slope_of(self, accuracy: Array) -> Array:
        """phi' / w."""

    @abstractmethod
    def inverse_of(self, value: Array) -> Array:
        """The accuracy at which phi / w is this."""

    def take(self, rows: Rows) -> AccuracyPayoff:
        """That of some owners only."""
        return self if self.owners is None else replace(self, weight=self.weights[rows])


@dataclass(frozen=True)
class LinearPayoff(AccuracyPayoff):
    """phi(a) = w a.

    Parameters
    ----------
    weight : Any, optional
        How much accuracy is worth: one number for all owners, or one for each.
    """

    straight = True

    def of(self, accuracy: Array) -> Array:
        return accuracy

    def slope_of(self, accuracy: Array) -> Array:
        return np.ones_like(accuracy)

    def inverse_of(self, value: Array) -> Array:
        return value


@dataclass(frozen=True)
class CurvedPayoff(AccuracyPayoff):
    """phi(a) = w ((1 - a)^-2 - 1): the last percents are worth most.  RealFM, Bornstein et al. 2023, Section 6.

    Accuracies above 1 - 1e-9 count as that, since a perfect model would be worth infinitely much.

    Parameters
    ----------
    weight : Any, optional
        How much accuracy is worth: one number for all owners, or one for each.
    """

    def of(self, accuracy: Array) -> Array:
        left = 1.0 - np.minimum(accuracy, _BEST)
        return 1.0 / (left * left) - 1.0

    def slope_of(self, accuracy: Array) -> Array:
        left = 1.0 - np.minimum(accuracy, _BEST)
        return np.where(accuracy < _BEST, 2.0 / (left * left * left), 0.0)

    def inverse_of(self, value: Array) -> Array:
        return 1.0 - 1.0 / np.sqrt(value + 1.0)


@dataclass(frozen=True)
class Valued(Accuracy):
    """What models are worth to owners with a payoff: a_i(s) = phi_i(accuracy_i(s)).

    Every rule, strategy and proof then computes in that unit: shares of a model are shares of its worth.

    Parameters
    ----------
    accuracy : Accuracy
        Of what.
    payoff : Payoff
        phi, with a weight for all owners or one for each.

    Examples
    --------
    >>> from fedabm.games.accuracy import PowerLaw
    >>> Valued(PowerLaw(), CurvedPayoff([1.0, 2.0])).values(np.array([[1.0, 0.0]]))  # the accuracy is 1/2
    array([[3., 6.]])
    """

    accuracy: Accuracy
    payoff: AccuracyPayoff

    def __post_init__(self) -> None:
        check_kind("accuracy", self.accuracy, Accuracy)
        check_kind("payoff", self.payoff, AccuracyPayoff)
        known = self.accuracy.owners, self.payoff.owners
        if None not in known and known[0] != known[1]:
            raise InputError(f"an accuracy of {known[0]} owners and a payoff of {known[1]}; give one weight per owner")

    @property
    def owners(self) -> int | None:
        """For how many owners it is defined."""
        return self.accuracy.owners if self.payoff.owners is None else self.payoff.owners

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """If the accuracies are."""
        return self.accuracy.monotone

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """If the accuracies are and the payoff is a straight line."""
        return self.accuracy.concave and isinstance(self.payoff, LinearPayoff)

    def values(self, profiles: Array) -> Array:
        """phi_i of every accuracy."""
        return self.payoff.weights * self.payoff.of(self.accuracy.values(profiles))

    def curves(self, profile: Array) -> Curve:
        """phi_i along the accuracy."""
        profile = np.asarray(profile, dtype=float)
        weights = np.broadcast_to(self.payoff.weights, profile.shape)
        if self.payoff.straight:
            return ScaledEach(weights, self.accuracy.curves(profile))
        return PaidOff(self.accuracy.curves(profile), replace(self.payoff, weight=1.0), weights)

    def as_common(self, owners: int) -> tuple[Exposure, Array] | None:
        """The accuracy's curve and the weights, where the payoff is a straight line."""
        known = self.accuracy.as_common(owners) if self.payoff.straight else None
        return None if known is None else (known[0], known[1] * self.payoff.weights)

    def marginals(self, profile: Array) -> Array:
        """d a_i / d s_j, exact where the payoff is a straight line."""
        if not self.payoff.straight:
            return super().marginals(profile)
        return self.accuracy.marginals(profile) * np.broadcast_to(self.payoff.weights, len(profile))[:, None]

    def accuracy_of(self, worth: Array) -> Array:
        """phi_i^-1 of the worth."""
        return self.accuracy.accuracy_of(self.payoff.inverse_of(worth / self.payoff.weights))

    def kinks(self, profile: Array) -> Array:
        """Those of the accuracy."""
        return self.accuracy.kinks(profile)

    def spillover_kinks(self, profile: Array) -> Array:
        """Those of the accuracies."""
        return self.accuracy.spillover_kinks(profile)

    def own_jumps(self, owners: int) -> Array:
        """Those of the accuracies."""
        return self.accuracy.own_jumps(owners)

    def restrict(self, rows: Rows) -> Valued:
        """The same payoffs of fewer owners."""
        return Valued(self.accuracy.restrict(rows), self.payoff.take(rows))


@dataclass(frozen=True)
class PaidOff(Curve):
    """weight * phi(curve)."""

    curve: Curve
    payoff: AccuracyPayoff
    weight: Array

    def value(self, x: Array) -> Array:
        return align_rows(self.weight, x) * self.payoff.of(self.curve.value(x))

    def slope(self, x: Array) -> Array:
        steep = self.payoff.slope_of(self.curve.value(x))
        return align_rows(self.weight, x) * steep * self.curve.slope(x)

    def take(self, rows: Rows) -> PaidOff:
        return PaidOff(self.curve.take(rows), self.payoff, self.weight[rows])
