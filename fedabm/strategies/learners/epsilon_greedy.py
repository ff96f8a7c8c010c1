"""Mostly what has paid best so far, sometimes anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_range
from fedabm.common.random import Streams
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import averages, check_levels, mostly, no_arm, play
from fedabm.views import Action, Memory, OwnerView

__all__ = ["EpsilonGreedy"]


@dataclass(frozen=True)
class EpsilonGreedy(Strategy):
    """Play the level with the best mean utility so far, and with probability epsilon any level.

        k = argmax_k mean u(k) among those tried,      p(k) = epsilon / levels + (1 - epsilon) 1[k is that]

    It knows nothing but what it earned itself.  Against opponents that stay as they are it finds the best level and
    plays it with probability 1 - epsilon + epsilon / levels.  Sutton and Barto 2018, Section 2.4; Auer et al. 2002,
    Figure 3, let epsilon fall like 1/t.

    Parameters
    ----------
    epsilon : float, optional
        The chance to play any level.
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    """

    epsilon: float = 0.1
    levels: int = 11
    stacks = True

    def __post_init__(self) -> None:
        check_range("epsilon", self.epsilon, 0.0, 1.0)
        check_levels(self.levels)

    def begin(self, n: int, rng: Streams) -> Memory:
        """No level tried."""
        return {"arm": no_arm(n), "count": np.zeros((n, self.levels)), "worth": np.zeros((n, self.levels))}

    def act(self, view: OwnerView) -> Action:
        """The best level or, for a chance, any; any as long as none has been tried."""
        count, worth = averages(view)
        chances = mostly(np.argmax(np.where(count > 0, worth, -np.inf), axis=1), self.epsilon, self.levels)
        chances[~np.any(count, axis=1)] = 1.0
        return play(view, view.rng.choice(chances), self.levels, "experience", count=count, worth=worth)
