"""Weights that grow with what a level earned: a bandit that fears no opponent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_positive, check_range
from fedabm.common.random import Streams
from fedabm.games.curves import Array
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import check_levels, no_arm, play, rewarded, softmax
from fedabm.views import Action, Memory, OwnerView

__all__ = ["EXP3"]


@dataclass(frozen=True)
class EXP3(Strategy):
    """Play levels with probabilities that follow exponential weights of what they have earned.

        p_k = (1 - gamma) w_k / sum_l w_l + gamma / K,      w_k <- w_k exp(gamma r / (K p_k)) for the level played

    Auer, Cesa-Bianchi, Freund and Schapire 2002, Figure 1.  Their Theorem 3.1, for rewards in [0, 1] and whatever the
    others do: after T rounds the expected regret against the best fixed level is at most (e - 1) gamma T + K ln K /
    gamma.  With a fixed gamma the average regret need not vanish, only come down to (e - 1) gamma: every level is
    played with a chance of at least gamma / K for ever.  A gamma of sqrt(K ln K / ((e - 1) T)), chosen for a known T,
    makes it fall like sqrt(K ln K / T) (Corollary 3.2).  Here r is where the utility lies between the lowest and the
    highest that the owner has had so far (1/2 until two of them differ), which no theorem covers while these still
    move.  It knows nothing but what it earned itself.

    Parameters
    ----------
    gamma : float, optional
        The share of play that is spread over all levels.
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    """

    gamma: float = 0.1
    levels: int = 11
    stacks = True

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_range("gamma", self.gamma, 0.0, 1.0)
        check_levels(self.levels)

    def begin(self, n: int, rng: Streams) -> Memory:
        """Equal weights (kept as logarithms), no utility seen."""
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        return {"arm": no_arm(n), "chance": np.ones(n), "weight": np.zeros((n, self.levels)), "low": low, "high": high}

    def act(self, view: OwnerView) -> Action:
        """A level by its weight, having credited the last one with what it earned."""
        low = np.fmin(view.memory["low"], view.last.utility)
        high = np.fmax(view.memory["high"], view.last.utility)
        weight = self._credited(view, low, high)
        chances = (1.0 - self.gamma) * softmax(weight) + self.gamma / self.levels
        arm = view.rng.choice(chances)
        chance = chances[np.arange(len(arm)), arm]
        return play(view, arm, self.levels, "experience", chance=chance, weight=weight, low=low, high=high)

    def _credited(self, view: OwnerView, low: Array, high: Array) -> Array:
        rows = rewarded(view)
        arm, wide = view.memory["arm"][rows], (high - low)[rows]
        reward = np.divide(view.last.utility[rows] - low[rows], wide, out=np.full(len(rows), 0.5), where=wide > 0)
        weight = view.memory["weight"].copy()
        weight[rows, arm] += self.gamma * reward / (self.levels * view.memory["chance"][rows])
        return weight - weight.max(axis=1, keepdims=True)
