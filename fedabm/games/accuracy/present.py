"""What present models are worth, whatever anybody contributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.curves import Array, Line

__all__ = ["PresentWorth"]


@dataclass(frozen=True)
class PresentWorth(Accuracy):
    """What one model is worth to everybody, (n,), whatever anybody contributes."""

    worth: FrozenArray
    concave = True
    monotone = True
    tells = False
    announces = "none"

    @classmethod
    def renewed(cls, last: Accuracy | None, worth: Array) -> PresentWorth:
        """With these numbers; the last one if they are its own, so that what was made of it can stand."""
        known = isinstance(last, PresentWorth) and np.array_equal(last.worth.array, worth)
        return last if known else cls(FrozenArray(worth))  # type: ignore[return-value]

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.worth)

    def values(self, profiles: Array) -> Array:
        """The same for every profile, (k, n)."""
        profiles = np.asarray(profiles, dtype=float)
        check_width(profiles, self.owners)
        return np.broadcast_to(self.worth.array, profiles.shape)

    def curves(self, profile: Array) -> Line:
        """The same for every own contribution."""
        check_width(np.asarray(profile), self.owners)
        return Line(self.worth.array, np.zeros(self.owners))

    def marginals(self, profile: Array) -> Array:
        """None."""
        return np.zeros((self.owners, self.owners))
