"""How owners train in one round, and by which rule the server learns from what they send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_positive
from fedabm.common.timing import timed
from fedabm.learning.engine.batches import Plan
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Optimiser
from fedabm.learning.engine.training import Proximal

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """How owners train in one round and how the server mixes their updates.

    epochs, steps  how long to train: one of them (neither: one epoch)
    proximal       weight of FedProx's term that holds owners to the server's model (Li et al. 2020); 0: FedAvg
    weighting      "data": updates count by claimed contribution; "equal": all alike
    """

    epochs: int | None = None
    steps: int | None = None
    batch: int = 10
    optimiser: Optimiser = field(default_factory=lambda: SGD(0.1))
    proximal: float = 0.0
    server_rate: float = 1.0
    weighting: str = "data"

    def __post_init__(self) -> None:
        if self.epochs is None and self.steps is None:
            object.__setattr__(self, "epochs", 1)
        Plan(self.batch, self.epochs, self.steps)
        if not isinstance(self.optimiser, Optimiser):
            raise InputError(f"optimiser must be SGD or Adam, got {self.optimiser!r}; for instance SGD(0.1)")
        check_positive("proximal", self.proximal, zero=True)
        check_positive("server_rate", self.server_rate)
        if self.weighting not in ("data", "equal"):
            raise InputError(f"weighting must be data or equal, got {self.weighting!r}; choose one of them")

    @timed("training")
    def train(self, engine: Engine, start: Tensor, contributions: np.ndarray, seed: int, round: int) -> Tensor:
        """Everybody's update (n, P), zero for owners without data."""
        who = np.flatnonzero(engine.data.counts(contributions))
        held = Proximal(self.proximal, start) if self.proximal else None
        how: dict[str, Any] = {"epochs": self.epochs, "steps": self.steps, "batch": self.batch, "proximal": held}
        how |= {"optimiser": self.optimiser, "seed": seed, "round": round}
        moved = engine.train(start, contributions[who], owners=who, **how).sub_(start)
        if len(who) == engine.data.owners:
            return moved
        updates = torch.zeros(engine.data.owners, engine.size, device=engine.device)
        return updates.index_copy_(0, torch.from_numpy(who).to(engine.device), moved)
