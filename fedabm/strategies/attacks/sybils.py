"""One attacker under several names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedabm.common.random import Streams
from fedabm.games.messages import Surroundings
from fedabm.strategies.attacks.base import Attack, mean

__all__ = ["Sybils"]


@dataclass(frozen=True)
class Sybils(Attack):
    """All partners send scale times the mean of what they have trained, under as many names.

    Fung et al. 2020, Section 4: Sybils share one goal and so send much the same, which FoolsGold looks for.  Partners
    are owners that are given the same strategy; what they train on may have flipped labels or a trigger.
    """

    def __call__(self, rows: Any, around: Surroundings, rng: Streams) -> Any:
        """The same for all partners."""
        return 0.0 * rows + self.scale * mean(rows)
