"""What models of coalitions are worth, by their updates; where the rule takes no mean it makes each of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.common.timing import timed
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.memory import AnswerCache, digest
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.base import Received
from fedabm.learning.rules.recipe import Recipe

__all__ = ["AggregatedModels", "Sending", "check_of_updates", "models_of_coalitions"]

#: models that are made before they are judged
_AT_ONCE = 64


def check_of_updates(recipe: Recipe, who: str) -> None:
    """Raise in the name of `who` unless a coalition's model follows from its members' updates and claims alone."""
    if recipe.rule.mean is None and not recipe.rule.of_updates:
        rules = "FedAvg(), FedProx(), Scaffold() or a robust rule such as Krum()"
        raise InputError(f"{who} makes models of coalitions from updates alone, got {recipe.rule}; use {rules}")


class Sending(NamedTuple):
    """What reached the server in one round: updates (n, P) and claims (n,)."""

    updates: Tensor
    claimed: np.ndarray


def models_of_coalitions(
    engine: Engine,
    recipe: Recipe,
    start: Tensor,
    sendings: list[Sending],
    measure: str,
    known: AnswerCache | None = None,
    folder: str | Path | None = None,
) -> AveragedModels | AggregatedModels:
    """The models that the recipe's rule makes of coalitions' updates: mixed if it takes a mean, else each by itself.

    A mean needs no more than the sum of the updates of all rounds, and weighs by the claims of the last one.
    """
    mean = recipe.rule.mean
    if mean is None:
        return AggregatedModels(engine, recipe, start, sendings, measure, known, folder)
    models = start + mean.rate * sum((one.updates for one in sendings[1:]), sendings[0].updates)
    weights = mean.weigh(sendings[-1].claimed)
    return AveragedModels(engine, start, models, weights, folder=folder, measure=measure, known=known)


class AggregatedModels:
    """Accuracies (or losses) of coalitions' models, w_X = w + sum of rule(updates of X) over some rounds.

    As `AveragedModels`, for rules that take no mean and remember nothing, such as the median; the others' claims count
    as 0.  Every coalition's model is made and judged by itself.
    """

    def __init__(
        self,
        engine: Engine,
        recipe: Recipe,
        start: Tensor,
        sendings: list[Sending],
        measure: str = "accuracy",
        known: AnswerCache | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self.owners = len(sendings[0].claimed)
        check_of_updates(recipe, "AggregatedModels")
        self._engine, self._recipe, self._measure = engine, recipe, measure
        self._start, self._sendings = engine.rows(start), sendings
        self._samples, self._offsets = engine.part("test")
        self.judges = len(self._offsets) - 1
        self._memory = AnswerCache(folder, "" if folder is None else self._digest()) if known is None else known

    @property
    def judged(self) -> int:
        """How many coalitions' values are known."""
        return len(self._memory)

    def values(self, coalitions: np.ndarray) -> np.ndarray:
        """Values (k, judges) of coalitions given as rows of a boolean matrix (k, n); only new ones are computed."""
        wanted = np.asarray(coalitions, dtype=bool)
        found = self._memory.answers(np.packbits(wanted, axis=1), self._values, _AT_ONCE)
        return found.reshape(len(wanted), self.judges)

    @timed("evaluation")
    @torch.no_grad()
    def _values(self, packed: np.ndarray) -> np.ndarray:
        members = np.unpackbits(packed, axis=1, count=self.owners).astype(bool)
        models = torch.stack([self._model(row) for row in members])
        scores = self._engine.score(models, self._samples, self._offsets)
        return pull(scores.accuracy if self._measure == "accuracy" else scores.loss)

    def _model(self, members: np.ndarray) -> Tensor:
        """What the rule makes of the updates of these owners; the start where that is no number."""
        model = self._start
        for updates, claimed in self._sendings:
            alone = np.where(members, claimed, 0.0)
            if np.any(alone > 0):
                received = Received(updates, screen(updates), alone, np.zeros(self.owners))
                model = model + self._recipe.rule.step(received, ()).change
        return torch.where(screen(model.unsqueeze(0)), model, self._start)

    def _digest(self) -> str:
        """A name that changes with the network, the rule, the updates, the claims, the data and what is measured."""
        tensors = (self._start, self._samples.x, self._samples.y, self._offsets)
        words = f"{self._engine.layout}{self._engine.describe()}{self._recipe.rule}{self._measure}"
        sent = (part for updates, claimed in self._sendings for part in (pull(updates), claimed))
        return digest(words, *(pull(tensor) for tensor in tensors), *sent)
