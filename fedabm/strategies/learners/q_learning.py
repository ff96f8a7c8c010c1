"""What a level is worth in a situation, with what comes after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_range, check_whole
from fedabm.common.random import Streams
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import Arms, check_levels, mostly, no_arm, others_mean, play, rewarded
from fedabm.views import Action, Memory, OwnerView

__all__ = ["QLearning"]


@dataclass(frozen=True)
class QLearning(Strategy):
    """Learn what each level is worth in each situation, now and later, and mostly play the best.

        Q(z, k) <- Q(z, k) + rate * (u + discount * max_l Q(z', l) - Q(z, k))

    Watkins 1989.  The situation z is what is known of the last step: the level played oneself, and what the others gave
    on average as a share of one's own data, in one of `moods` steps (moods=1: the own level alone).  So it can learn
    that what it does now changes what others do next: with tit-for-tat it learns to cooperate (Sandholm and Crites
    1996).  With probability epsilon it plays any level; every level seems to earn `hope` for ever until it is tried.

    Parameters
    ----------
    rate : float, optional
        How fast values follow what is earned.
    discount : float, optional
        What the next step counts against this one.
    epsilon : float, optional
        The chance to play any level.
    hope : float, optional
        What an untried level seems to earn in a step.
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    moods : int, optional
        Into how many steps the others' mean contribution is divided.
    """

    rate: float = 0.2
    discount: float = 0.9
    epsilon: float = 0.1
    hope: float = 1.0
    levels: int = 5
    moods: int = 3
    stacks = True

    def __post_init__(self) -> None:
        check_range("learning rate", self.rate, 0.0, 1.0)
        check_range("discount", self.discount, 0.0, 1.0 - 1e-6)
        check_range("epsilon", self.epsilon, 0.0, 1.0)
        check_range("hope", self.hope, -1e100, 1e100)
        check_levels(self.levels)
        check_whole("moods", self.moods)

    def begin(self, n: int, rng: Streams) -> Memory:
        """Everything is worth what is hoped for."""
        worth = np.full((n, self.levels * self.moods, self.levels), self.hope / (1.0 - self.discount))
        return {"arm": no_arm(n), "situation": np.zeros(n, dtype=np.intp), "worth": worth}

    def act(self, view: OwnerView) -> Action:
        """The best level in this situation or, for a chance, any."""
        now = self.situation(view)
        worth = view.memory["worth"].copy()
        rows = rewarded(view)
        spots = rows, view.memory["situation"][rows], view.memory["arm"][rows]
        later = worth[rows, now[rows]].max(axis=1)
        worth[spots] += self.rate * (view.last.utility[rows] + self.discount * later - worth[spots])
        best = np.argmax(worth[np.arange(len(now)), now], axis=1)
        arm = view.rng.choice(mostly(best, self.epsilon, self.levels))
        return play(view, arm, self.levels, "total", situation=now, worth=worth)

    def situation(self, view: OwnerView) -> Arms:
        """The number of the situation, below levels * moods."""
        mood = np.minimum(others_mean(view) / view.capacity * self.moods, self.moods - 1).astype(np.intp)
        return np.maximum(view.memory["arm"], 0) * self.moods + mood
