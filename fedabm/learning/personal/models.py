"""Federations in which everyone has a model of its own, mixed and steered by the mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedabm.common.errors import InputError, check_kind, check_whole
from fedabm.common.random import check_seed
from fedabm.common.state import FLAG, WHOLE, FrozenRecord, Kind, Maybe, Numbers, Thing
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.training import RoundResult, State
from fedabm.games.curves import Array, Rows
from fedabm.games.messages import OwnerMessages, Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.answers import PresentWorth
from fedabm.learning.oracles.engine_facts import EngineFacts
from fedabm.learning.oracles.trained import Trained
from fedabm.learning.personal.own import ClassMix
from fedabm.learning.personal.remembered import Remembered
from fedabm.learning.personal.sent import SentModels
from fedabm.learning.personal.tasks import TRAINING, OwnTraining, filled
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import tamper
from fedabm.views import Exchange, Exchanging, Reports

__all__ = ["Personal"]


class OwnMeasure(Protocol):
    """Judges everybody's own model."""

    def own(self, engine: Engine, models: Tensor) -> Array:
        """What the models (n, P) are worth to their owners, (n,)."""


@dataclass(frozen=True, eq=False)
class ExchangeRound:
    """What happened last: what was sent (n, P), from where, and whose was usable."""

    models: Tensor
    start: Tensor
    usable: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PersonalState(State):
    """Everybody's models between two rounds.

    seed      from which initial model and mini-batches follow
    initial   (P,) the model that everybody begins with
    models    (n, P) those that owners keep
    standing  what those are worth to their owners
    task      what owners train on next and send; None: from the initial model, held by nothing
    personal  a second training whose result each owner keeps for itself
    last      what happened in the last round; None: there was none
    handed    whether owners keep what the mechanism hands out, so that what they train is not judged
    """

    seed: int
    initial: Tensor
    models: Tensor
    standing: PresentWorth
    round: int = 0
    task: OwnTraining | None = None
    personal: OwnTraining | None = None
    last: ExchangeRound | None = None
    handed: bool = False

    @property
    def latest(self) -> ExchangeRound:
        """The last round; before there was any, everybody stands where it began."""
        return self.last or ExchangeRound(self.models, self.models, np.ones(len(self.models), dtype=bool))


