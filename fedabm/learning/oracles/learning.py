"""Accuracy of the one model that a federation trains while its owners decide, round by round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import check_seed
from fedabm.common.table import Table
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Line
from fedabm.games.sending import Effort, Sending
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.answers import Standing
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.base import Memory
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round

__all__ = ["Learning"]


@dataclass(frozen=True, eq=False, repr=False)
class Learning(Accuracy):
    """a_i: what the server's present model is worth on owner i's test part; each step of a run is one round.

    The present model does not depend on what an owner might contribute instead.  What owners and mechanism reckon with
    is `announced`, for instance a measured `Curve` or a fitted closed form (Murhekar et al. 2023, Section 5.1); without
    one they see that contributing changes nothing at once.

    Local training uses true contributions, the server's mixing those claimed.  early=True trains on the contributions
    from before the owners decided, so that weights and contributions move together (Doshi et al. 2025, Algorithm 1).
    After `rounds` rounds (None: without end) the model is final.  Without a `seed` of its own, initial model and
    mini-batches follow from the seed of the run.  `memory` is what the recipe's rule remembers of the rounds so far.
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    announced: Accuracy | None = None
    measure: Measure = field(default_factory=Measure)
    seed: int | None = None
    early: bool = False
    rounds: int | None = None
    round: int = 0
    model: Tensor | None = None
    memory: Memory | None = None
    #: nothing changes with the own contribution
    concave = True
    monotone = True

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)
        if self.rounds is not None:
            check_whole("rounds", self.rounds, 0)
        if self.announced is not None and not isinstance(self.announced, Accuracy):
            raise InputError(f"announced must be an accuracy, got {self.announced!r}; give for instance a Curve")
        if (width := getattr(self.announced, "owners", None)) not in (None, self.owners):
            raise InputError(f"{self.owners} owners but an announced accuracy for {width}; give the same number")

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, {self.recipe}, announced={self.announced}"
        return f"Learning({what}, seed={self.seed}, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    @cached_property
    def weights(self) -> Tensor:
        """The server's present model, (P,)."""
        return self.engine.initial(self.seed or 0) if self.model is None else self.model

    @cached_property
    def _standing(self) -> Standing:
        """What the present model is worth to everybody."""
        return Standing(Table(self.measure.of(self.engine, self.weights)[0]))

    @property
    def public(self) -> Accuracy:
        """What is announced, or else what the present model is worth; the model and the data stay here."""
        return self._standing if self.announced is None else self.announced.public

    def seeded(self, seed: int) -> Learning:
        """With the run's seed, unless it has its own."""
        return self if self.seed is not None else replace(self, seed=seed, model=self.model if self.round else None)

    def values(self, profiles: Array) -> Array:
        """What the present model is worth, whatever the profile, (k, n)."""
        return self._standing.values(profiles)

    def curves(self, profile: Array) -> Line:
        """The same for every own contribution."""
        return self._standing.curves(profile)

    def marginals(self, profile: Array) -> Array:
        """None."""
        return self._standing.marginals(profile)

    def advance(self, profile: Array) -> Learning:
        """One honest round on these contributions."""
        effort = Effort(np.asarray(profile, dtype=float), np.asarray(profile, dtype=float))
        return self.train(Sending(effort, effort))[0]

    def train(self, sending: Sending) -> tuple[Learning, NDArray[np.bool_]]:
        """One round; itself if nobody takes part, and whose update was dropped."""
        used, claimed = sending.before if self.early else sending.now
        nothing = not np.any(self.engine.data.counts(used)) and not sending.tampering
        if nothing or (self.rounds is not None and self.round >= self.rounds):
            return self, np.zeros(self.owners, dtype=bool)
        how = (self.recipe, self.seed or 0, self.round)
        done = one_round(self.engine, self.weights, used, *how, claimed, sending.tampering, self.memory)
        after = replace(self, model=done.model, memory=done.memory, round=self.round + 1)
        return after, ~done.sound.cpu().numpy()
