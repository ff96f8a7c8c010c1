"""Owners that leave the federation when it does not pay."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.errors import InputError, check_positive
from fedabm.strategies.base import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["Quitter"]


@dataclass(frozen=True)
class Quitter(Strategy):
    """Do what `truth` does, and leave for good after a step with utility below -tolerance."""

    truth: Strategy
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.truth, Strategy):
            raise InputError(f"a quitter wraps a strategy, got {self.truth!r}; write Quitter(truth=Honest())")
        check_positive("tolerated loss", self.tolerance, zero=True)

    def act(self, view: OwnerView) -> Action:
        """Stay only while the last step was no loss; nobody has lost before the first step."""
        action = self.truth.act(view)
        loss = np.nan_to_num(view.last.utility) < -self.tolerance
        return replace(action, stay=action.stay & ~loss)
