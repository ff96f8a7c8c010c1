"""What one regrets not to have done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.random import Streams
from fedabm.games.curves import Array
from fedabm.strategies.announced import announced
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import Arms, check_levels, grid, no_arm
from fedabm.views import Action, Memory, OwnerView

__all__ = ["RegretMatching"]


@dataclass(frozen=True)
class RegretMatching(Strategy):
    """Play levels with probability proportional to how much one regrets not to have played them all along.

        R_k <- R_k + u(k) - u(level played),      p_k = max(R_k, 0) / sum_l max(R_l, 0)

    Who regrets nothing stays at its level; the first is drawn at random.  What other levels would have earned is
    taken from the announced payoff while the others' last reports stand.  Hart and Mas-Colell 2000, in the
    unconditional form of Hart and Mas-Colell 2001: average regret vanishes, whatever the others do, so that play comes
    near the coarse correlated equilibria.  Remembers its mean contribution as "mean": where the equilibrium is unique
    that is what approaches it, not the single step.

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
        """Nothing to regret."""
        return {"arm": no_arm(n), "regret": np.zeros((n, self.levels)), "count": np.zeros(n), "mean": np.zeros(n)}

    def act(self, view: OwnerView) -> Action:
        """A level by its regret."""
        table = grid(view, self.levels)
        regret = self._regretted(view, table)
        arm = view.rng.choice(_chances(regret, view.memory["arm"]))
        contribution = table[np.arange(len(arm)), arm]
        count = view.memory["count"] + 1
        mean = view.memory["mean"] + (contribution - view.memory["mean"]) / count
        memory = {"arm": arm, "regret": regret, "count": count, "mean": mean}
        return view.truthful(contribution, used="offer", memory=memory)

    def _regretted(self, view: OwnerView, table: Array) -> Array:
        value, arm = announced(view).value(table), view.memory["arm"]
        more = value - value[np.arange(len(arm)), arm][:, None]
        return view.memory["regret"] + np.where(arm[:, None] >= 0, more, 0.0)


def _chances(regret: Array, arm: Arms) -> Array:
    """Positive regrets; where there are none the present level, and where there is no level yet all of them."""
    chances = np.maximum(regret, 0.0)
    content = ~np.any(chances > 0, axis=1)
    chances[content & (arm < 0)] = 1.0
    rows = np.flatnonzero(content & (arm >= 0))
    chances[rows, arm[rows]] = 1.0
    return chances
