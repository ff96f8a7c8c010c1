"""Owners whose updates have always been alike are taken for one."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedabm.common.bounds import within
from fedabm.common.errors import check_number
from fedabm.learning.rules.base import Memory, Received, Step
from fedabm.learning.rules.detectors import Detector, present

__all__ = ["FoolsGold"]


@dataclass(frozen=True)
class FoolsGold(Detector):
    """Trust falls with the largest cosine between the sums of an owner's and anybody else's updates so far.

        v_i = max_j cs_ij,  cs_ij <- cs_ij v_i / v_j where v_i < v_j,  a_i = 1 - max_j cs_ij, divided by the largest,
        a_i <- clip(confidence * (ln(a_i / (1 - a_i)) + 0.5), 0, 1)

    Fung et al. 2020, Algorithm 1, with all parameters as features.  What it does not find: a single attacker, of whose
    kind there is no other; and owners whose data are alike are alike themselves, so that honest ones are caught.  Where
    nobody at all is trusted all count alike.

    Parameters
    ----------
    confidence : float, optional
        How sharply trust falls with likeness.
    """

    confidence: float = field(default=1.0, metadata=within(0.1, 10.0, log=True))
    of_updates = False

    def __post_init__(self) -> None:
        check_number("confidence", self.confidence)

    def begin(self, start: Tensor, owners: int) -> Memory:
        """Nothing sent yet, (n, P)."""
        return (torch.zeros(owners, len(start), dtype=start.dtype, device=start.device),)

    def step(self, received: Received, memory: Memory) -> Step:
        summed = memory[0] + torch.where(received.usable.unsqueeze(1), received.updates, 0.0)
        return Step(self.mean_of(received, self._trust(summed, present(received))), (summed,))

    def trust(self, received: Received) -> Tensor:
        """By the updates of this round alone."""
        sent = torch.where(received.usable.unsqueeze(1), received.updates, 0.0)
        return self._trust(sent, present(received))

    def _trust(self, summed: Tensor, there: Tensor) -> Tensor:
        rows = torch.nn.functional.normalize(summed.double(), dim=1)
        others = there.unsqueeze(0) & ~torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        alike = torch.where(others, rows @ rows.T, -1.0)
        largest = alike.max(dim=1).values.clamp_min(1e-12)
        pardon = (largest.unsqueeze(1) / largest.unsqueeze(0)).clamp_max(1.0)
        nearest = torch.where(others, alike * pardon, -1.0).max(dim=1).values
        alone = torch.where(there, (1.0 - nearest).clamp(0.0, 1.0), 0.0)
        alone = (alone / alone.max().clamp_min(1e-12)).clamp(1e-6, 1.0 - 1e-6)
        return (self.confidence * (torch.log(alone / (1.0 - alone)) + 0.5)).clamp(0.0, 1.0)
