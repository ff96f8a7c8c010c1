"""The point with the least sum of distances."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedabm.common.errors import check_positive, check_whole
from fedabm.learning.rules.aggregate import Rows, aggregate, inner_products, squared_distances
from fedabm.learning.rules.base import Robust

__all__ = ["GeometricMedian"]


@dataclass(frozen=True)
class GeometricMedian(Robust):
    """The v with the least sum_i |v - u_i|, by `iterations` of the smoothed Weiszfeld algorithm.

        v <- sum_i b_i u_i / sum_i b_i,      b_i = 1 / max(|v - u_i|, smoothing)

    Pillutla et al. 2022 (Robust aggregation for federated learning), Algorithm 2.  Every v is a mean of updates, so
    that its weights and the inner products of updates are all that is needed, and iterations cost nothing beside those.

    Parameters
    ----------
    iterations : int, optional
        Steps of the Weiszfeld algorithm.
    smoothing : float, optional
        The least distance that weights are taken of.
    """

    iterations: int = 100
    smoothing: float = 1e-6

    def __post_init__(self) -> None:
        check_whole("iterations", self.iterations)
        check_positive("smoothing", self.smoothing)

    def centre(self, rows: Rows, usable: Tensor) -> Tensor:
        products = inner_products(rows, usable)
        apart = squared_distances(products, usable)
        # Begins near those that are near to half of the others, so that far outliers do not cost many iterations.
        place = (usable.sum() // 2).clamp(0, len(rows) - 1).view(1)
        weights = self._weights(apart.sort(dim=1).values.index_select(1, place)[:, 0], usable)
        for _ in range(self.iterations):
            along = products @ weights  # v . u_i
            weights = self._weights(products.diagonal() - 2.0 * along + weights @ along, usable)
        return aggregate(weights.unsqueeze(0), rows, usable)[0]

    def _weights(self, squared: Tensor, usable: Tensor) -> Tensor:
        """b_i / sum b_i, (m,); 0 for rows that are not usable."""
        raw = torch.where(usable, 1.0 / squared.clamp_min(self.smoothing**2).sqrt(), 0.0)
        return raw / raw.sum().clamp_min(torch.finfo(raw.dtype).tiny)
