"""What an owner or a group can do against a rule: one vocabulary, as data.

A deviation is what is really done beside what is said.  `KINDS` lists all kinds in words; a rule and its accuracies say
which of them mean anything, and the others are skipped with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from fedabm.auditing.stage import Stage, StagePlay
from fedabm.common.errors import InputError, check_positive
from fedabm.common.texts import readable
from fedabm.games.costs import Cost, replaced
from fedabm.games.curves import Array
from fedabm.views import Reports

__all__ = ["KINDS", "Deviation", "LieLimits", "Lies", "in_words", "with_deviations"]

#: every kind of deviation, in words
KINDS = {
    "contribution": "uses more or less data, and says so",
    "claim": "claims another contribution than the true one",
    "size": "claims to have more or less data than it has",
    "cost": "states another cost than the true one",
    "fixed": "states another fixed cost than the true one",
    "eagerness": "claims to want others' data more or less than it does",
    "tampering": "sends another model update than the one it trained",
    "quality": "trains on worse data than it says",
    "away": "stays away",
    "leaving": "leaves midway",
    "names": "enters under several names",
    "merging": "enters under one name with others",
    "side payments": "lies together with others, with money inside the group",
}


@dataclass(frozen=True)
class LieLimits:
    """How far lies go, as multiples of the truth: beyond these limits nothing is said.

    Nobody claims to have used more data than it claims to have.

    Parameters
    ----------
    claim : float, optional
        Largest claimed contribution, as a multiple of the true one.
    size : tuple[float, float], optional
        Least and largest claimed data size, as multiples.
    cost : tuple[float, float], optional
        Least and largest stated variable cost, as multiples.
    fixed : tuple[float, float], optional
        Least and largest stated fixed cost, as multiples.
    eagerness : tuple[float, float], optional
        Least and largest stated eagerness, as multiples.
    """

    claim: float = 2.0
    size: tuple[float, float] = (0.25, 2.0)
    cost: tuple[float, float] = (0.0, 4.0)
    fixed: tuple[float, float] = (0.0, 4.0)
    eagerness: tuple[float, float] = (0.0, 4.0)

    def __post_init__(self) -> None:
        check_positive("largest claim", self.claim)
        for name in ("size", "cost", "fixed", "eagerness"):
            low, high = getattr(self, name)
            if not 0 <= low <= 1 <= high:
                raise InputError(f"limits of {name} must enclose 1, got {low:g} to {high:g}; give for instance (0, 4)")


@dataclass(frozen=True)
class Lies:
    """k deviations of one owner, column by column (k,): true and claimed contribution, claimed size, and the factors by
    which it misstates its cost, its fixed cost and its eagerness.
    """

    contribution: Array
    claim: Array
    size: Array
    cost: Array
    fixed: Array
    eagerness: Array

    @classmethod
    def of(cls, stage: Stage, owner: int, count: int = 1, **columns: Array | float) -> Lies:
        """The truth of an owner, but for some columns; a claim of more than it has comes with such a size."""
        capacity, here = float(stage.capacities[owner]), float(stage.profile[owner])
        claim = np.broadcast_to(np.asarray(columns.get("claim", here), dtype=float), count)
        usual = {"contribution": here, "claim": claim, "size": np.maximum(capacity, claim)}
        usual |= dict.fromkeys(("cost", "fixed", "eagerness"), 1.0)
        return cls(*(np.array(np.broadcast_to(columns.get(name, usual[name]), count), dtype=float) for name in usual))

    def __len__(self) -> int:
        return len(self.claim)

    def one(self, place: int) -> Deviation:
        """One of them."""
        return Deviation(*(float(getattr(self, field.name)[place]) for field in fields(self)))


@dataclass(frozen=True)
class Deviation:
    """What one owner does and says: the columns of `Lies` as single numbers."""

    contribution: float
    claim: float
    size: float
    cost: float = 1.0
    fixed: float = 1.0
    eagerness: float = 1.0

    def as_lies(self) -> Lies:
        """Itself as one row."""
        return Lies(*(np.array([getattr(self, field.name)]) for field in fields(self)))


def with_deviations(stage: Stage, owners: Sequence[int], deviations: Sequence[Deviation]) -> StagePlay:
    """The play in which some owners deviate and all others stand still."""
    truth = stage.truth
    contribution, claim = truth.contribution.copy(), truth.reports.contribution.copy()
    size, eager = truth.reports.size.copy(), stage.eagerness.copy()
    cost = stage.costs
    for owner, deviation in zip(owners, deviations, strict=True):
        contribution[owner], claim[owner] = deviation.contribution, deviation.claim
        size[owner], eager[owner] = deviation.size, deviation.eagerness * eager[owner]
        if deviation.cost != 1 or deviation.fixed != 1:
            cost = replaced(cost, np.array([owner]), misstated(stage.costs.take([owner]), deviation))
    return StagePlay(truth.owner, contribution, Reports(claim, size, cost, eager))


def misstated(cost: Cost, deviation: Deviation) -> Cost:
    """An owner's cost as it states it: multiplied, and its fixed part once more."""
    stated = cost.scaled(deviation.cost)
    if deviation.fixed != 1 and (power := stated.as_power()) is not None:
        return replace(power, fixed=power.fixed * deviation.fixed)
    return stated


def in_words(stage: Stage, owner: int, deviation: Deviation) -> str:
    """A deviation in plain words, what differs from the truth only."""
    here, capacity = float(stage.profile[owner]), float(stage.capacities[owner])
    unit = 1e-6 * max(capacity, 1e-12)
    said: list[str] = []
    if abs(deviation.contribution - here) > unit:
        said.append(f"contributes {readable(deviation.contribution)} instead of {readable(here)}")
    if abs(deviation.claim - deviation.contribution) > unit:
        said.append(f"claims {readable(deviation.claim)}")
    if abs(deviation.size - max(capacity, deviation.claim)) > unit:
        said.append(f"claims to have {readable(deviation.size)} of data instead of {readable(capacity)}")
    for name, what in (("cost", "cost"), ("fixed", "fixed cost"), ("eagerness", "eagerness")):
        factor = getattr(deviation, name)
        if abs(factor - 1) > 1e-6:
            said.append(f"states {_factor(factor)} its {what}")
    return f"{stage.who(owner)} " + (", ".join(said) if said else "tells the truth")


def _factor(factor: float) -> str:
    return "none of" if factor == 0 else f"{readable(factor, 3)} times"
