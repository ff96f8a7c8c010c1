"""Who takes part in a round: everyone, a sample, those a trace names, or those who keep a deadline.

Activation says who decides anew; participation says who is there at all.  An absent owner does not train, bears no cost
and claims 0, and the mechanism says what a claim of 0 is paid.  When it is back it goes on with its last action, unless
the activation asks it for another one.

Draws are made for all owners and then used for those that have not left, so that an owner that leaves changes no draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import InputError, check_number, check_positive, check_range, check_whole, finite_vector
from fedabm.common.table import FrozenArray

__all__ = ["Deadline", "Everyone", "Participation", "SampleCount", "SampleShare", "Trace"]


class Participation(ABC):
    """A rule for who is there in a round, and how much late updates count."""

    #: the same owners are there and in time in every round, so that a run can come to rest
    constant: ClassVar[bool] = False

    @abstractmethod
    def there(self, step: int, stayed: Flags, rng: np.random.Generator) -> Flags:
        """Mask (n,) of the owners that take part in this step, among those that have not left."""

    def weights(self, contribution: Array, rng: np.random.Generator) -> Array | None:
        """How much each owner's update counts, (n,) from 0 (dropped) to 1 (in time); None: all are in time."""
        return None

    def check(self, owners: int) -> None:
        """Raise unless it fits this many owners; here it always does."""
        return


@dataclass(frozen=True)
class Everyone(Participation):
    """All owners, in every round."""

    constant: ClassVar[bool] = True

    def there(self, step: int, stayed: Flags, rng: np.random.Generator) -> Flags:
        """All that have not left."""
        return stayed


@dataclass(frozen=True)
class SampleCount(Participation):
    """Exactly `count` owners per round, drawn without replacement (all, if fewer are left).  McMahan et al. 2017.

    Parameters
    ----------
    count : int
        How many owners take part in a round.
    """

    count: int

    def __post_init__(self) -> None:
        check_whole("count of owners per round", self.count)

    def there(self, step: int, stayed: Flags, rng: np.random.Generator) -> Flags:
        """A fresh sample."""
        return _sample(stayed, self.count, rng)


@dataclass(frozen=True)
class SampleShare(Participation):
    """A `share` of the owners per round, rounded up: McMahan et al. 2017, where it is called C.

    Parameters
    ----------
    share : float
        Which share of the owners takes part in a round.
    """

    share: float

    def __post_init__(self) -> None:
        check_positive("share of owners per round", self.share)
        check_range("share of owners per round", self.share, 0.0, 1.0)

    def there(self, step: int, stayed: Flags, rng: np.random.Generator) -> Flags:
        """A fresh sample."""
        # Products such as 0.1 * 30 are a rounding error above the whole number that is meant.
        return _sample(stayed, int(np.ceil(self.share * np.count_nonzero(stayed) - 1e-9)), rng)


@dataclass(frozen=True)
class Trace(Participation):
    """Who is there by record: `rounds[k]` are the numbers of the owners in step k + 1; after the last it begins again.

    >>> Trace([[0, 1], [2]]).there(2, np.array([True, True, True]), np.random.default_rng(0)).tolist()
    [False, False, True]

    Parameters
    ----------
    rounds : Any
        Numbers of the owners that take part, round by round.
    """

    rounds: Any

    def __post_init__(self) -> None:
        try:
            rounds = tuple(tuple(int(owner) for owner in members) for members in self.rounds)
        except (TypeError, ValueError):
            raise InputError(
                f"a trace is a list of owners' numbers per round, got {self.rounds!r}; give [[0, 1], [2]]"
            ) from None
        if not rounds or min((owner for members in rounds for owner in members), default=0) < 0:
            raise InputError(f"a trace needs rounds with owners' numbers from 0 on, got {rounds}; give [[0, 1], [2]]")
        object.__setattr__(self, "rounds", rounds)

    def there(self, step: int, stayed: Flags, rng: np.random.Generator) -> Flags:
        """Those on record who have not left."""
        found = np.zeros(len(stayed), dtype=bool)
        found[[owner for owner in self.rounds[(step - 1) % len(self.rounds)] if owner < len(stayed)]] = True
        return found & stayed

    def check(self, owners: int) -> None:
        """Raise if it names an owner that there is not."""
        most = max((owner for members in self.rounds for owner in members), default=0)
        if most >= owners:
            raise InputError(f"a trace names owner {most}, but there are {owners}; give numbers from 0 to {owners - 1}")


@dataclass(frozen=True)
class Deadline(Participation):
    """Everyone trains, and what comes after `limit` seconds is dropped, or counts by the factor `discount`.

        seconds_i = contribution_i / speed_i * exp(jitter * z_i),      z_i standard normal

    Dropping is the FedAvg of Bonawitz et al. 2019; a discount stands for what asynchronous servers make of stale
    updates.  A late owner bears its cost all the same.  `speed` is in samples per second: one number, or one per owner.

    Parameters
    ----------
    limit : float
        Seconds after which an update is late.
    speed : Any, optional
        Samples per second: one number, or one per owner.
    late : Literal['drop', 'discount'], optional
        What becomes of late updates.
    discount : float, optional
        What a late update counts.
    jitter : float, optional
        How much times vary from round to round (standard deviation of the logarithm).
    """

    limit: float
    speed: Any = 1.0
    late: Literal["drop", "discount"] = "drop"
    discount: float = 0.5
    jitter: float = 0.0

    def __post_init__(self) -> None:
        check_positive("deadline", self.limit)
        speeds = finite_vector("speeds", np.atleast_1d(self.speed))
        if not np.all(speeds > 0):
            raise InputError(f"speeds must be positive, got {speeds.min():g}; give samples per second")
        object.__setattr__(self, "speed", FrozenArray(speeds))
        if self.late not in ("drop", "discount"):
            raise InputError(f"late updates are dropped or discounted, got {self.late!r}; choose drop or discount")
        check_range("discount of late updates", self.discount, 0.0, 1.0)
        check_number("jitter", self.jitter, zero=True)

    def there(self, step: int, stayed: Flags, rng: np.random.Generator) -> Flags:
        """All that have not left."""
        return stayed

    def weights(self, contribution: Array, rng: np.random.Generator) -> Array:
        """1 in time, else 0 or the discount."""
        seconds = contribution / self.speed.array * np.exp(self.jitter * rng.standard_normal(len(contribution)))
        return np.where(seconds <= self.limit, 1.0, 0.0 if self.late == "drop" else self.discount)

    def check(self, owners: int) -> None:
        """Raise unless there is one speed for all or one per owner."""
        if len(self.speed) not in (1, owners):
            raise InputError(f"{len(self.speed)} speeds but {owners} owners; give one per owner, or one for all")


def _sample(stayed: Flags, count: int, rng: np.random.Generator) -> Flags:
    """Mask of this many owners, drawn among those that have not left."""
    order = rng.permutation(len(stayed))
    found = np.zeros(len(stayed), dtype=bool)
    found[order[stayed[order]][:count]] = True
    return found
