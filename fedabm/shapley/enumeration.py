"""Shapley values by looking at every coalition: the definition itself, for few owners.

phi_i = sum_{X without i} |X|! (n - |X| - 1)! / n! (A(X + i) - A(X))         Murhekar et al. 2025, eq. (3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from fedabm.common.rowwise import weighted_sum
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.shapley.worth import worth

__all__ = ["MOST_OWNERS", "EveryCoalition", "marginals", "of_values", "potential", "shares"]

#: 2^16 coalitions are still a matter of a second
MOST_OWNERS = 16


def shares(accuracy: Accuracy, profile: Array) -> Array:
    """phi_i from the worth of all 2^n coalitions, at one profile (n,) or many (..., n).

    Weighted gains are added, as in the definition, so that an owner without data has a share of exactly zero.
    """
    owners = profile.shape[-1]
    return of_values(worth(accuracy, _members(owners) * profile[..., None, :]))


def of_values(values: Array) -> Array:
    """phi_i (..., n) from the values (..., 2^n) of all coalitions, in the order of their codes."""
    owners = values.shape[-1].bit_length() - 1
    chances, without = EveryCoalition(owners).weights, _without(owners, np.arange(owners))
    gains = (values[..., codes | 1 << owner] - values[..., codes] for owner, codes in enumerate(without))
    return np.stack([weighted_sum(gain, chances) for gain in gains], axis=-1)


def marginals(accuracy: Accuracy, profile: Array, slopes: Callable[[], Array]) -> Array:
    """d phi_i / d s_i: exact for a curve of exposures, else what `slopes` finds by differences."""
    exposure = accuracy.as_exposure()
    if exposure is None:
        return slopes()
    members = _members(len(profile))
    weight = members * _entering(len(profile))[np.maximum(members.sum(axis=1) - 1, 0)][:, None]
    steep = exposure.curve_slope(exposure.exposures(members * profile))
    return (weight * (steep @ exposure.weight_matrix(len(profile)))).sum(axis=0)


def potential(accuracy: Accuracy, profile: Array) -> float:
    """P = sum_X (|X| - 1)! (n - |X|)! / n! (A(X) - A(nobody)).  Hart and Mas-Colell 1989, eq. (2.6)."""
    owners = len(profile)
    members = _members(owners)
    gained = worth(accuracy, members * profile)
    sizes = members.sum(axis=1)[1:]
    return float(np.sum((gained[1:] - gained[0]) / (sizes * comb(owners, sizes))))


@dataclass(frozen=True)
class EveryCoalition:
    """For each owner all coalitions of the others, with the chance that exactly these come before it."""

    owners: int
    drawn = False

    @property
    def weights(self) -> Array:
        """The chance of each coalition, (2^(n-1),)."""
        return _entering(self.owners)[_members(self.owners - 1).sum(axis=1)]

    def before(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Who is in each coalition, (rows, 2^(n-1), n); never the owner of the row itself."""
        return (_without(self.owners, rows)[:, :, None] >> np.arange(self.owners)) & 1 == 1


def _members(owners: int) -> NDArray[np.bool_]:
    """All coalitions, (2^n, n)."""
    return (np.arange(2**owners)[:, None] >> np.arange(owners)) & 1 == 1


def _without(owners: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each owner in `rows` the places in `_members` of the coalitions it is not in, (rows, 2^(n-1))."""
    code, row = np.arange(2 ** (owners - 1))[None, :], rows[:, None]
    return (code & ((1 << row) - 1)) | ((code >> row) << (row + 1))


def _entering(owners: int) -> Array:
    """k! (n - k - 1)! / n!: the chance that a given coalition of k others comes before a given owner."""
    return 1.0 / (owners * comb(owners - 1, np.arange(owners)))
