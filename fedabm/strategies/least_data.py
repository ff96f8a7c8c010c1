"""Owners that want a certain accuracy for as little data as possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_range
from fedabm.games.roots import falling_root
from fedabm.strategies.announced import announced
from fedabm.strategies.base import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["LeastData"]


@dataclass(frozen=True)
class LeastData(Strategy):
    """Contribute the least with which the model received is as accurate as the `goal`; costs and money do not count.

        s_i = min { x : received_i(x, s_-i) >= goal },      all it has where nothing reaches the goal

    Blum et al. 2021, "One for one, or all for all", whom Murhekar et al. 2023 take as a special case (Remark 1).  Where
    more data never make the model worse; elsewhere it is one contribution at which the goal is crossed.

    Parameters
    ----------
    goal : float, optional
        The accuracy that is enough.
    """

    goal: float = 0.8
    stacks = True

    def __post_init__(self) -> None:
        check_range("accuracy goal", self.goal, 0.0, 1.0)

    def act(self, view: OwnerView) -> Action:
        """Up to where the goal is met."""
        received, most = announced(view).offers.received, np.asarray(view.capacity, dtype=float)
        nothing = np.zeros_like(most)
        needed = falling_root(lambda x: self.goal - received.value(x), nothing, most)
        return view.truthful(np.where(received.value(nothing) >= self.goal, nothing, needed), used="offer")
