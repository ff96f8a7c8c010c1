"""What accuracy is worth to its owners, where that is not the accuracy itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy, Exposure, Oracle
from fedabm.games.accuracy.training import Around, RoundResult, State
from fedabm.games.curves import Array, Curve, Rows, ScaledEach, align_rows
from fedabm.games.messages import OwnerMessages
from fedabm.games.traits import forward

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
class Valued(Accuracy, Around[State]):
    """What models are worth to owners with a payoff: a_i(s) = phi_i(accuracy_i(s)).

    Every rule, strategy and proof then computes in that unit: shares of a model are shares of its worth.  Around a
    training, such as `Learning` or `Personal`, it values the models of every round and what is announced of them; who
    is promised a part of a model's worth is handed the model of that worth.

    Parameters
    ----------
    accuracy : Oracle
        Of what: an accuracy, or a training.
    payoff : Payoff
        phi, with a weight for all owners or one for each.

    Examples
    --------
    >>> from fedabm.games.accuracy import PowerLaw
    >>> Valued(PowerLaw(), CurvedPayoff([1.0, 2.0])).values(np.array([[1.0, 0.0]]))  # the accuracy is 1/2
    array([[3., 6.]])
    """

    accuracy: Oracle
    payoff: AccuracyPayoff
    around: ClassVar[str] = "accuracy"

    def __post_init__(self) -> None:
        check_kind("accuracy", self.accuracy, Oracle)
        check_kind("payoff", self.payoff, AccuracyPayoff)
        known = self.accuracy.owners, self.payoff.owners
        if None not in known and known[0] != known[1]:
            raise InputError(f"an accuracy of {known[0]} owners and a payoff of {known[1]}; give one weight per owner")

    @property
    def owners(self) -> int | None:
        """For how many owners it is defined."""
        return self.accuracy.owners if self.payoff.owners is None else self.payoff.owners

    @property
    def _closed(self) -> bool:
        """Whether there is an accuracy at every profile, not only a training."""
        return isinstance(self.accuracy, Accuracy)

    @property
    def _worth(self) -> Accuracy:
        """The accuracies, where there are any."""
        return cast("Accuracy", self.accuracy)

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """If the accuracies are."""
        return self._closed and self._worth.monotone

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """If the accuracies are and the payoff is a straight line."""
        return self._closed and self._worth.concave and self.payoff.straight

    @property
    def costly(self) -> bool:  # type: ignore[override]
        """As the accuracies."""
        return self._closed and self._worth.costly

    @property
    def padded(self) -> bool:  # type: ignore[override]
        """As the accuracies."""
        return self._closed and self._worth.padded

    @cached_property
    def public(self) -> Accuracy:
        """What is announced of them, in the same payoffs; always the same object, so that offers can stand."""
        known = self._worth.public
        return self if known is self.accuracy else Valued(known, self.payoff)

    def values(self, profiles: Array) -> Array:
        """phi_i of every accuracy."""
        if not self._closed:
            what = f"{type(self.accuracy).__name__} trains while owners decide and has no value at a profile"
            raise InputError(f"{what}; give it to a Scenario, or value what it announces")
        return self.payoff.weights * self.payoff.of(self._worth.values(profiles))

    def curves(self, profile: Array) -> Curve:
        """phi_i along the accuracy."""
        profile = np.asarray(profile, dtype=float)
        weights = np.broadcast_to(self.payoff.weights, profile.shape)
        if self.payoff.straight:
            return ScaledEach(weights, self._worth.curves(profile))
        return PaidOff(self._worth.curves(profile), replace(self.payoff, weight=1.0), weights)

    def as_common(self, owners: int) -> tuple[Exposure, Array] | None:
        """The accuracy's curve and the weights, where the payoff is a straight line."""
        known = self._worth.as_common(owners) if self.payoff.straight else None
        return None if known is None else (known[0], known[1] * self.payoff.weights)

    def marginals(self, profile: Array) -> Array:
        """d a_i / d s_j, exact where the payoff is a straight line."""
        if not self.payoff.straight:
            return super().marginals(profile)
        return self._worth.marginals(profile) * np.broadcast_to(self.payoff.weights, len(profile))[:, None]

    def accuracy_of(self, worth: Array) -> Array:
        """phi_i^-1 of the worth."""
        return self._worth.accuracy_of(self.payoff.inverse_of(worth / self.payoff.weights))

    def worth_of(self, other: Accuracy) -> Accuracy:
        """The other one in the same payoffs; of the one that was asked about last always the same object."""
        made = vars(self).get("_last")
        if made is None or made[0] is not other:
            made = vars(self)["_last"] = other, Valued(self._worth.worth_of(other), self.payoff)
        return made[1]

    def kinks(self, profile: Array) -> Array:
        """Those of the accuracy."""
        return self._worth.kinks(profile)

    def spillover_kinks(self, profile: Array) -> Array:
        """Those of the accuracies."""
        return self._worth.spillover_kinks(profile)

    def own_jumps(self, owners: int) -> Array:
        """Those of the accuracies."""
        return self._worth.own_jumps(owners)

    def restrict(self, rows: Rows) -> Valued:
        """The same payoffs of fewer owners."""
        return Valued(self._worth.restrict(rows), self.payoff.take(rows))

    # As a training: that of the accuracies, whose models are valued

    def round(self, state: State, messages: OwnerMessages) -> tuple[State, RoundResult]:
        """One of the training."""
        after, result = self._training.round(state, messages)
        return after, self._valued(state, result)

    def trial(self, state: State, messages: OwnerMessages) -> tuple[State, RoundResult]:
        """One of the training."""
        after, result = self._training.trial(state, messages)
        return after, self._valued(state, result)

    def _valued(self, before: State, result: RoundResult) -> RoundResult:
        """With what own training gained every owner in its payoff: phi_i(a_i + gained_i) - phi_i(a_i)."""
        if result.progress is None:
            return result
        standing = self._training.worth(before).values(np.zeros((1, len(result.progress))))[0]
        gained = self.payoff.of(standing + result.progress) - self.payoff.of(standing)
        return replace(result, progress=self.payoff.weights * gained)

    def worth(self, state: State) -> Valued:
        """phi_i of what the models are worth by now."""
        made = self._training.worth(state)
        return self if made is self.accuracy else replace(self, accuracy=made)

    def hand_out(self, state: State, rows: Rows, contributions: Array, promised: Array) -> Array:
        """phi_i of the models that are handed to who is promised phi_i^-1 of the promise."""
        payoff = self.payoff.take(rows)
        accuracy = payoff.inverse_of(promised / payoff.weights)
        return payoff.weights * payoff.of(self._training.hand_out(state, rows, contributions, accuracy))


forward(Valued, Oracle, "accuracy", None)


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
