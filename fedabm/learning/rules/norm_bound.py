"""No update counts for more than a length."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.learning.rules.base import Received
from fedabm.learning.rules.detectors import Detector, present

__all__ = ["NormBound"]


@dataclass(frozen=True)
class NormBound(Detector):
    """The mean of the updates, each cut down to `factor` times the median length.

        u_i <- u_i * min(1, bound / |u_i|),      bound = factor * median_j |u_j|

    Sun et al. 2019, Section 4.1, with a bound that follows honest updates.  It stops what must be long to work, such as
    scaled updates.  What it does not find: attacks of honest length, such as flipped signs or a little that is enough.

    Parameters
    ----------
    factor : float, optional
        The longest update allowed, as a multiple of the median length.
    """

    factor: float = field(default=1.5, metadata=within(0.5, 5.0))

    def __post_init__(self) -> None:
        check_number("factor of the median length", self.factor)

    def trust(self, received: Received) -> Tensor:
        """How much of each update is left, (n,)."""
        sent = torch.where(received.usable.unsqueeze(1), received.updates, 0.0).double()
        lengths = sent.norm(dim=1)
        bound = self.factor * torch.where(present(received), lengths, torch.nan).nanquantile(0.5)
        return (bound / lengths.clamp_min(1e-12)).clamp_max(1.0).nan_to_num(1.0)

    def mean_of(self, received: Received, trust: Tensor) -> Tensor:
        """All count alike, as long as they may be."""
        cut = received.updates * trust.to(received.updates).unsqueeze(1)
        return super().mean_of(replace(received, sent=cut), torch.ones_like(trust))
