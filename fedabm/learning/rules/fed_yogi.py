"""Yogi on the server."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedabm.learning.rules.server_optimiser import ServerOptimiser

__all__ = ["FedYogi"]


@dataclass(frozen=True)
class FedYogi(ServerOptimiser):
    """A server optimiser whose v moves by no more than the last square, up or down.  Reddi et al. 2021, Algorithm 2.

    v <- v - (1 - beta_2) d^2 sign(v - d^2)
    """

    def spread(self, second: Tensor, square: Tensor) -> Tensor:
        return second - (1.0 - self.betas[1]) * square * (second - square).sign()
