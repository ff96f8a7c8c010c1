"""Adagrad on the server."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedabm.learning.rules.server_optimiser import ServerOptimiser

__all__ = ["FedAdagrad"]


@dataclass(frozen=True)
class FedAdagrad(ServerOptimiser):
    """A server optimiser that forgets nothing: v <- v + d^2.  Reddi et al. 2021, Algorithm 2.

    Their experiments have no momentum here (beta_1 = 0); beta_2 is not used.

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

    betas: tuple[float, float] = (0.0, 0.0)

    def spread(self, second: Tensor, square: Tensor) -> Tensor:
        return second + square
