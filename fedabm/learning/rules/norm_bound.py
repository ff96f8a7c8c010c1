"""No update counts for more than a length, or counts at all beyond it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.learning.rules.base import Memory, Received, Step
from fedabm.learning.rules.detectors import Detector, present

__all__ = ["NormBound"]


@dataclass(frozen=True)
class NormBound(Detector):
    """The mean of the updates, each cut down to `factor` times the median length, or refused if it `refuses`.

        u_i <- u_i * min(1, bound / |u_i|),      bound = factor * median_j |u_j|

    Sun et al. 2019, Section 4.1, with a bound that follows honest updates.  They begin with a server that ignores what
    is too long, and cut it down instead because an attacker that knows the bound stays within it; one that does not
    learns it from what is rejected (`AdaptiveAttacker`).  It stops what must be long to work, such as scaled updates.
    What it does not find: attacks of honest length, such as flipped signs or a little that is enough.

    Parameters
    ----------
    factor : float, optional
        The longest update allowed, as a multiple of the median length.
    refuses : bool, optional
        Whether longer updates are dropped, and their owners told so, instead of cut down.
    """

    factor: float = field(default=1.5, metadata=within(0.5, 5.0))
    refuses: bool = False

    def __post_init__(self) -> None:
        check_number("factor of the median length", self.factor)

    def step(self, received: Received, memory: Memory) -> Step:
        trust = self.trust(received)
        return Step(self.mean_of(received, trust), memory, trust == 0.0 if self.refuses else None)

    def trust(self, received: Received) -> Tensor:
        """How much of each update is left, (n,)."""
        sent = torch.where(received.usable.unsqueeze(1), received.updates, 0.0).double()
        lengths = sent.norm(dim=1)
        bound = self.factor * torch.where(present(received), lengths, torch.nan).nanquantile(0.5)
        left = (bound / lengths.clamp_min(1e-12)).clamp_max(1.0).nan_to_num(1.0)
        return (left >= 1.0).to(left) if self.refuses else left

    def mean_of(self, received: Received, trust: Tensor) -> Tensor:
        """All that are not refused count alike, as long as they may be."""
        if self.refuses:
            return super().mean_of(received, trust)
        cut = received.updates * trust.to(received.updates).unsqueeze(1)
        return super().mean_of(replace(received, sent=cut), torch.ones_like(trust))
