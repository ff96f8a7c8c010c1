"""What every coalition's model is worth after one more round, from models that owners have trained anyway."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import check_whole, finite_vector
from fedabm.common.random import check_seed
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.curves import Array
from fedabm.games.sending import Effort, Sending, Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.answers import Answering, Answers
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import mix, tamper

__all__ = ["Rounds"]


@dataclass(frozen=True, eq=False, repr=False)
class Rounds(Answering):
    """a_i(s_X): what the model of coalition X is worth after this round; each step of a run is one round.

    From the server's model theta every owner trains T_i on its s_i samples and T_i^eps on s_i + `more` samples (on
    `more` fewer where its data end).  The model of X averages the T_i of its members, an owner that considers another
    contribution sees the way from T_i to T_i^eps as a straight line:

        a(X + i at s_i + x) = a(X + T_i) + x / more * (a(X + T_i^eps) - a(X + T_i)),      |x| <= more

    Nobody in X leaves theta as it is, and theta goes on with everybody's T_i.  Murhekar et al. 2025, Algorithm 1; with
    `ShapleyShare`, whose payments in a step are then the shares of that round's progress, it is FedBR-Shap.  Before the
    first decision owners train on `start` samples.  The server knows claims, owners train on what they contribute.

    With whole=True coalitions' models leave the others' updates out of all rounds so far (Song et al. 2019), so that
    each step's payments are shares of all that was learned since the beginning, as if training ended there.
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    more: int = 10
    measure: Measure = field(default_factory=Measure)
    seed: int | None = None
    start: Any = 1.0
    whole: bool = False
    model: Tensor | None = None
    past: Tensor | None = None
    effort: Effort | None = None
    tampering: tuple[Tampering, ...] = ()
    round: int = 0
    dropped: np.ndarray = field(init=False)
    claims: Array = field(init=False)
    after: Tensor = field(init=False)
    summed: Tensor = field(init=False)
    coalitions: AveragedModels = field(init=False)
    _answers: Answers = field(init=False)

    def __post_init__(self) -> None:
        check_whole("more, the samples of the second training,", self.more)
        if self.seed is not None:
            check_seed(self.seed)
        first = finite_vector("start", self.start, self.owners)
        effort = Effort(first, first) if self.effort is None else self.effort
        before = self.engine.initial(self.seed or 0) if self.model is None else self.model
        found = self._learn(before, effort)
        for name, value in (("model", before), ("effort", effort), *found.items()):
            object.__setattr__(self, name, value)
        self._open()

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, more={self.more}, {self.recipe}"
        return f"Rounds({what}, seed={self.seed}, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    def seeded(self, seed: int) -> Rounds:
        """With the run's seed, unless it has its own."""
        return self if self.seed is not None else replace(self, seed=seed, model=None if not self.round else self.model)

    def train(self, sending: Sending) -> tuple[Rounds, NDArray[np.bool_]]:
        """The next round, from the model that everybody's T_i gave in this one; and whose update was dropped."""
        model, past = (self.after, self.summed) if self.round else (self.model, None)
        work: dict[str, Any] = {"effort": sending.now, "tampering": sending.tampering, "round": self.round + 1}
        then = replace(self, model=model, past=past if self.whole else None, **work)
        return then, then.dropped

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n); what several owners would change at once is added up."""
        profiles = np.asarray(profiles, dtype=float)
        check_width(profiles, self.owners)
        flat = profiles.reshape(-1, self.owners)
        members, shift = self._read(flat)
        judged = self.coalitions.values(np.hstack([members, np.zeros_like(members)]))
        rows, owner = np.nonzero(shift)
        if len(rows):
            swapped = np.hstack([members[rows], np.zeros_like(members[rows])])
            turn = np.arange(len(rows))
            swapped[turn, owner], swapped[turn, owner + self.owners] = False, True
            np.add.at(judged, rows, shift[rows, owner, None] * (self.coalitions.values(swapped) - judged[rows]))
        return self.measure.worth(judged).reshape(profiles.shape)

    def _read(self, profiles: Array) -> tuple[np.ndarray, Array]:
        """Who is in each coalition, and how far an owner is on its way from T_i to T_i^eps, from -1 to 1."""
        effort = self._effort
        made = (profiles == effort.claimed) | (profiles == effort.contribution)
        members = (profiles > 0) & np.where(made, effort.claimed > 0, True)
        members |= np.all(profiles == effort.contribution, axis=1, keepdims=True) & (effort.claimed > 0)
        way = np.divide(profiles - effort.claimed, self.claims[1] - self.claims[0])
        shift = np.where(made | (profiles == 0), 0.0, np.clip(way, -1.0, 1.0))
        return members, shift

    @property
    def _effort(self) -> Effort:
        return self.effort if self.effort is not None else Effort(np.zeros(self.owners), np.zeros(self.owners))

    def _learn(self, start: Tensor, effort: Effort) -> dict[str, Any]:
        """Both trainings of everybody, and the models that can be mixed from them."""
        counts = self.engine.data.counts(effort.contribution)
        trials = np.stack([counts, _beside(counts, self.more, self.engine.data.capacities)])
        updates = torch.cat([self._updates(start, count) for count in trials])
        kept = screen(updates)
        claims = np.stack([effort.claimed, np.maximum(effort.claimed + trials[1] - trials[0], 0.0)])
        counted = np.where(kept.cpu().numpy().reshape(2, -1), np.rint(claims), 0.0)
        weights = (counted > 0).astype(float) if self.recipe.weighting == "equal" else counted
        first = self.engine.initial(self.seed or 0) if self.whole else start
        past = torch.zeros_like(updates[: self.owners]) if self.past is None else self.past
        models = first + self.recipe.server_rate * (updates + past.repeat(2, 1))
        coalitions = AveragedModels(self.engine, first, models, weights.ravel(), measure=self.measure.kind)
        after = mix(start, updates[: self.owners], np.rint(effort.claimed), self.recipe).model
        summed = past + torch.where(kept[: self.owners, None], updates[: self.owners], 0.0)
        return {
            "dropped": ~kept[: self.owners].cpu().numpy(),
            "claims": claims,
            "after": after,
            "summed": summed,
            "coalitions": coalitions,
        }

    def _updates(self, start: Tensor, counts: NDArray[np.int64]) -> Tensor:
        """Everybody's update as sent, with the same draws for both trainings."""
        updates = self.recipe.train(self.engine, start, counts.astype(float), self.seed or 0, max(self.round - 1, 0))
        for attack in self.tampering:
            tamper(updates, start, attack)
        return updates


def _beside(counts: NDArray[np.int64], more: int, capacities: NDArray[np.int64]) -> NDArray[np.int64]:
    """`more` samples more than the counts; where the data end, as many fewer; never the same number."""
    fewer = np.where(counts > 0, np.maximum(counts - more, 0), capacities)
    return np.where(counts + more <= capacities, counts + more, fewer)
