"""Federations in which everyone has a model of its own, mixed and steered by the mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import check_kind, check_whole
from fedabm.common.random import check_seed
from fedabm.common.table import Table
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Line, Rows
from fedabm.games.sending import Sending, Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.answers import Standing
from fedabm.learning.personal.own import ClassMix
from fedabm.learning.personal.remembered import Remembered
from fedabm.learning.personal.sent import SentModels
from fedabm.learning.personal.tasks import Training, filled
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import tamper
from fedabm.views import Exchange, Reports

__all__ = ["Personal"]


class OwnMeasure(Protocol):
    """Judges everybody's own model."""

    def own(self, engine: Engine, models: Tensor) -> Array:
        """What the models (n, P) are worth to their owners, (n,)."""


@dataclass(frozen=True, eq=False)
class Round:
    """What happened last: what was sent (n, P), from where, and whose was sound."""

    models: Tensor
    start: Tensor
    sound: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Personal(Accuracy):
    """a_i: what owner i's own model is worth to it after local training; each step of a run is one round.

    Owners train on the data they contribute, as the last exchange says (in the first round from one initial model, held
    by nothing), and send the model; the mechanism mixes.  An owner that trains a second, personal model keeps that one;
    where the mechanism hands out models to keep, such as the mean, it keeps those.
    Values are those of the models that owners keep, in this round and not in the best one.  Who joins later begins with
    the initial model, too, since the server has not written to it yet.  What is sent may be tampered with (see `tasks`
    for what updates are counted from); a model that holds NaN or infinity is dropped, so that it reaches nobody.

    recipe    how to train locally; mixing is up to the mechanism
    measure   `ClassMix` or `OwnPart`
    seed      without one, initial model and mini-batches follow from the seed of the run
    measured  on how many of its training samples an owner measures losses, at most (None: on all)
    every     models are judged in every so many rounds only; in between the last judgement stands
    known     trainings already done, of this run or another on the same engine
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    measure: OwnMeasure = field(default_factory=ClassMix)
    seed: int | None = None
    measured: int | None = None
    every: int = 1
    known: Remembered = field(default_factory=Remembered)
    round: int = 0
    kept: Tensor | None = None
    task: Training | None = None
    personal: Training | None = None
    last: Round | None = None
    standing: Standing | None = None
    first: Tensor | None = None
    #: whether owners keep what the mechanism hands out, so that what they train is not judged
    handed: bool = False
    #: nothing changes with the own contribution
    concave = True
    monotone = True

    def __post_init__(self) -> None:
        check_kind("engine", self.engine, Engine)
        check_whole("every", self.every)
        if self.measured is not None:
            check_whole("measured", self.measured)
        if self.seed is not None:
            check_seed(self.seed)

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, {self.recipe}"
        return f"Personal({what}, seed={self.seed}, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    @cached_property
    def initial(self) -> Tensor:
        """The model that everybody begins with, (P,)."""
        return self.engine.initial(self.seed or 0) if self.first is None else self.first

    @property
    def models(self) -> Tensor:
        """The models that owners keep, (n, P)."""
        return self.initial.expand(self.owners, -1) if self.kept is None else self.kept

    @cached_property
    def public(self) -> Standing:
        """What the present models are worth; models and data stay here."""
        return self.standing or Standing(Table(self.measure.own(self.engine, self.models)))

    def seeded(self, seed: int) -> Personal:
        """With the run's seed, unless it has its own."""
        if self.seed is not None or self.round:
            return self
        return replace(self, seed=seed, first=None, kept=None, standing=None, handed=False)

    def values(self, profiles: Array) -> Array:
        """What the present models are worth, whatever the profile, (k, n)."""
        return self.public.values(profiles)

    def curves(self, profile: Array) -> Line:
        """The same for every own contribution."""
        return self.public.curves(profile)

    def marginals(self, profile: Array) -> Array:
        """None."""
        return self.public.marginals(profile)

    def train(self, sending: Sending) -> tuple[Personal, NDArray[np.bool_]]:
        """One round of local training and sending; itself if nobody takes part, and whose model was dropped."""
        used = sending.now.contribution
        if not np.any(self.engine.data.counts(used)) and not sending.tampering:
            return self, np.zeros(self.owners, dtype=bool)
        task = self.task or Training.free(self.models)
        trained = self._run(task, used)
        own = trained if self.personal is None else self._run(self.personal, used, 1)
        models = _sent(task, trained, sending.tampering)
        sound = pull(screen(models))
        last = replace(self.last or _NOTHING, models=_sane(models, task.start), start=task.start, sound=sound)
        kept = _sane(own, self.models)
        number = self.round + 1
        standing = self.public if self.handed or number % self.every else None
        return replace(self, round=number, first=self.initial, kept=kept, last=last, standing=standing), ~sound

    @property
    def _latest(self) -> Round:
        """The last round; before there was any, everybody stands where it began."""
        return self.last or replace(_NOTHING, models=self.models, start=self.models)

    def _run(self, training: Training, used: Array, *path: int) -> Tensor:
        return training.run(self.engine, self.recipe, used, self.known, self.seed or 0, self.round, *path)

    def sent(self, rows: Rows, reports: Reports, *, with_losses: bool = False) -> SentModels:
        """What reached the server from the owners in `rows` beside their reports, with losses only if it asked."""
        last, rows = self._latest, np.asarray(rows)
        places = torch.from_numpy(rows).to(self.engine.device)
        sound = last.sound[rows] if len(last.sound) else np.ones(len(rows), dtype=bool)
        sent = SentModels(reports, sound, last.models[places], last.start[places], self.initial)
        return replace(sent, measured=self._measured(sent, rows)) if with_losses else sent

    def _measured(self, sent: SentModels, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Losses of all models, and of what they started from, that the owners measure on their own training data."""
        samples, offsets = self.engine.part("train", rows, self.measured)
        models = pull(self.engine.score(sent.usable, samples, offsets).loss)
        starts = [
            self.engine.score(sent.start[[i]], *self.engine.part("train", rows[[i]], self.measured)).loss
            for i in range(len(rows))
        ]
        return models.T, pull(torch.cat(starts).flatten())

    def deliver(self, rows: Rows, exchange: Exchange) -> Personal:
        """What owners in `rows` are to train on next; the others go on from their own models."""
        known = np.asarray(rows, dtype=np.intp), self.models, self.initial
        task = Training.of(exchange.task, *known)
        personal = None if exchange.personal is None else Training.of(exchange.personal, *known)
        told = replace(self, task=task, personal=personal, last=self._latest, first=self.initial)
        if exchange.kept is None:
            return replace(told, standing=self.public, handed=False)  # still the same models
        judged = self.round % self.every == 0
        kept = filled(self.models, known[0], exchange.kept)
        return replace(told, kept=kept, standing=None if judged else self.public, handed=True)


_NOTHING = Round(torch.empty(0), torch.empty(0), np.zeros(0, dtype=bool))


def _sent(task: Training, trained: Tensor, tampering: tuple[Tampering, ...]) -> Tensor:
    """The models (n, P) as sent: those trained, but for owners that tamper with their update or with all of it."""
    models = trained
    for attack in tampering:
        base = task.handed if attack.whole else task.origin
        updates = trained - base
        tamper(updates, base, attack)
        rows = torch.from_numpy(attack.members).to(trained.device)
        models = models.index_copy(0, rows, (base + updates).index_select(0, rows))
    return models


def _sane(models: Tensor, instead: Tensor) -> Tensor:
    """Rows of finite numbers only."""
    return torch.where(screen(models).unsqueeze(1), models, instead)
