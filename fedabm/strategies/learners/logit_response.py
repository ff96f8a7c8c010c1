"""Better replies more often than worse ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_number
from fedabm.strategies.announced import announced
from fedabm.strategies.base import Strategy
from fedabm.strategies.learners.arms import check_levels, grid, softmax
from fedabm.views import Action, OwnerView

__all__ = ["LogitResponse"]


@dataclass(frozen=True)
class LogitResponse(Strategy):
    """Play levels with probabilities that grow with their payoff against the others' last reports.

        p_k = exp(u(k) / temperature) / sum_l exp(u(l) / temperature)

    The logit form of quantal response, McKelvey and Palfrey 1995, as a rule of revision (Blume 1993): the best level
    as the temperature falls to zero, any level as it grows.  u is the announced payoff.

    Parameters
    ----------
    temperature : float, optional
        How much payoffs must differ to matter; towards 0 the best level is played.
    levels : int, optional
        Into how many levels, from nothing to all data, contributions are divided.
    """

    temperature: float = 0.05
    levels: int = 21
    stacks = True

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature)
        check_levels(self.levels)

    def act(self, view: OwnerView) -> Action:
        """A level by its payoff."""
        table = grid(view, self.levels)
        value = announced(view).value(table)
        with np.errstate(over="ignore"):  # what is far below the best is never played
            chances = softmax((value - value.max(axis=1, keepdims=True)) / self.temperature)
        return view.truthful(table[np.arange(len(table)), view.rng.choice(chances)], used="offer")
