"""A detector that remembers whom it has trusted, to say afterwards how well it found bad updates."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedabm.common.errors import check_kind
from fedabm.games.curves import Array
from fedabm.learning.engine.host import pull
from fedabm.learning.rules.base import LocalTerms, Memory, Received, Rule, Step
from fedabm.learning.rules.detectors import Detector
from fedabm.learning.rules.no_duplicates import NoDuplicates

__all__ = ["Watched", "trusted"]


@dataclass(frozen=True)
class Watched(Rule):
    """Learns as the `detector` does, and remembers how far it trusted the updates of each round.

    Parameters
    ----------
    detector : Detector
        The detector that is watched.
    """

    detector: Detector = field(default_factory=NoDuplicates)

    def __post_init__(self) -> None:
        check_kind("detector", self.detector, Detector)

    def begin(self, start: Tensor, owners: int) -> Memory:
        """What the detector remembers, the sum of trust, and no round yet."""
        none = torch.zeros(owners, dtype=torch.float64, device=start.device)
        return (self.detector.begin(start, owners), none, torch.zeros(1, dtype=torch.float64, device=start.device))

    def local(self, start: Tensor, memory: Memory) -> LocalTerms:
        return self.detector.local(start, memory[0])

    def step(self, received: Received, memory: Memory) -> Step:
        done = self.detector.step(received, memory[0])
        trust = torch.where(received.usable, self.detector.trust(received).double(), 0.0)
        return Step(done.change, (done.memory, memory[1] + trust, memory[2] + 1.0), done.refused)


def trusted(memory: Memory) -> Array:
    """How far each owner was trusted on average over the rounds, (n,), by what a `Watched` rule remembers."""
    return pull(memory[1] / memory[2].clamp_min(1.0))
