"""Accuracies by really training: federated averaging for every profile that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import check_seed
from fedabm.common.state import FrozenRecord, Kind
from fedabm.games.accuracy.base import Accuracy, Probed
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.accuracy.training import Present, RoundResult, Training
from fedabm.games.curves import Array, Rows, align_rows
from fedabm.games.messages import TAMPERING, OwnerMessages, Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.answers import Answering, ServerAnswers
from fedabm.learning.oracles.handing import by_subset
from fedabm.learning.oracles.memory import MEMORY, AnswerCache, digest
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import federate

__all__ = ["Attacked", "Stepped", "Trained"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Answering, Training[Present]):
    """a_i(s): what the model that a federation trains on s in `rounds` rounds is worth on owner i's test part.

    The model starts afresh, with the same `seed`, for every profile (Murhekar et al. 2023, Section 5.2), or from the
    model `start`.  Contributions
    are rounded to whole samples here and nowhere else; an owner cannot train on more than it has, whatever it claims.
    Results are remembered, in `folder` also between runs, so that asking again costs nothing.

    Owners and mechanisms hold no more of it than a ticket with which to ask (see `answers`).

    Slopes are differences over `step` samples, as smaller ones would see rounding only.  Nothing is promised about the
    shape: best responses search a grid and the gap of an equilibrium is not certified (it is infinite).

    Parameters
    ----------
    engine : Engine
        What trains and judges models of one network on the owners' data.
    rounds : int, optional
        How many rounds each model is trained.
    recipe : Recipe, optional
        How owners train in a round and how the server learns from their updates.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    measure : Measure, optional
        How a model is judged: by right answers or by its loss.
    step : int, optional
        Over how many samples slopes are taken.
    folder : str | Path | None, optional
        Where values are kept between runs.
    start : Tensor | None, optional
        The model to start from; by default a fresh one.
    """

    engine: Engine
    rounds: int = 10
    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    measure: Measure = field(default_factory=Measure)
    step: int = 1
    folder: str | Path | None = None
    start: Tensor | None = None
    _answers: ServerAnswers = field(init=False)
    takes_updates = True
    retrains = True
    models = "shared"

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds, 0)
        check_whole("step", self.step)
        check_seed(self.seed)
        self._open()

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, rounds={self.rounds}, {self.recipe}"
        return f"Trained({what}, seed={self.seed}, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    @cached_property
    def memory(self) -> AnswerCache:
        """The results so far."""
        if self.folder is None:
            return AnswerCache()
        begun = () if self.start is None else (pull(self.start),)
        what = (self.engine.content, self.rounds, self.recipe, self.seed, self.measure)
        return AnswerCache(self.folder, digest(*what, *begun))

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) of models trained on k profiles (k, n)."""
        return _accuracies(self.counts(profiles), self.results)

    def counts(self, profiles: Array) -> Counts:
        """Whole samples that owners train on for profiles (k, n)."""
        profiles = np.asarray(profiles, dtype=float)
        check_width(profiles, self.owners)
        if np.isnan(profiles).any():
            raise InputError("contributions must be numbers to train on them, got NaN; remove it")
        return np.rint(np.clip(profiles, 0.0, self.engine.data.capacities)).astype(np.int64)

    def results(self, counts: Counts) -> Array:
        """Everybody's accuracy and whether its update was dropped (k, 2, n), trained on counts (k, n) or remembered."""
        return self.memory.answers(counts, lambda rows: np.stack([self.run(row) for row in rows]))

    def run(self, counts: Counts, tampering: tuple[Tampering, ...] = ()) -> Array:
        """Train, whether the result (2, n) is known or not."""
        model, dropped = federate(self.engine, counts, self.recipe, self.rounds, self.seed, tampering, self.start)
        if np.any(counts) and np.all(dropped[counts > 0]) and not tampering:
            raise InputError("everybody's update held NaN or infinity: training diverged; lower the learning rate")
        return np.stack([self.measure.of(self.engine, model)[0], dropped])

    def curves(self, profile: Array) -> Stepped:
        """Each owner's accuracy along its own contribution, with slopes over `step` samples."""
        profile = np.asarray(profile, dtype=float)
        kinks = np.empty((len(profile), 0))
        return Stepped(self.public, profile, np.arange(len(profile)), kinks, self.step, self.engine.data.capacities)

    def marginals(self, profile: Array) -> Array:
        """d a_i / d s_j by differences over `step` samples, to the right where the data suffice."""
        profile = np.asarray(profile, dtype=float)
        low, high = _ends(profile, self.step, self.engine.data.capacities)
        below, above = (np.where(np.eye(len(profile), dtype=bool), ends, profile) for ends in (low, high))
        return ((self.values(above) - self.values(below)) / (high - low)[:, None]).T

    # As a training: in every step models are trained from the beginning, so that a step leaves nothing behind

    def retrained(self, rounds: int, seed: int, state: Present | None = None) -> Trained:
        """The same training with another length and seed; every model starts afresh here."""
        return replace(self, rounds=rounds, seed=seed)

    @property
    def machine(self) -> str:  # type: ignore[override]
        """That of the engine."""
        return self.engine.machine

    def begin(self, seed: int) -> Present:
        """Itself, as it has a seed of its own."""
        return Present(self)

    def round(self, state: Present, messages: OwnerMessages) -> tuple[Present, RoundResult]:
        """Train on what owners really contribute; those that tamper do so in every round of the training."""
        counts = self.engine.data.counts(messages.now.contribution)
        oracle = Attacked(self, messages.tampering) if messages.tampering else self
        dropped = oracle.results(counts[None])[0, 1] > 0
        return state if oracle is state.accuracy else Present(oracle), RoundResult(dropped)

    def worth(self, state: Present) -> Accuracy:
        """What training is worth, with those who tamper in this step."""
        return state.accuracy

    def hand_out(self, state: Present, rows: Rows, contributions: Array, promised: Array) -> Array:
        """Models trained on parts of all contributions."""
        return by_subset(state.accuracy.values, np.arange(self.owners)[rows], contributions, promised)

    def exported(
        self, state: Present, contributions: Array, owner: int | None = None, promised: float = np.inf
    ) -> nn.Module:
        """The model trained on these contributions, by those who tamper in this step as well."""
        if owner is not None and promised < np.inf:
            raise InputError(f"owner {owner} got a model of less data, which is not kept; export the shared one")
        attacks = state.accuracy.tampering if isinstance(state.accuracy, Attacked) else ()
        how = (self.recipe, self.rounds, self.seed, attacks, self.start)
        return self.engine.module(federate(self.engine, self.counts(contributions[None])[0], *how)[0])

    def state_kind(self) -> Kind:
        """Nothing is saved unless somebody tampers."""
        return FrozenRecord(Present, accuracy=_Attacks(self))


