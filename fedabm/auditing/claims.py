"""What a card says: each claim is certified, found, a theorem that was tested, or unknown, and never a bare tick."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from fedabm.auditing.stage import Stage

__all__ = ["STATUSES", "Claim", "Status", "stake", "theorem"]

Status = Literal["certified", "found", "theorem", "unknown"]

#: what each status means
STATUSES: dict[Status, str] = {
    "certified": "proven on this stage: nothing within the limits does more",
    "found": "the worst that a search with the stated budget found; something may do more",
    "theorem": "proven in the reference, and no test here contradicts it",
    "unknown": "nothing is known",
}

#: what the literature proves, by class and claim
_THEOREMS = {
    ("NoPayments", "budget"): "no money moves",
    ("ContributionSubsidy", "budget"): "Doshi et al. 2025, eq. (7)",
    ("CostSharing", "budget"): "Murhekar et al. 2023, Section 4",
    ("ShapleyShare", "budget"): "Murhekar et al. 2025, Lemma 4.2",
    ("PartialReciprocity", "budget"): "Murhekar et al. 2025, Lemma 4.2, times r",
    ("ValueShaping", "budget"): "no money moves",
    ("Screening", "budget"): "no money moves",
    ("ProportionalData", "budget"): "no money moves",
    ("ProportionalValue", "budget"): "no money moves",
    ("ProportionalShapley", "budget"): "no money moves",
    ("ModelMarket", "budget"): "iPFL 2025, eq. (10): owners pay each other",
    ("Clarke", "cost"): "Groves 1973: the own cost is not in the own payment",
    ("ValueShaping", "rationality"): "Karimireddy et al. 2022, Theorem V",
    ("Screening", "cost"): "Karimireddy et al. 2022, Theorem VIII: owners choose from one menu",
    ("NoPayments", "rationality"): "Karimireddy et al. 2022, Section 3: more data never hurt",
}


@dataclass(frozen=True)
class Claim:
    """One line of a card.

    `holds` is None where nothing is known.  `value` is the number in question and `bound` the most that it can be
    (infinite: nothing is proven).  `flaw` names what is wrong, `severity` weighs it in units of what an owner has, and
    a `broken` promise of the class, or a game without equilibrium, comes before all others.
    """

    name: str
    holds: bool | None
    status: Status
    value: float
    words: str
    bound: float = np.inf
    reference: str = ""
    flaw: str = ""
    severity: float = 0.0
    broken: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; numbers that are not finite become None."""
        plain = asdict(self)
        return {key: _plain(value) for key, value in plain.items()}


def theorem(stage: Stage, topic: str) -> str:
    """The reference that proves something of this rule, or nothing."""
    return _THEOREMS.get((type(stage.mechanism).__name__, topic), "")


def stake(stage: Stage) -> float:
    """What an owner has, on average: the unit in which flaws are weighed."""
    return max(float(np.mean(np.abs(stage.settled.utility))), 1e-9)


def _plain(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return bool(value) if isinstance(value, np.bool_) else value
