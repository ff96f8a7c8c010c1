"""Owners that leave the federation when it does not pay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedabm.common.errors import check_positive, check_range
from fedabm.strategies.base import Wrapper
from fedabm.views import Action, OwnerView

__all__ = ["Quitter"]


@dataclass(frozen=True)
class Quitter(Wrapper):
    """Do what `truth` does, and leave for good after a step with utility below -tolerance.

    After each such step it leaves with probability `chance`; iPFL 2025 has owners that quit strictly (1) or with 1/2.

    Parameters
    ----------
    truth : Strategy
        The strategy that it wraps.
    tolerance : float, optional
        How near is near enough.
    chance : float, optional
        The chance to leave in a step.
    """

    example: ClassVar[str] = "Quitter(truth=Honest())"
    tolerance: float = 0.0
    chance: float = 1.0
    #: only who has lost draws
    stacks: ClassVar[bool] = False  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("tolerated loss", self.tolerance, zero=True)
        check_range("chance of leaving", self.chance, 0.0, 1.0)

    def act(self, view: OwnerView) -> Action:
        """Stay only while the last step was no loss; nobody has lost before the first step."""
        action = self.truth.act(view)
        loss = np.nan_to_num(view.last.utility) < -self.tolerance
        leaves = loss if self.chance == 1 else loss & (view.rng.uniform(where=loss) < self.chance)
        return replace(action, stay=action.stay & ~leaves)
