"""When a run ends before its steps are used up.

A rule looks at the steps so far and says whether to stop.  How a run ended is another question, and the certified gap
answers it: `converged` means that nothing moves any more *and* that no owner could gain more than the scenario's
`gap_tolerance` by another contribution.  Owners that only stand still are `at rest`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedabm.common.errors import check_positive, check_whole

__all__ = ["AtRest", "Never", "Progress", "Steady", "Stopping"]


class Progress(NamedTuple):
    """What a stopping rule knows of a step.

    `resting`: everybody has acted since anybody last moved, nobody drew random numbers or learned
    anything, nothing is awaited.
    """

    step: int
    resting: bool
    contribution: float
    welfare: float


class Stopping(ABC):
    """Says after each step whether the run ends."""

    @abstractmethod
    def ends(self, steps: Sequence[Progress]) -> bool:
        """Whether to stop after these steps, the last of which has just been completed."""


@dataclass(frozen=True)
class AtRest(Stopping):
    """End when nothing moves any more.  Owners that draw random numbers or learn never rest: they use up the steps."""

    def ends(self, steps: Sequence[Progress]) -> bool:
        return steps[-1].resting


@dataclass(frozen=True)
class Never(Stopping):
    """Use up all steps."""

    def ends(self, steps: Sequence[Progress]) -> bool:
        return False


@dataclass(frozen=True)
class Steady(Stopping):
    """End when the run looks stationary: two neighbouring windows have the same mean contribution and welfare.

        |mean_1 - mean_2| <= z * sqrt(se_1^2 + se_2^2) + tolerance * |mean|,      se_k^2 = var_k / batches

    for both series, with standard errors from means of `batches` batches per window, which allows for correlation
    between neighbouring steps (batch means; Law and Kelton 2000, Section 9.5.3).  Also ends at rest.  It says that no
    drift can be seen, not that anything is an equilibrium.

    Parameters
    ----------
    window : int, optional
        Steps in a window.
    tolerance : float, optional
        The relative drift that counts as none.
    z : float, optional
        How many standard errors two windows may differ.
    batches : int, optional
        Batches in a window, for its standard error.
    """

    window: int = 50
    tolerance: float = 0.01
    z: float = 1.96
    batches: int = 5

    def __post_init__(self) -> None:
        check_whole("batches", self.batches, 2)
        check_whole("window", self.window, 2 * self.batches)
        check_positive("tolerance", self.tolerance, zero=True)
        check_positive("z", self.z, zero=True)

    def ends(self, steps: Sequence[Progress]) -> bool:
        if steps[-1].resting:
            return True
        if len(steps) < 2 * self.window:
            return False
        recent = np.array([[one.contribution, one.welfare] for one in steps[-2 * self.window :]])
        return all(self._alike(*np.split(series, 2)) for series in recent.T)

    def _alike(self, early: np.ndarray, late: np.ndarray) -> bool:
        error = np.hypot(self._error(early), self._error(late))
        allowed = self.z * error + self.tolerance * max(abs(early.mean()), abs(late.mean()))
        return bool(abs(late.mean() - early.mean()) <= allowed)

    def _error(self, series: np.ndarray) -> float:
        means = [part.mean() for part in np.array_split(series, self.batches)]
        return float(np.std(means, ddof=1) / np.sqrt(self.batches))
