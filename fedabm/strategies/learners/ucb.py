"""What could still be best, as far as one can know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_number
from fedabm.common.random import Streams
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import averages, check_levels, no_arm, play
from fedabm.views import Action, Memory, OwnerView

__all__ = ["UCB"]


@dataclass(frozen=True)
class UCB(Strategy):
    """Play every level once, then the one with the highest upper confidence bound of its mean utility.

        k = argmax_k  mean u(k) + scale * sqrt(2 ln t / n_k)

    n_k is how often level k has been played, t the sum of them.  UCB1 of Auer et al. 2002, Figure 1, for utilities in
    a range of width `scale`: a level that is worth d less than the best is played at most 8 (scale / d)^2 ln t + 5
    times (their Theorem 1).  It knows nothing but what it earned itself, and draws no random numbers.

    Parameters
    ----------
    scale : float, optional
        Width of the range of utilities: how much a level that was seldom tried is preferred.
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    """

    scale: float = 1.0
    levels: int = 11
    stacks = True

    def __post_init__(self) -> None:
        check_number("scale", self.scale)
        check_levels(self.levels)

    def begin(self, n: int, rng: Streams) -> Memory:
        """No level tried."""
        return {"arm": no_arm(n), "count": np.zeros((n, self.levels)), "worth": np.zeros((n, self.levels))}

    def act(self, view: OwnerView) -> Action:
        """The level with the highest bound; one that has not been tried has none."""
        count, worth = averages(view)
        time = np.log(np.maximum(count.sum(axis=1), 1.0))[:, None]
        spread = np.divide(2.0 * time, count, out=np.full(count.shape, np.inf), where=count > 0)
        arm = np.argmax(worth + self.scale * np.sqrt(spread), axis=1)
        return play(view, arm, self.levels, "experience", count=count, worth=worth)
