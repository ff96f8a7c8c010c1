"""Adam on the server."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedabm.learning.rules.server_optimiser import ServerOptimiser

__all__ = ["FedAdam"]


@dataclass(frozen=True)
class FedAdam(ServerOptimiser):
    """A server optimiser that forgets: v <- beta_2 v + (1 - beta_2) d^2.  Reddi et al. 2021, Algorithm 2."""

    def spread(self, second: Tensor, square: Tensor) -> Tensor:
        return self.betas[1] * second + (1.0 - self.betas[1]) * square
