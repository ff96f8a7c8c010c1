"""Updates that somebody else has sent as well count once."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedabm.common.bounds import within
from fedabm.common.errors import check_range
from fedabm.learning.rules.base import Received
from fedabm.learning.rules.detectors import Detector, present

__all__ = ["NoDuplicates"]


@dataclass(frozen=True)
class NoDuplicates(Detector):
    """The mean of the updates, those that lie near to each other counting as one, relative to their lengths.

        i and j are duplicates if |u_i - u_j| <= near * max(|u_i|, |u_j|);  k of them count 1 / k each

    Nobody can tell who copied whom, so that all of them are trusted less.  What it does not find: a copy with noise of
    more than `near` times its length.

    Parameters
    ----------
    near : float, optional
        Updates nearer than this, relative to their lengths, count as copies.
    """

    near: float = field(default=0.05, metadata=within(1e-3, 0.5, log=True))

    def __post_init__(self) -> None:
        check_range("near", self.near, 0.0, 1.0)

    def trust(self, received: Received) -> Tensor:
        """1 / k for whoever is one of k that are alike, (n,)."""
        sent = torch.where(received.usable.unsqueeze(1), received.updates, 0.0).double()
        lengths = sent.norm(dim=1)
        apart = torch.cdist(sent, sent, compute_mode="donot_use_mm_for_euclid_dist")
        near = apart <= self.near * torch.maximum(lengths.unsqueeze(0), lengths.unsqueeze(1))
        near = near & present(received).unsqueeze(0) & ~torch.eye(len(near), dtype=torch.bool, device=near.device)
        return 1.0 / (1.0 + near.double().sum(dim=1))
