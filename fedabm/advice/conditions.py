"""What every answer must keep to, as a file writes it.

rational            nobody is worse off than outside
balanced            owners get no money from outside, and leave none there
budget <= 100       owners get at most so much from outside
best_lie <= 1%      no lie that cannot be verified brings an owner more than this share of what owners have
pairs <= 1%         nor a lie of two together
equal_treatment     owners that are equal in every way are treated equally
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from fedabm.advice.consortium import Consortium
from fedabm.advice.judging import Outcomes
from fedabm.common.errors import InputError, nearest
from fedabm.mechanisms import Mechanism

__all__ = ["HOLDS", "LIES", "Condition", "conditions_of"]

#: a condition holds if it holds in this share of all draws
HOLDS = 0.95
#: conditions on what liars gain, which are looked at in fewer draws
LIES = ("best_lie", "pairs")
_PLAIN = ("rational", "balanced", "equal_treatment")
_LIMITED = ("budget", *LIES)
#: shares of what is at stake that are rounding
_SMALL = 1e-7


@dataclass(frozen=True)
class Condition:
    """A condition by its name, and its limit (a share where it is about lies)."""

    name: str
    limit: float = 0.0

    def __str__(self) -> str:
        if self.name in _PLAIN:
            return self.name
        return f"{self.name} <= {100 * self.limit:g}%" if self.name in LIES else f"{self.name} <= {self.limit:g}"

    @property
    def words(self) -> str:
        """What it means, for a reader who knows none of the names."""
        plain = {
            "rational": "nobody is worse off than by staying away",
            "balanced": "no money from outside is needed, and none is left there",
            "equal_treatment": "equal owners are treated equally",
            "budget": f"at most {self.limit:g} of money from outside",
            "best_lie": f"no lie brings an owner more than {100 * self.limit:g}% of what owners have",
            "pairs": f"no lie of two together brings them more than {100 * self.limit:g}% of what owners have",
        }
        return plain[self.name]

    def holds(self, rule: Mechanism, outcomes: Outcomes, consortium: Consortium) -> float:
        """In which share of the draws it holds; of lies another module knows."""
        good = outcomes.certified
        small = _SMALL * consortium.stakes[list(outcomes.draws)]
        if self.name == "equal_treatment":
            return float(rule.equal_treatment)
        if self.name == "rational":
            left = outcomes.utilities - consortium.outside[list(outcomes.draws)]
            kept = left.min(axis=1) >= -small
        elif self.name == "balanced":
            kept = np.abs(outcomes.outside) <= small
        else:
            kept = outcomes.outside <= self.limit + small
        return float(np.mean(kept[good])) if np.any(good) else 0.0


def conditions_of(texts: tuple[str, ...]) -> tuple[Condition, ...]:
    """The conditions that a file states.

    >>> [str(one) for one in conditions_of(("rational", "best_lie <= 1%", "budget<=100"))]
    ['rational', 'best_lie <= 1%', 'budget <= 100']
    """
    return tuple(_condition(text) for text in texts)


def _condition(text: str) -> Condition:
    words = text.strip().replace(" ", "_") if "<" not in text else text.strip()
    if words in _PLAIN:
        return Condition(words)
    match = re.fullmatch(r"(\w+(?: \w+)?)\s*<=\s*([0-9.eE+-]+)\s*(%?)", text.strip())
    name = match.group(1).replace(" ", "_") if match else words.split("<")[0].strip()
    if name not in _LIMITED or match is None:
        example = {"budget": "budget <= 100"}.get(name, f"{name} <= 1%") if name in _LIMITED else ""
        remedy = f"write {example}" if example else nearest(name, (*_PLAIN, *_LIMITED))
        raise InputError(f"unknown condition {text!r}; {remedy}")
    try:
        number = float(match.group(2))
    except ValueError:
        number = np.nan
    if not (np.isfinite(number) and number >= 0):
        raise InputError(f"the limit of condition {text!r} is no number from 0 on; write for instance {name} <= 1")
    if name in LIES and not match.group(3):
        raise InputError(f"condition {text!r} needs a share of what owners have; write {name} <= {number:g}%")
    return Condition(name, number / 100 if match.group(3) else number)
