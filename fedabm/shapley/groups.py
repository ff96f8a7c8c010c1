"""The groups of owners that learn from everybody's data in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.accuracy.power_law import GroupWeighted
from fedabm.games.curves import Array

__all__ = ["Groups", "exposure_groups", "has_groups", "is_total"]


@dataclass(frozen=True)
class Groups:
    """`patterns[g, j]` is what a unit of owner j's data is worth to each of the `counts[g]` owners of group g."""

    patterns: Array
    counts: Array


def is_total(accuracy: Accuracy) -> TypeGuard[Exposure]:
    """Whether everyone's accuracy is the same function of the total contribution."""
    return isinstance(accuracy, Exposure) and type(accuracy).exposures is Exposure.exposures


def has_groups(accuracy: Accuracy) -> TypeGuard[Exposure]:
    """Whether accuracies are one curve of few different exposures, so that the sum of all accuracies is cheap."""
    return is_total(accuracy) or isinstance(accuracy, GroupWeighted)


def exposure_groups(accuracy: Exposure, owners: int) -> Groups:
    """The distinct rows of the weight matrix and how often each occurs."""
    if not isinstance(accuracy, GroupWeighted):
        return Groups(np.ones((1, owners)), np.array([float(owners)]))
    counts = np.bincount(accuracy.members, minlength=len(accuracy.table)).astype(float)
    return Groups(accuracy.table[counts > 0][:, accuracy.members], counts[counts > 0])
