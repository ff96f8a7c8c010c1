"""Three owners in a ring that have no equilibrium: Murhekar et al. 2023, Theorem A.2."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.accuracy import Custom
from fedabm.games.curves import Array

__all__ = ["ring"]


def ring(epsilon: float) -> Custom:
    """The accuracies of Theorem A.2: continuous and non-decreasing, linear between two kinks but not concave."""
    if not 0 < epsilon < 1 / 16:
        raise InputError(f"epsilon must lie between 0 and 1/16, got {epsilon:g}; the proof needs that")
    return Custom(_served(epsilon), owners=3, concave=True, monotone=True, kinks=(0.5 - epsilon, 0.5 + epsilon))


def _served(epsilon: float) -> Callable[[Array], Array]:
    def accuracies(profiles: Array) -> Array:
        own = np.clip(0.5 + (profiles - 0.5) / (2.0 * epsilon), 0.0, 1.0)
        before = np.roll(own, 1, axis=1)
        return own + before - own * before

    return accuracies
