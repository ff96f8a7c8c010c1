"""Accuracies of coalitions from their members' updates, without training again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_whole, finite_vector
from fedabm.common.random import check_seed
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.answers import Answering, Answers
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round, shares

__all__ = ["Coalition"]


@dataclass(frozen=True, eq=False, repr=False)
class Coalition(Answering):
    """a_i(s_X): what the model mixed from the updates of the owners in X is worth to owner i, for one profile s.

        w_X = w_0 + server_rate * sum_{t < rounds} sum_{i in X} s_i / s(X) u_i^t

    Owners train along the trajectory of the whole federation, once; the model of a coalition only leaves the others'
    updates out (Song et al. 2019; with one round, the coalition models of Murhekar et al. 2025, Algorithm 1).  It is
    defined for restrictions of `profile` to coalitions, which is all that Shapley values need:

        shapley(Coalition(engine, profile), profile)

    Values are remembered, in `folder` also between runs, so that an interrupted computation goes on where it stopped.
    An update that holds NaN or infinity is in no coalition; `dropped` says whose.
    """

    engine: Engine
    profile: Array
    rounds: int = 1
    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    measure: Measure = field(default_factory=Measure)
    start: Tensor | None = None
    folder: str | Path | None = None
    dropped: np.ndarray = field(init=False)
    coalitions: AveragedModels = field(init=False)
    _answers: Answers = field(init=False)

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds)
        check_seed(self.seed)
        profile = finite_vector("profile", self.profile, self.engine.data.owners)
        first = self.engine.initial(self.seed) if self.start is None else self.engine.rows(self.start)
        updates, dropped = self._learn(first, profile)
        weights = shares(np.where(dropped, 0, self.engine.data.counts(profile))[None], self.recipe)[0]
        models = first + self.recipe.server_rate * updates
        coalitions = AveragedModels(self.engine, first, models, weights, folder=self.folder, measure=self.measure.kind)
        for name, value in (("profile", profile), ("dropped", dropped), ("coalitions", coalitions)):
            object.__setattr__(self, name, value)
        self._open()

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, rounds={self.rounds}, {self.recipe}"
        return f"Coalition({what}, seed={self.seed}, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    def _learn(self, model: Tensor, profile: Array) -> tuple[Tensor, np.ndarray]:
        """Everybody's updates (n, P), summed over the rounds, and whose were ever broken."""
        total = torch.zeros(self.owners, self.engine.size, device=self.engine.device)
        kept = torch.ones(self.owners, dtype=torch.bool, device=self.engine.device)
        for number in range(self.rounds):
            model, updates, sound = one_round(self.engine, model, profile, self.recipe, self.seed, number)
            total, kept = total + updates, kept & sound
        return torch.where(kept.unsqueeze(1), total, 0.0), ~kept.cpu().numpy()

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) of the coalitions that k restrictions (k, n) of the profile stand for."""
        members = self._members(np.asarray(profiles, dtype=float))
        judged = self.coalitions.values(members.reshape(-1, self.owners)).reshape(members.shape)
        return self.measure.worth(judged)

    def _members(self, profiles: Array) -> np.ndarray:
        """Who is in the coalitions that the profiles stand for."""
        check_width(profiles, self.owners)
        if not np.all((profiles == 0) | (profiles == self.profile)):
            raise InputError(
                "a coalition's model is known for parts of one profile only, got another contribution; use Trained"
            )
        return (profiles > 0) & (self.profile > 0)
