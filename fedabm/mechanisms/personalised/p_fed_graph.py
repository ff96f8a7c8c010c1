"""A learned collaboration graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import LARGEST_RATE, check_number, check_positive, check_range
from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.views import Exchange, Flags, LocalTask, Sent

__all__ = ["PFedGraph", "on_simplex"]


@dataclass(frozen=True)
class PFedGraph(Personalised):
    """Owner i mixes models by weights that are near the shares of data and favour models that went the same way.

        min_x  alpha |x - p|^2 - sum_j x_j cos_ij    on the simplex,    i.e. x = projection of p + cos_i / (2 alpha)

    with p_j the share of the data claimed and cos_ij the cosine of (w_i - w^0) and (w_j - w^0); all began with w^0.
    Cosines above `threshold` count as 1.  Owners start from the mixture and are held to it by
    strength / 2 |w - mixture|^2.  Ye et al. 2023 (pFedGraph); alpha, strength and `threshold` are those of the authors'
    code, which holds owners by a cosine instead of a distance.

    Parameters
    ----------
    alpha : float, optional
        How much the shares of data count against similarity.
    strength : float, optional
        The weight of the pull to the mixture.
    threshold : float, optional
        Cosines above this count as 1.
    """

    alpha: float = field(default=0.8, metadata=within(0.01, 10.0, log=True))
    strength: float = field(default=0.01, metadata=within(1e-4, 1.0, log=True))
    threshold: float = field(default=0.9, metadata=within(0.0, 1.0))

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)
        check_number("strength", self.strength, zero=True, most=LARGEST_RATE)
        check_range("threshold", self.threshold, -1.0, 1.0)

    def exchange(self, sent: Sent) -> Exchange:
        """The mixture, as start and as centre."""
        weights = self.weights(sent)
        mixture = sent.mix(weights)
        return Exchange(LocalTask(mixture, mixture, self.strength), weights)

    def weights(self, sent: Sent) -> Array:
        """The graph, (n, n); models that are not usable are left out, but for their own owners."""
        found = sent.cosines("initial")
        found = np.where(found > self.threshold, 1.0, found)
        allowed = np.eye(len(found), dtype=bool) | sent.usable
        size = np.where(allowed, sent.size / max(float(np.max(sent.size)), 1e-300), 0.0)
        prior = size / np.maximum(size.sum(axis=1, keepdims=True), 1e-300)
        return on_simplex(prior + found / (2.0 * self.alpha), allowed)


def on_simplex(points: Array, allowed: Flags) -> Array:
    """The nearest point of the simplex to each row, exactly; entries that are not allowed are 0.

    >>> on_simplex(np.array([[0.9, 0.5, 3.0]]), np.array([[True, True, False]]))
    array([[0.7, 0.3, 0. ]])
    """
    # An entry more than 1 below the largest is always 0.
    top = np.max(np.where(allowed, points, -np.inf), axis=1, keepdims=True)
    points = np.where(allowed, points - top, -2.0)
    falling = -np.sort(-points, axis=1)
    level = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, points.shape[1] + 1)
    last = np.sum(falling > level, axis=1, keepdims=True) - 1
    return np.maximum(points - np.take_along_axis(level, last, axis=1), 0.0)