@dataclass(frozen=True, eq=False, repr=False)
class Attacked(Accuracy):
    """What training is worth while some owners tamper with their updates.

    The server does not know, so what it announces is the training without them.
    """

    clean: Trained
    tampering: tuple[Tampering, ...]
    memory: AnswerCache = field(default_factory=AnswerCache)
    takes_updates = True

    def __repr__(self) -> str:
        return f"Attacked({self.clean!r})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.clean.owners

    @property
    def public(self) -> Accuracy:
        """The training without tampering."""
        return self.clean.public

    @property
    def inner(self) -> Trained:
        """The training without tampering."""
        return self.clean

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) of models trained on k profiles under attack."""
        return _accuracies(self.clean.counts(profiles), self.results)

    def results(self, counts: Counts) -> Array:
        """As of `Trained`, under attack; remembered for this step only, as attackers may draw random numbers."""
        return self.memory.answers(counts, lambda rows: np.stack([self.clean.run(row, self.tampering) for row in rows]))


class _Attacks:
    """A training, perhaps under attack; what was trained then cannot be found again, as attackers may draw."""

    def __init__(self, clean: Trained) -> None:
        self._clean = clean
        self._attacked = FrozenRecord(partial(Attacked, clean), tampering=TAMPERING, memory=MEMORY)
        self.schema = ["maybe", self._attacked.schema]

    def state(self, value: Accuracy) -> Any:
        """Nothing, or the attack."""
        return None if value is self._clean else self._attacked.state(value)

    def value(self, state: Any) -> Accuracy:
        """The training, or what it is worth under attack."""
        return self._clean if state is None else self._attacked.value(state)


@dataclass(frozen=True)
class Stepped(Probed):
    """Probed curves whose slopes are differences over `step` samples: (a(x + step) - a(x)) / step.

    Murhekar et al. 2023, Section 5.1.  Where an owner's data end, the difference is taken to the left.  `capacity` is
    that of the owners in `rows`, in their order.
    """

    step: int
    capacity: Array

    def slope(self, x: Array) -> Array:
        low, high = _ends(x, self.step, align_rows(self.capacity, x))
        return (self.value(high) - self.value(low)) / (high - low)

    def take(self, rows: Rows) -> Stepped:
        return replace(self, rows=np.asarray(self.rows)[rows], kinks=self.kinks[rows], capacity=self.capacity[rows])


def _accuracies(counts: Counts, results: Callable[[Counts], Array]) -> Array:
    """Everybody's accuracies (k, n), with one question per distinct row of the counts."""
    rows, back = np.unique(counts.reshape(-1, counts.shape[-1]), axis=0, return_inverse=True)
    return results(rows)[:, 0][back.ravel()].reshape(counts.shape)


def _ends(x: Array, step: int, capacity: Array) -> tuple[Array, Array]:
    """Two contributions at most `step` apart around x, within the data."""
    high = np.minimum(x + step, capacity)
    return np.maximum(high - step, 0.0), high
