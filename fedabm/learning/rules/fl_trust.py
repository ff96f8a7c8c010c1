"""One owner's own data are the yardstick for what all others send."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_whole
from fedabm.learning.rules.base import Memory, Received, Step
from fedabm.learning.rules.detectors import Detector, present

__all__ = ["FLTrust"]


@dataclass(frozen=True)
class FLTrust(Detector):
    """Updates are trusted as far as they point where the server's own data do, and are cut to that length.

        t_i = max(0, cos(u_i, u_0)),      change = sum_i t_i |u_0| u_i / |u_i| / sum_i t_i

    Cao et al. 2021, Equations 2 to 4 and Algorithm 2 with a global rate of 1.  The server's clean data are those of the
    owner `root`, whose update u_0 is the yardstick and, as theirs, not averaged itself.  It stops what is long and what
    points elsewhere.  What it does not find: whatever keeps a part of the right direction, such as updates that are
    sent on or noise beside a little of it; and honest owners whose data are unlike the server's are left out.  Where
    nobody is trusted, or no update of the root can be used, nothing is learned.

    Parameters
    ----------
    root : int, optional
        The owner whose data the server can trust, from the first one on, or from the last one back if negative.
    """

    root: int = 0

    def __post_init__(self) -> None:
        check_whole("root", self.root, -(2**31))

    def begin(self, start: Tensor, owners: int) -> Memory:
        """Nothing is remembered; the root must be an owner."""
        if not -owners <= self.root < owners:
            raise InputError(f"root must be one of {owners} owners, got {self.root}; give 0 to {owners - 1}")
        return ()

    def trust(self, received: Received) -> Tensor:
        """The cosine with the update of the root if it is positive, in the largest of the others'; of the root 1."""
        cosines = self._cosines(*self._usable(received))
        relative = cosines / cosines.max().clamp_min(1e-12)
        relative[self.root] = 1.0
        return relative

    def step(self, received: Received, memory: Memory) -> Step:
        sent, own = self._usable(received)
        trust = self._cosines(sent, own)
        lengths = sent.norm(dim=1).clamp_min(1e-12)
        change = (trust / lengths) @ sent * own.norm() / trust.sum().clamp_min(1e-12)
        return Step(change.to(received.updates), memory)

    def _usable(self, received: Received) -> tuple[Tensor, Tensor]:
        """What can be used of everybody (n, P), and of the root (1, P)."""
        sent = torch.where(present(received).unsqueeze(1), received.updates, 0.0).double()
        return sent, sent[self.root].unsqueeze(0)

    def _cosines(self, sent: Tensor, own: Tensor) -> Tensor:
        """max(0, cos(u_i, u_0)) of all but the root, whose is 0."""
        cosines = torch.nn.functional.cosine_similarity(sent, own).clamp_min(0.0)
        cosines[self.root] = 0.0
        return cosines
