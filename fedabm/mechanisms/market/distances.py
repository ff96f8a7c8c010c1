"""How far apart models are, and the centre towards which an owner trains.

d_ij = 1 - cosine of (theta_i - theta^0) and (theta_j - theta^0) with theta^0 the initial model, or the squared
Euclidean distance.  The proximal centre of owner i is one gradient step on the weighted distances to its imports,
theta_i - step sum_j a_ij (N_j / N_i) grad d(theta_i, theta_j).  iPFL 2025, eq. (6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import InputError, check_positive
from fedabm.games.curves import Array
from fedabm.views import Flags

__all__ = ["Cosine", "Distance", "Euclidean", "cluster_distances", "import_weights", "proximal_centres"]


class Distance(ABC):
    """A differentiable distance of models, given as rows relative to the initial model."""

    def between(self, models: Array, initial: Array) -> Array:
        """The distance of every pair of rows; not a number where a model is not finite."""
        moved = models - initial
        usable = _finite(moved)
        found = self._pairs(np.where(usable[:, None], moved, 0.0))
        found[~usable], found[:, ~usable] = np.nan, np.nan
        return found

    @abstractmethod
    def _pairs(self, moved: Array) -> Array:
        """All pairs of rows, which are finite."""

    @abstractmethod
    def pull(self, moved: Array, weights: Array) -> Array:
        """-sum_j w_ij grad_i d(i, j): the direction in which the distances of row i fall."""


@dataclass(frozen=True)
class Cosine(Distance):
    """1 - cosine; a model that has not moved has distance 1 from all others."""

    def _pairs(self, moved: Array) -> Array:
        units, _ = _units(moved)
        found = np.clip(1.0 - units @ units.T, 0.0, 2.0)
        np.fill_diagonal(found, 0.0)
        return found

    def pull(self, moved: Array, weights: Array) -> Array:
        units, lengths = _units(moved)
        cosines = np.sum(weights * (units @ units.T), axis=1)
        pulled = weights @ units - cosines[:, None] * units
        return np.divide(pulled, lengths[:, None], out=np.zeros_like(pulled), where=lengths[:, None] > 0)


@dataclass(frozen=True)
class Euclidean(Distance):
    """The squared Euclidean distance."""

    def _pairs(self, moved: Array) -> Array:
        squares = np.sum(moved**2, axis=1)
        found = np.maximum(squares[:, None] + squares - 2.0 * (moved @ moved.T), 0.0)
        np.fill_diagonal(found, 0.0)
        return found

    def pull(self, moved: Array, weights: Array) -> Array:
        return 2.0 * (weights @ moved - weights.sum(axis=1)[:, None] * moved)


def import_weights(adjacency: Flags, sizes: Array) -> Array:
    """a_ij N_j / N_i: how strongly i is drawn to j's model."""
    return adjacency * (sizes / sizes[:, None])


def proximal_centres(models: Array, initial: Array, weights: Array, step: float, distance: Distance) -> Array:
    """The centre of every owner; unusable models, which nobody may import, stay out of every sum."""
    moved = models - initial
    usable = _finite(moved)
    if np.any(weights[:, ~usable]):
        raise InputError("a model that is not finite is imported; let the market select, it refuses such models")
    moved = np.where(usable[:, None], moved, 0.0)
    return models + step * distance.pull(moved, weights)


def cluster_distances(groups: Sequence[int], within: float, between: float, outcasts: Sequence[int] = ()) -> Array:
    """Made-up distances of owners in groups; `outcasts` are at distance 1 from everybody, as random models are.

    >>> cluster_distances([0, 0, 1], 0.1, 0.8)
    array([[0. , 0.1, 0.8],
           [0.1, 0. , 0.8],
           [0.8, 0.8, 0. ]])
    """
    check_positive("distances", [within, between], zero=True)
    found = np.where(np.equal.outer(groups, groups), within, between).astype(float)
    found[list(outcasts)], found[:, list(outcasts)] = 1.0, 1.0
    np.fill_diagonal(found, 0.0)
    return found


def _finite(moved: Array) -> Flags:
    return np.asarray(np.all(np.isfinite(moved), axis=1))


def _units(moved: Array) -> tuple[Array, Array]:
    """Rows of length one (or zero), and the lengths."""
    lengths = np.linalg.norm(moved, axis=1)
    return np.divide(moved, lengths[:, None], out=np.zeros_like(moved), where=lengths[:, None] > 0), lengths
