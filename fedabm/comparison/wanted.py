"""What a consortium wants of a rule, in plain words: the table [recommend] of a study.

[recommend]
goal = "welfare"                                # or data, accuracy, least served
conditions = ["rational", "balanced", "best_lie <= 1%"]
ask = ["data", "costs"]                         # what owners may be asked for
verified = ["contributions"]                    # what of it can be verified; or costs, or nothing at all: []
paid = "between owners"                         # or "nothing", or "from outside"
degraded = false                                # whether anybody may be handed less than the full model
draws = 100                                     # of what is not known
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedabm.common.errors import InputError, check_range, check_whole

__all__ = ["Goal", "Wanted"]

Goal = Literal["welfare", "data", "accuracy", "least served"]


@dataclass(frozen=True)
class Wanted:
    """Goal, conditions, and what may be asked, verified, paid and degraded.

    Parameters
    ----------
    goal
        What is to be large, net of money from outside: welfare (the sum of utilities), data, accuracy (the mean that
        owners receive), or the utility of the least served owner.
    conditions
        What every answer must keep to; see `fedabm.advice.conditions`.
    ask, verified
        What owners may be asked for, and what of their answers can be verified.
    paid
        Whether money may flow, and from where.
    degraded
        Whether anybody may be handed less than the full model.
    draws
        How many draws of what is not known are judged.
    tie
        Goals that differ by less than this share are called a tie.
    families
        Only these kinds of rules (none: all that fit), by the names of the answer.
    """

    goal: Goal = "welfare"
    conditions: tuple[str, ...] = ()
    ask: tuple[Literal["data", "costs"], ...] = ("data", "costs")
    verified: tuple[Literal["contributions", "costs"], ...] = ()
    paid: Literal["nothing", "between owners", "from outside"] = "between owners"
    degraded: bool = False
    draws: int = 100
    tie: float = 1e-4
    families: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_whole("draws", self.draws)
        if self.draws > 1000:
            raise InputError(f"draws must be at most 1000, got {self.draws}; a hundred tell as much")
        check_range("tie", self.tie, 0.0, 0.5)
