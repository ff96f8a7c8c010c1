"""Stay with what is good enough, try something else when it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_number, check_range
from fedabm.common.random import Streams
from fedabm.games.curves import Array
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import check_levels, no_arm, play, rewarded
from fedabm.views import Action, Memory, OwnerView

__all__ = ["Aspiration"]


@dataclass(frozen=True)
class Aspiration(Strategy):
    """Repeat a level that earned what was aspired to; else move, the likelier the more was missing.

        P(another level) = min(1 - inertia, sensitivity * max(A - u, 0))
        A <- persistence * A + (1 - persistence) * u

    A begins at `hope` and is shaken now and then: with probability `tremble` it moves by up to `jolt` either way.
    Karandikar et al. 1998: two owners in a prisoner's dilemma, give all or nothing, whose aspirations change slowly and
    tremble rarely, both give most of the time.  It knows nothing but what it earned itself.

    Parameters
    ----------
    hope : float, optional
        The aspiration at the start.
    persistence : float, optional
        How much of the aspiration stays from step to step.
    sensitivity : float, optional
        How a shortfall turns into a chance to move.
    inertia : float, optional
        The least chance to stay.
    tremble : float, optional
        The chance that the aspiration is shaken.
    jolt : float, optional
        How far it is shaken at most.
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    """

    hope: float = 1.0
    persistence: float = 0.99
    sensitivity: float = 5.0
    inertia: float = 0.1
    tremble: float = 0.001
    jolt: float = 0.02
    levels: int = 2
    stacks = True

    def __post_init__(self) -> None:
        check_range("hope", self.hope, -1e100, 1e100)
        for name in ("persistence", "inertia", "tremble"):
            check_range(name, getattr(self, name), 0.0, 1.0)
        check_number("sensitivity", self.sensitivity)
        check_number("jolt", self.jolt, zero=True)
        check_levels(self.levels)

    def begin(self, n: int, rng: Streams) -> Memory:
        """Nothing tried, much hoped for."""
        return {"arm": no_arm(n), "aspiration": np.full(n, self.hope)}

    def act(self, view: OwnerView) -> Action:
        """The same level or, if it disappoints, perhaps another."""
        aspiration, rows = view.memory["aspiration"].copy(), rewarded(view)
        missing = np.zeros(len(aspiration))
        missing[rows] = np.maximum(aspiration[rows] - view.last.utility[rows], 0.0)
        arm = view.rng.choice(self._chances(view, missing))
        aspiration[rows] += (1.0 - self.persistence) * (view.last.utility[rows] - aspiration[rows])
        shock = view.rng.uniform()
        shaken = shock < self.tremble  # and then shock / tremble is uniform itself
        aspiration[shaken] += self.jolt * (2.0 * shock[shaken] / self.tremble - 1.0)
        return play(view, arm, self.levels, "experience", aspiration=aspiration)

    def _chances(self, view: OwnerView, missing: Array) -> Array:
        moves = np.minimum(1.0 - self.inertia, self.sensitivity * missing)
        chances = np.repeat(moves[:, None] / (self.levels - 1), self.levels, axis=1)
        arm = view.memory["arm"]
        chances[np.arange(len(arm)), arm] = 1.0 - moves
        chances[arm < 0] = 1.0
        return chances
