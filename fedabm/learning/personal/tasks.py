"""A local training that awaits all owners, wherever the server's word reached some of them only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.random import Streams, generator
from fedabm.common.state import NUMBER, FrozenRecord, Maybe, Numbers, Thing
from fedabm.games.curves import Array, Rows
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.training import Proximal
from fedabm.learning.personal.remembered import Remembered, digest
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.recipe import Recipe
from fedabm.views import LocalTask

__all__ = ["TRAINING", "OwnTraining", "filled"]


@dataclass(frozen=True, eq=False)
class OwnTraining:
    """Everybody trains from `start` (n, P); to the loss of those `held` (n,) strength / 2 |w - pull|^2 is added.

    What an owner sends is an update of `origin` (n, P): of the start that it got from the server, or where it goes on
    from a model of its own, of the initial one, as distances are.
    """

    start: Tensor
    origin: Tensor
    pull: Tensor | None
    strength: float
    held: NDArray[np.bool_]

    @classmethod
    def free(cls, models: Tensor) -> OwnTraining:
        """From these models, which the server sent, held by nothing."""
        return cls(models, models, None, 0.0, np.zeros(len(models), dtype=bool))

    @classmethod
    def of(cls, task: LocalTask, rows: Rows, own: Tensor, initial: Tensor) -> OwnTraining:
        """What a task for the owners in `rows` means for all; the others go on from their own models (n, P).

        A row that is no number, for instance after mixing enormous models, leaves its owner with its own model.
        """
        start = own if task.start is None else filled(own, rows, task.start)
        origin = initial.expand_as(own)
        origin = origin if task.start is None else filled(origin, rows, task.start)
        pull = None if task.pull is None or not task.strength else filled(own, rows, task.pull)
        held = np.zeros(len(own), dtype=bool)
        held[rows] = pull is not None
        return cls(start, origin, pull, task.strength, held)

    @property
    def handed(self) -> Tensor:
        """The last model (n, P) that each owner got from the server: what it is held to, or else the origin."""
        if self.pull is None:
            return self.origin
        held = torch.from_numpy(self.held).to(self.pull.device)
        return torch.where(held.unsqueeze(1), self.pull, self.origin)

    def run(
        self, engine: Engine, recipe: Recipe, contributions: Array, known: Remembered, seed: int, *path: int
    ) -> Tensor:
        """Everybody's model (n, P) after local training; who uses no data keeps its start."""
        models = self.start.clone()
        counts = engine.data.counts(contributions)
        for who, centre in (
            (np.flatnonzero((counts > 0) & ~self.held), None),
            (np.flatnonzero((counts > 0) & self.held), self.pull),
        ):
            if len(who):
                rows = torch.from_numpy(who).to(models.device)
                proximal = None if centre is None else Proximal(self.strength, centre[rows])
                train = partial(_trained, engine, recipe, self.start[rows], counts[who], proximal, who, seed, *path)
                held = (b"", 0.0) if proximal is None else (digest(proximal.centre), proximal.weight)
                key = (who.tobytes(), counts[who].tobytes(), digest(self.start[rows]), *held, recipe, seed, *path)
                models[rows] = known.get(key, train)
        return models


#: how it is saved
TRAINING = FrozenRecord(
    OwnTraining,
    start=Thing(Tensor),
    origin=Thing(Tensor),
    pull=Maybe(Thing(Tensor)),
    strength=NUMBER,
    held=Numbers(1, "b"),
)


def _trained(
    engine: Engine,
    recipe: Recipe,
    start: Tensor,
    counts: np.ndarray,
    proximal: Proximal | None,
    who: np.ndarray,
    seed: int,
    *path: int,
) -> Tensor:
    """The models of some owners after local training from `start`, with the draws of this seed and round."""
    streams = Streams(generator(seed, "training", owner, *path) for owner in who.tolist())
    return engine.train(
        start,
        counts,
        epochs=recipe.epochs,
        steps=recipe.steps,
        batch=recipe.batch,
        optimiser=recipe.optimiser_in(path[0]),
        augment=recipe.augment,
        proximal=proximal,
        streams=streams,
        owners=who,
    )


def filled(own: Tensor, rows: Rows, given: Tensor) -> Tensor:
    """The own models, with the given ones (k, P) in `rows` as far as they are numbers."""
    places = torch.tensor(np.asarray(rows), dtype=torch.int64, device=own.device)
    given = given.to(own)
    finite = screen(given).unsqueeze(1)
    return own.index_copy(0, places, torch.where(finite, given, own.index_select(0, places)))
