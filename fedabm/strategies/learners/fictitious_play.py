"""The best reply to all that the others have done so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.random import Streams
from fedabm.strategies.announced import announced
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import check_levels, grid
from fedabm.views import Action, Memory, OwnerView

__all__ = ["FictitiousPlay"]


@dataclass(frozen=True)
class FictitiousPlay(Strategy):
    """Play the best reply to the empirical distribution of what the others have done.

        x_i = argmax_k  1/t sum_{r <= t} u_i(k, s_-i^r)

    The mean over the past of what a level would have earned is its expected payoff if the others play next what they
    have played before, each profile of theirs as often as it occurred.  What a level would have earned is taken from
    the announced payoff while the others' last reports stand; what they declare before the first step is the first
    belief.  Brown 1951.  Remembers its mean contribution as "mean": in games where fictitious play converges it is
    this that does.

    Parameters
    ----------
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    """

    levels: int = 21
    stacks = True

    def __post_init__(self) -> None:
        check_levels(self.levels)

    def begin(self, n: int, rng: Streams) -> Memory:
        """No past."""
        return {"count": np.zeros(n), "earned": np.zeros((n, self.levels)), "mean": np.zeros(n)}

    def act(self, view: OwnerView) -> Action:
        """The level that would have earned most so far."""
        table = grid(view, self.levels)
        count = view.memory["count"] + 1
        earned = view.memory["earned"] + announced(view).value(table)
        contribution = table[np.arange(len(table)), np.argmax(earned, axis=1)]
        mean = view.memory["mean"] + (contribution - view.memory["mean"]) / count
        return view.truthful(contribution, used="offer", memory={"count": count, "earned": earned, "mean": mean})
