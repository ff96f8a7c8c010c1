"""What kinds of knowledge share that value each owner by the Shapley values of single rounds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_kind, nearest
from fedabm.games.accuracy.base import Oracle
from fedabm.games.curves import Array
from fedabm.knowledge.base import Context, Knowledge
from fedabm.knowledge.nothing import standing
from fedabm.knowledge.public import same
from fedabm.learning.engine.engine import Engine
from fedabm.learning.knowledge.checks import check_shows_updates
from fedabm.learning.oracles.aggregated import AggregatedModels
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.updates import Updates
from fedabm.views.known import Kind, Known

__all__ = ["RoundGame", "RoundShapley", "RoundValues"]

_UTILITIES = ("loss", "accuracy")


@dataclass(frozen=True, eq=False)
class RoundGame:
    """What coalitions of this round's updates are worth to the server: one number each.

    updates  those of the round
    who      (m,) the owners that sent any
    utility  accuracy, or how far the loss lies below zero
    server   whose test part judges; None: the mean over the owners' test parts
    """

    updates: Updates
    utility: str
    server: Engine | None = None

    @property
    def who(self) -> NDArray[np.intp]:
        """The owners that claim to have sent anything, (m,)."""
        return np.flatnonzero(np.rint(self.updates.claimed) > 0)

    def values(self, members: NDArray[np.bool_]) -> Array:
        """What coalitions (k, n) are worth, (k,)."""
        sign = 1.0 if self.utility == "accuracy" else -1.0
        return sign * self._models.values(members).mean(axis=1)

    @cached_property
    def _models(self) -> AveragedModels | AggregatedModels:
        return self.updates.models(self.utility, self.server)


class RoundValues(NamedTuple):
    """What a round is worth by owner, (n,); how many models were judged; what to remember."""

    scores: Array
    evaluations: int
    history: Array | None = None


@dataclass(frozen=True)
class RoundShapley(Knowledge):
    """A score for each owner in each round.  A subclass states `valued`.

    Round Shapley ranks and does not price: values of single rounds add up to what those rounds brought, not to what
    training without an owner would have lost; on digits they miss shares by exact retraining by 78% to 314% of the mean
    share (`python -m tests.learning.knowledge.test_round_shapley`).
    """

    utility: Literal["loss", "accuracy"] = "loss"
    server: Engine | None = None
    keeps_updates: ClassVar[bool] = True
    reads_measured: ClassVar[bool] = True
    only_ranks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.utility not in _UTILITIES:
            who = type(self).__name__
            meant = nearest(self.utility, _UTILITIES)
            raise InputError(f"{who} judges by loss or accuracy, got {self.utility!r}; {meant}")
        if self.server is not None:
            check_kind("server", self.server, Engine)

    @abstractmethod
    def valued(self, game: RoundGame, context: Context) -> RoundValues:
        """What each owner's update was worth in this round."""

    def kind(self, accuracy: Oracle) -> Kind:
        """Scores."""
        return "scores"

    def echoes(self, accuracy: Oracle) -> bool:
        """Updates are worth what they are worth, whatever is claimed."""
        return True

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise unless models of coalitions can be made of updates, and the server's engine has the same network."""
        check_shows_updates(self, accuracy, self.server)

    def before(self, context: Context) -> Known:
        """What the last round has shown."""
        return context.last or same(None, "none", standing(context))

    def after(self, context: Context) -> Known:
        """What this round's updates are worth; nothing if nobody has sent any."""
        if context.updates is None:
            unknown = same(context.last, "none", standing(context))
            return unknown if context.last is None else replace(unknown, history=context.last.history)
        found = self.valued(RoundGame(context.updates, self.utility, self.server), context)
        cost = {"evaluations": found.evaluations, "since": context.step}
        return Known("scores", standing(context), scores=found.scores, history=found.history, **cost)
