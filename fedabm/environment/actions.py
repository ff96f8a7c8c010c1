"""What a learner's numbers between 0 and 1 mean: how much data it gives, and what it says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, check_number, nearest
from fedabm.simulation.agents import Owner
from fedabm.views import Action, OwnerView, Reports

__all__ = ["LIES", "Learner", "Meaning"]

#: what learners can lie about
LIES = ("contribution", "cost", "size")


@dataclass(frozen=True)
class Meaning:
    """The first number is the share of its data that an owner gives; each of `lies` adds one number for what it says.

    contribution   it claims this share of `most` times its data
    cost           it states this share of `most` times its cost
    size           it claims to have this share of `most` times its data

    What is no lie is told truthfully; nobody claims to have used more data than it claims to have.
    """

    lies: Sequence[str] = ()
    most: float = 2.0

    def __post_init__(self) -> None:
        if isinstance(self.lies, str):
            raise InputError(f"lies must be a list, got {self.lies!r}; write lies=['{self.lies}']")
        for lie in self.lies:
            if lie not in LIES:
                raise InputError(f"nobody can lie about {lie!r} here; {nearest(lie, LIES)}")
        object.__setattr__(self, "lies", tuple(dict.fromkeys(self.lies)))
        check_number("most", self.most)

    @property
    def width(self) -> int:
        """How many numbers an action has."""
        return 1 + len(self.lies)

    def honest(self, share: float) -> Array:
        """The numbers of an owner that gives this share of its data and tells the truth."""
        truth = {"contribution": share / self.most, "cost": 1.0 / self.most, "size": 1.0 / self.most}
        return np.array([share, *(truth[lie] for lie in self.lies)])

    def action(self, view: OwnerView, numbers: Array) -> Action:
        """What an owner with this view does by these numbers."""
        given = np.clip(np.nan_to_num(np.asarray(numbers, dtype=float)), 0.0, 1.0)
        contribution = given[0] * view.capacity
        said = dict(zip(self.lies, self.most * given[1:], strict=True))
        claim = said["contribution"] * view.capacity if "contribution" in said else contribution
        size = np.maximum(said.get("size", 1.0) * view.capacity, claim)
        report = Reports(claim, size, view.cost.scaled(float(said.get("cost", 1.0))), view.eagerness)
        return Action(contribution, report, np.ones(len(contribution), dtype=bool), used="experience")


class Learner(Owner):
    """An owner that does what it was told to do from outside."""

    meaning = Meaning()
    numbers: Array | None = None

    def decide(self, view: OwnerView) -> Action:
        """What the numbers mean; until there are any, nothing."""
        return self.meaning.action(view, np.zeros(self.meaning.width) if self.numbers is None else self.numbers)
