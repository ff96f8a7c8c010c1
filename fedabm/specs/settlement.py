"""What a study says about settling: what a step is, what is billed at once, and what becomes of claims that are odd.

[settlement]
step = "month"           # what one round of the log is
bill = "each step"       # or "all steps": one bill for the sum of all claims
mechanism = "cost sharing"   # which of several; or "advice/recommendation.json", as fedabm recommend wrote it
absent = "error"         # an owner without a row: an error, "zero" (it claimed 0) or "out" (it was not there)
beyond = "cap"           # a claim above the owner's data: "cap" it there, "pay" it, or "error"
jump = 3.0               # a claim this many times above or below the owner's median is said to be doubtful
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedabm.common.errors import InputError, check_range, shown

__all__ = ["SettlementTerms"]


@dataclass(frozen=True)
class SettlementTerms:
    """How claims are settled.

    Attributes
    ----------
    step : str
        What one round of the log is, in a word.
    bill : str, optional
        Whether each step is settled by itself or all of them as one; a log of several rounds needs it, since rules
        that are not linear in the claims give other amounts.
    mechanism : str, optional
        Which of the study's mechanisms is settled, or another one: its kind, a table, or the JSON of a recommendation.
    absent : str
        What an owner without a row in a round is.
    beyond : str
        What becomes of a claim above what an owner has.
    jump : float
        From which ratio to the owner's median on a claim is doubtful.
    """

    step: str = "round"
    bill: Literal["each step", "all steps"] | None = None
    mechanism: str | None = None
    absent: Literal["error", "zero", "out"] = "error"
    beyond: Literal["cap", "pay", "error"] = "cap"
    jump: float = 3.0

    def __post_init__(self) -> None:
        check_range("jump of the settlement", self.jump, 1.0, 1e100)
        if not self.step.strip() or len(self.step) > 40:
            raise InputError(f"step of the settlement must be a word, got {shown(self.step)}; write for instance month")
