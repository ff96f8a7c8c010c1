"""Adam on the server."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedabm.learning.rules.server_optimiser import ServerOptimiser

__all__ = ["FedAdam"]


@dataclass(frozen=True)
class FedAdam(ServerOptimiser):
    """A server optimiser that forgets: v <- beta_2 v + (1 - beta_2) d^2.  Reddi et al. 2021, Algorithm 2.

    Parameters
    ----------
    rate : float, optional
        Step size of the server.
    betas : tuple[float, float], optional
        How much of the past the two moving means keep, each in [0, 1).
    floor : float, optional
        Added to the root of v, so that steps stay bounded: tau in the paper.
    inner : Rule, optional
        The rule whose change the server's optimiser takes for a gradient.
    """

    def spread(self, second: Tensor, square: Tensor) -> Tensor:
        return self.betas[1] * second + (1.0 - self.betas[1]) * square
