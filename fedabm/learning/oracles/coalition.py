"""Accuracies of coalitions from their members' updates, without training again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import InputError, check_whole, finite_vector
from fedabm.common.random import check_seed
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.accuracy.training import Present, Stepwise
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.aggregated import AggregatedModels, Sending, check_of_updates, models_of_coalitions
from fedabm.learning.oracles.answers import Answering, ServerAnswers
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.oracles.trained import Trained
from fedabm.learning.rules.aggregate import here, screen
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round

__all__ = ["Coalition"]


class CoalitionModels(NamedTuple):
    """The models of all coalitions, and whose update was ever dropped (n,)."""

    coalitions: AveragedModels | AggregatedModels
    dropped: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Coalition(Answering, Stepwise):
    """a_i(s_X): what the model mixed from the updates of the owners in X is worth to owner i, for one profile s.

        w_X = w_0 + rate * sum_{t < rounds} sum_{i in X} s_i / s(X) u_i^t

    Owners train along the trajectory of the whole federation, once; the model of a coalition only leaves the others'
    updates out (Song et al. 2019; with one round, the coalition models of Murhekar et al. 2025, Algorithm 1).  It is
    defined for restrictions of `profile` to coalitions, which is all that Shapley values need:

        shapley(Coalition(engine, profile), profile)

    They train when a value is first asked for.  Values are remembered, in `folder` also between runs, so that an
    interrupted computation goes on where it stopped.  An update that holds NaN or infinity is in no coalition;
    `dropped` says whose.  Under a robust rule, such as `CoordinateMedian`, a round adds what the rule makes of the
    updates u_i^t of X instead; every coalition's model is then made and judged by itself.  Rules that remember, such as
    `FedAdam`, are refused.

    Parameters
    ----------
    engine : Engine
        What trains and judges models of one network on the owners' data.
    profile : Array
        Contributions, shape (owners,); only coalitions of it can be asked about.
    rounds : int, optional
        How many rounds are trained.
    recipe : Recipe, optional
        How owners train in a round and how the server learns from their updates.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    measure : Measure, optional
        How a model is judged: by right answers or by its loss.
    start : Tensor | None, optional
        The weights to start from; by default new ones.
    folder : str | Path | None, optional
        Where values are kept between runs.
    """

    engine: Engine
    profile: Array
    rounds: int = 1
    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    measure: Measure = field(default_factory=Measure)
    start: Tensor | None = None
    folder: str | Path | None = None
    _answers: ServerAnswers = field(init=False)
    #: values are known for parts of one profile only
    announces = "coalitions"
    retrains = True

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds)
        check_seed(self.seed)
        check_of_updates(self.recipe, "Coalition")
        object.__setattr__(self, "profile", finite_vector("profile", self.profile, self.engine.data.owners))
        self.engine.data.counts(self.profile)  # nobody contributes more than it has
        self._open()

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, rounds={self.rounds}, {self.recipe}"
        return f"Coalition({what}, seed={self.seed}, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    @property
    def dropped(self) -> NDArray[np.bool_]:
        """Whose update held NaN or infinity in some round, (n,)."""
        return self._learned.dropped

    @property
    def coalitions(self) -> AveragedModels | AggregatedModels:
        """The models of all coalitions."""
        return self._learned.coalitions

    @cached_property
    def _learned(self) -> CoalitionModels:
        """Train along the trajectory of the whole federation."""
        first = self.engine.initial(self.seed) if self.start is None else self.engine.rows(self.start)
        updates, dropped = self._trajectory(first)
        claimed = np.where(dropped, 0.0, self.engine.data.counts(self.profile))
        sendings = [Sending(one, claimed) for one in updates]
        how = (self.engine, self.recipe, first, sendings, self.measure.kind)
        return CoalitionModels(models_of_coalitions(*how, folder=self.folder), dropped)

    def _trajectory(self, model: Tensor) -> tuple[list[Tensor], NDArray[np.bool_]]:
        """Everybody's updates (n, P) by round, or summed if the rule takes a mean, and whose were ever broken."""
        found: list[Tensor] = []
        kept = torch.ones(self.owners, dtype=torch.bool, device=self.engine.device)
        memory = None
        for number in range(self.rounds):
            done = one_round(self.engine, model, self.profile, self.recipe, self.seed, number, memory=memory)
            sent = here(done.updates, "coalitions mix all updates")
            found = [found[0] + sent] if found and self.recipe.rule.mean is not None else [*found, sent]
            model, memory, kept = done.model, done.memory, kept & screen(sent)
        return [torch.where(kept.unsqueeze(1), one, 0.0) for one in found], ~pull(kept)

    def advance(self, profile: Array) -> Coalition:
        """Itself: it is of one profile."""
        return self

    def retrained(self, rounds: int, seed: int, state: Present | None = None) -> Trained:
        """This many rounds with the same recipe on any contributions, afresh or from its own start."""
        start = None if state is None else self.start
        return Trained(self.engine, rounds, self.recipe, seed, self.measure, start=start)

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
