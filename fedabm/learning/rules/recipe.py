"""How owners train in one round, and by which rule the shared model is learned from what they send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import InputError, check_kind
from fedabm.common.timing import timed
from fedabm.games.curves import Array
from fedabm.learning.engine.augment import CropAndFlip
from fedabm.learning.engine.batches import TrainingLength
from fedabm.learning.engine.elsewhere import RowsElsewhere
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Optimiser, RateSchedule
from fedabm.learning.rules.aggregate import Rows, screen
from fedabm.learning.rules.base import Memory, Received, Rule
from fedabm.learning.rules.fed_avg import FedAvg

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """How owners train in one round and how the server learns from their updates.

    Parameters
    ----------
    epochs : int | None, optional
        How long to train: one of them (neither: one epoch).
    steps : int | None, optional
        How long to train: one of them (neither: one epoch).
    batch : int, optional
        Samples of a mini-batch.
    optimiser : Optimiser, optional
        How owners take steps.
    rule : Rule, optional
        How the server's model changes; see `fedabm.learning.rules`.
    augment : CropAndFlip | None, optional
        How images are changed at random whenever they are seen; None: not at all.
    schedule : CosineSchedule | None, optional
        How the optimiser's rate falls from round to round; None: not at all.
    """

    epochs: int | None = None
    steps: int | None = None
    batch: int = 10
    optimiser: Optimiser = field(default_factory=lambda: SGD(0.1))
    rule: Rule = field(default_factory=FedAvg)
    augment: CropAndFlip | None = None
    schedule: RateSchedule | None = None

    def __post_init__(self) -> None:
        if self.epochs is None and self.steps is None:
            object.__setattr__(self, "epochs", 1)
        TrainingLength(self.batch, self.epochs, self.steps)
        if not isinstance(self.optimiser, Optimiser):
            raise InputError(f"optimiser must be SGD or Adam, got {self.optimiser!r}; for instance SGD(0.1)")
        check_kind("rule", self.rule, Rule)
        if self.augment is not None:
            check_kind("augment", self.augment, CropAndFlip)
        if self.schedule is not None:
            check_kind("schedule", self.schedule, RateSchedule)
        if self.rule.plain_descent and self.optimiser.fused_rate is None:
            name = type(self.rule).__name__
            raise InputError(f"{name} needs plain local descent, got {self.optimiser}; use SGD(rate) without momentum")

    def optimiser_in(self, round: int) -> Optimiser:
        """What owners train with in a round, counted from 0."""
        return self.optimiser if self.schedule is None else self.schedule.at(self.optimiser, round)

    @timed("training")
    def train(
        self, engine: Engine, start: Tensor, contributions: Array, seed: int, round: int, memory: Memory | None = None
    ) -> Tensor:
        """Everybody's update (n, P), zero for owners without data; `memory` is the rule's (None: it begins)."""
        who, how = self._how(engine, start, contributions, seed, round, memory)
        moved = engine.train(start, contributions[who], owners=who, **how).sub_(start)
        if len(who) == engine.data.owners:
            return moved
        updates = torch.zeros(engine.data.owners, engine.size, device=engine.device)
        return updates.index_copy_(0, torch.from_numpy(who).to(engine.device), moved)

    @timed("training")
    def spread(
        self,
        engine: Engine,
        start: Tensor,
        contributions: Array,
        seed: int,
        round: int,
        memory: Memory | None = None,
        claimed: Array | None = None,
    ) -> RowsElsewhere:
        """The same, but updates stay with the workers; knowing what is `claimed` they need not keep them."""
        who, how = self._how(engine, start, contributions, seed, round, memory)
        weights = (
            None if claimed is None else self.rule.summed_by(claimed, self._steps(engine.data.counts(contributions)))
        )
        return engine.spread(start, contributions[who], owners=who, weights=weights, **how)

    def _how(
        self, engine: Engine, start: Tensor, contributions: Array, seed: int, round: int, memory: Memory | None
    ) -> tuple[NDArray[np.intp], dict[str, Any]]:
        """Who trains, and how."""
        who = np.flatnonzero(engine.data.counts(contributions))
        rows = torch.from_numpy(who).to(engine.device)
        everybody = len(who) == engine.data.owners
        known = self.rule.begin(start, engine.data.owners) if memory is None else memory
        added = self.rule.local(start, known)
        drift = added.drift if added.drift is None or everybody else added.drift.index_select(0, rows)
        how: dict[str, Any] = {"epochs": self.epochs, "steps": self.steps, "batch": self.batch}
        how |= {"proximal": added.proximal, "drift": drift, "optimiser": self.optimiser_in(round)}
        how |= {"seed": seed, "round": round, "augment": self.augment}
        return who, how

    def _steps(self, counts: Array) -> Array:
        """How many local steps owners take on this many samples."""
        return TrainingLength(self.batch, self.epochs, self.steps).lengths(np.asarray(counts))

    def received(self, updates: Rows, counts: Array, claimed: Array) -> Received:
        """What reaches the server when owners trained on `counts` samples, claim others, and send these updates."""
        return Received(updates, screen(updates), claimed, self._steps(counts), self.optimiser.fused_rate)
