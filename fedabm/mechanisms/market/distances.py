"""How far apart models are.

d_ij = 1 - cosine of (theta_i - theta^0) and (theta_j - theta^0) with theta^0 the initial model, or the squared
Euclidean distance.  The proximal centre of owner i is one gradient step on the weighted distances to its imports,
theta_i - step sum_j a_ij (N_j / N_i) grad d(theta_i, theta_j).  iPFL 2025, eq. (6).  With moves m_i = theta_i - theta^0
all of this follows from the inner products m_i m_j, so that no model is needed here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_positive
from fedabm.games.curves import Array
from fedabm.views import Flags

__all__ = ["CosineDistance", "Distance", "EuclideanDistance", "cluster_distances", "import_weights"]


class Distance(ABC):
    """A differentiable distance of models by their inner products, each relative to the initial model theta^0."""

    @abstractmethod
    def between(self, products: Array) -> Array:
        """d(i, j) of every pair, (n, n)."""

    @abstractmethod
    def pull(self, products: Array, weights: Array) -> Array:
        """Coefficients c (n, n) of the direction in which the weighted distances of each owner fall.

        sum_j c_ij (theta_j - theta^0) = -sum_j w_ij grad_i d(i, j)
        """


@dataclass(frozen=True)
class CosineDistance(Distance):
    """1 - cosine; a model that has not moved has distance 1 from all others.

    -grad_i d_ij = (u_j - cos_ij u_i) / |m_i| with u_i = m_i / |m_i|
    """

    def between(self, products: Array) -> Array:
        found = np.clip(1.0 - _over(products, _lengths(products)), 0.0, 2.0)
        np.fill_diagonal(found, 0.0)
        return found

    def pull(self, products: Array, weights: Array) -> Array:
        lengths = _lengths(products)
        towards_itself = np.sum(weights * _over(products, lengths), axis=1)
        return _over(weights - np.diag(towards_itself), lengths)


@dataclass(frozen=True)
class EuclideanDistance(Distance):
    """The squared Euclidean distance; -grad_i d_ij = 2 (m_j - m_i)."""

    def between(self, products: Array) -> Array:
        squares = np.diagonal(products)
        found = np.maximum(squares[:, None] + squares - 2.0 * products, 0.0)
        np.fill_diagonal(found, 0.0)
        return found

    def pull(self, products: Array, weights: Array) -> Array:
        return 2.0 * (weights - np.diag(weights.sum(axis=1)))


def import_weights(adjacency: Flags, sizes: Array) -> Array:
    """a_ij N_j / N_i: how strongly i is drawn to j's model."""
    return adjacency * (sizes / sizes[:, None])


def cluster_distances(groups: Sequence[int], within: float, between: float, outcasts: Sequence[int] = ()) -> Array:
    """Made-up distances of owners in groups; `outcasts` are at distance 1 from everybody, as random models are.

    >>> cluster_distances([0, 0, 1], 0.1, 0.8)
    array([[0. , 0.1, 0.8],
           [0.1, 0. , 0.8],
           [0.8, 0.8, 0. ]])

    Parameters
    ----------
    groups : Sequence[int]
        The group of each owner.
    within : float
        Distance inside a group.
    between : float
        Distance of different groups.
    outcasts : Sequence[int], optional
        Owners whose models are far from everybody's.

    Returns
    -------
    Array
        Shape (owners, owners).
    """
    check_positive("distances", [within, between], zero=True)
    found = np.where(np.equal.outer(groups, groups), within, between).astype(float)
    found[list(outcasts)], found[:, list(outcasts)] = 1.0, 1.0
    np.fill_diagonal(found, 0.0)
    return found


def _lengths(products: Array) -> Array:
    """|m_i|."""
    return np.sqrt(np.diagonal(products))


def _over(table: Array, lengths: Array) -> Array:
    """table_ij / (|m_i| |m_j|), 0 where a model has not moved."""
    scale = np.outer(lengths, lengths)
    return np.divide(table, scale, out=np.zeros_like(table), where=scale > 0)