@dataclass(frozen=True, eq=False, repr=False)
class Personal(EngineFacts, Exchanging[PersonalState]):  # type: ignore[override]
    """a_i: what owner i's own model is worth to it after local training; each step of a run is one round.

    Owners train on the data they contribute, as the last exchange says (in the first round from one initial model, held
    by nothing), and send the model; the mechanism mixes.  An owner that trains a second, personal model keeps that one;
    where the mechanism hands out models to keep, such as the mean, it keeps those.
    Values are those of the models that owners keep, in this round and not in the best one.  Who joins later begins with
    the initial model, too, since the server has not written to it yet.  What is sent may be tampered with (see `tasks`
    for what updates are counted from); a model that holds NaN or infinity is dropped, so that it reaches nobody.

    Parameters
    ----------
    engine : Engine
        What trains and judges models of one network on the owners' data.
    recipe : Recipe, optional
        How to train locally; mixing is up to the mechanism.
    measure : OwnMeasure, optional
        `ClassMix` or `OwnPart`.
    seed : int | None, optional
        Without one, initial model and mini-batches follow from the seed of the run.
    measured : int | None, optional
        On how many of its training samples an owner measures losses, at most (None: on all).
    every : int, optional
        Models are judged only once in this many rounds; in between the last judgement stands.
    known : Remembered, optional
        Trainings already done, of this run or another on the same engine.
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    measure: OwnMeasure = field(default_factory=ClassMix)
    seed: int | None = None
    measured: int | None = None
    every: int = 1
    known: Remembered = field(default_factory=Remembered)
    announces = "none"
    takes_updates = True
    retrains = True
    models = "own"

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

    def begin(self, seed: int) -> PersonalState:
        """Everybody has the initial model."""
        seed = seed if self.seed is None else self.seed
        initial = self.engine.initial(seed)
        models = initial.expand(self.owners, -1)
        return PersonalState(seed, initial, models, self._judged(models))

    def _judged(self, models: Tensor) -> PresentWorth:
        return PresentWorth(FrozenArray(self.measure.own(self.engine, models)))

    def worth(self, state: PersonalState) -> PresentWorth:
        """What the present models are worth; models and data stay here."""
        return state.standing

    def retrained(self, rounds: int, seed: int, state: PersonalState | None = None) -> Trained:
        """One model for all, trained with the same recipe, afresh or from the mean of the models that owners keep."""
        start = None if state is None else state.models.mean(dim=0)
        return Trained(self.engine, rounds, self.recipe, seed, start=start)

    def exported(
        self, state: PersonalState, contributions: Array, owner: int | None = None, promised: float = np.inf
    ) -> nn.Module:
        """The model that an owner keeps."""
        if owner is None:
            raise InputError("everybody has a model of its own here; say whose, as export_model(0)")
        return self.engine.module(state.models[owner])

    def round(self, state: PersonalState, messages: OwnerMessages) -> tuple[PersonalState, RoundResult]:
        """One round of local training and sending; the same state if nobody takes part."""
        used = messages.now.contribution
        uploads = messages.senders(self.engine.data.counts(used))
        if not np.any(uploads):
            return state, RoundResult.of(messages)
        task = state.task or OwnTraining.free(state.models)
        trained = self._run(state, task, used)
        own = trained if state.personal is None else self._run(state, state.personal, used, 1)
        models = _sent(task, trained, messages.tampering)
        usable = pull(screen(models))
        last, kept = ExchangeRound(_sane(models, task.start), task.start, usable), _sane(own, state.models)
        number = state.round + 1
        standing = state.standing if state.handed or number % self.every else self._judged(kept)
        after = replace(state, round=number, models=kept, last=last, standing=standing)
        return after, RoundResult(~usable, uploads=uploads)

    def _run(self, state: PersonalState, training: OwnTraining, used: Array, *path: int) -> Tensor:
        return training.run(self.engine, self.recipe, used, self.known, state.seed, state.round, *path)

    def sent(self, state: PersonalState, rows: Rows, reports: Reports, *, with_losses: bool = False) -> SentModels:
        """What reached the server from the owners in `rows` beside their reports, with losses only if it asked."""
        last, rows = state.latest, np.asarray(rows)
        places = torch.from_numpy(rows).to(self.engine.device)
        sent = SentModels(reports, last.usable[rows], last.models[places], last.start[places], state.initial)
        sent = replace(sent, bounds=self.engine.layout.bounds)
        return replace(sent, measured=self._measured(sent, rows)) if with_losses else sent

    def _measured(self, sent: SentModels, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Losses of all models, and of what they started from, that the owners measure on their own training data."""
        samples, offsets = self.engine.part("train", rows, self.measured)
        models = pull(self.engine.score(sent.usable_models, samples, offsets).loss)
        starts = [
            self.engine.score(sent.start[[i]], *self.engine.part("train", rows[[i]], self.measured)).loss
            for i in range(len(rows))
        ]
        return models.T, pull(torch.cat(starts).flatten())

    def deliver(self, state: PersonalState, rows: Rows, exchange: Exchange) -> PersonalState:
        """What owners in `rows` are to train on next; the others go on from their own models."""
        known = np.asarray(rows, dtype=np.intp), state.models, state.initial
        task = OwnTraining.of(exchange.task, *known)
        personal = None if exchange.personal is None else OwnTraining.of(exchange.personal, *known)
        latest = replace(state, task=task, personal=personal, last=state.latest)
        if exchange.kept is None:
            return replace(latest, handed=False)  # still the same models
        kept = filled(state.models, known[0], exchange.kept)
        standing = state.standing if state.round % self.every else self._judged(kept)
        return replace(latest, models=kept, standing=standing, handed=True)

    def state_kind(self) -> Kind:
        """Everybody's models between two rounds."""
        tensor, task = Thing(Tensor), Maybe(TRAINING)
        return FrozenRecord(
            PersonalState,
            seed=WHOLE,
            initial=tensor,
            models=tensor,
            standing=FrozenRecord(PresentWorth, worth=Thing(FrozenArray)),
            round=WHOLE,
            task=task,
            personal=task,
            last=Maybe(FrozenRecord(ExchangeRound, models=tensor, start=tensor, usable=Numbers(1, "b"))),
            handed=FLAG,
        )


def _sent(task: OwnTraining, trained: Tensor, tampering: tuple[Tampering, ...]) -> Tensor:
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
