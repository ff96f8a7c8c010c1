"""Accuracy of the one model that a federation trains while its owners decide, round by round."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import check_seed
from fedabm.common.table import Table
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Line, Rows
from fedabm.games.sending import Effort, Sending
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.answers import Standing
from fedabm.learning.oracles.handing import by_noise
from fedabm.learning.oracles.memory import Memory as Remembered
from fedabm.learning.oracles.memory import digest
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.base import Memory
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import Round, one_round

__all__ = ["Learning"]


@dataclass(frozen=True, eq=False, repr=False)
class Learning(Accuracy):
    """a_i: what the server's present model is worth on owner i's test part; each step of a run is one round.

    The present model does not depend on what an owner might contribute instead.  What owners and mechanism reckon with
    is `announced`, for instance a measured `Curve` or a fitted closed form (Murhekar et al. 2023, Section 5.1); without
    one they see that contributing changes nothing at once.

    Local training uses true contributions, the server's mixing those claimed.  early=True trains on the contributions
    from before the owners decided.  After `rounds` rounds (None: without end) the model is final.  Without a `seed` of
    its own, initial model and mini-batches follow from the seed of the run.  `memory` is what the recipe's rule
    remembers of the rounds so far.

    `known` remembers what rounds have led to, also for other runs with the same data, recipe, seed and contributions.
    A round that is known is not trained; should its model be wanted later, all rounds since the last `model` are
    (`late`).  `spent` are the seconds of each step, for known rounds those of their training.
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    announced: Accuracy | None = None
    measure: Measure = field(default_factory=Measure)
    seed: int | None = None
    early: bool = False
    rounds: int | None = None
    known: Remembered | None = None
    round: int = 0
    model: Tensor | None = None
    memory: Memory | None = None
    late: tuple[Effort, ...] = ()
    worth: Table | None = None
    progress: Array | None = None
    path: str = ""
    spent: tuple[float, ...] = ()
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

    @property
    def weights(self) -> Tensor:
        """The server's present model, (P,)."""
        return self._state[0]

    @cached_property
    def _state(self) -> tuple[Tensor, Memory | None]:
        """The present model and what the rule remembers; rounds that were only remembered are trained now."""
        model = self.engine.initial(self.seed or 0) if self.model is None else self.model
        memory = self.memory
        for place, effort in enumerate(self.late):
            how = (self.recipe, self.seed or 0, self.round - len(self.late) + place)
            done = one_round(self.engine, model, effort.contribution, *how, effort.claimed, (), memory)
            model, memory = done.model, done.memory
        return model, memory

    @cached_property
    def _standing(self) -> Standing:
        """What the present model is worth to everybody."""
        return Standing(Table(self.measure.of(self.engine, self.weights)[0]) if self.worth is None else self.worth)

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

    def hand_out(self, rows: Rows, contributions: Array, promised: Array) -> Array:
        """The present model with as little noise on its weights as the promises allow."""
        who = np.arange(self.owners)[rows]
        return by_noise(self.engine, self.weights, who, promised, self.measure, (self.seed or 0) + self.round)

    def advance(self, profile: Array) -> Learning:
        """One honest round on these contributions."""
        effort = Effort(np.asarray(profile, dtype=float), np.asarray(profile, dtype=float))
        return self.train(Sending(effort, effort))[0]

    def train(self, sending: Sending) -> tuple[Learning, NDArray[np.bool_]]:
        """One round; itself if nobody takes part, and whose update was dropped."""
        used, claimed = sending.before if self.early else sending.now
        counts = self.engine.data.counts(used)
        nothing = not np.any(counts) and not sending.tampering
        if nothing or (self.rounds is not None and self.round >= self.rounds):
            return self, np.zeros(self.owners, dtype=bool)
        effort = Effort(counts.astype(float), np.rint(claimed))
        done: list[Round] = []

        def find(rows: NDArray[Any]) -> Array:
            begun = time.perf_counter()
            model, memory = self._state
            how = (self.recipe, self.seed or 0, self.round)
            done.append(one_round(self.engine, model, used, *how, claimed, sending.tampering, memory))
            judged = self._judged(done[0], counts > 0 if sending.measured else np.zeros(self.owners, dtype=bool))
            return np.vstack([judged, np.full(self.owners, time.perf_counter() - begun)])[None]

        # What somebody tampered with is not to be remembered, nor what follows from it.
        known = None if sending.tampering else self.known
        path = self._named(effort.contribution, effort.claimed)
        asked = _question(path, sending.measured)
        worth, dropped, progress, seconds = (find(asked) if known is None else known.answers(asked, find))[0]
        kept: dict[str, Any] = {"late": (*self.late, effort)}
        if done:
            kept = {"model": done[0].model, "memory": done[0].memory, "late": ()}
        kept |= {"worth": Table(worth), "progress": progress if sending.measured else None, "known": known}
        after = replace(self, round=self.round + 1, path=path, spent=(*self.spent, float(seconds[0])), **kept)
        return after, dropped.astype(bool)

    def _judged(self, done: Round, wanted: NDArray[np.bool_]) -> Array:
        """What a round's model is worth, whose update was dropped, what own training brought these owners; (3, n)."""
        worth = self.measure.of(self.engine, done.model)[0]
        sound = pull(done.sound)
        owners = np.flatnonzero(wanted & sound)
        progress = np.zeros(self.owners)
        progress[owners] = self._gained(done.updates[owners], owners)
        return np.stack([worth, ~sound, progress])

    def _gained(self, updates: Tensor, owners: NDArray[np.intp]) -> Array:
        """How much more some owners' own models are worth to them than the present one, (k,)."""
        if not len(owners):
            return np.zeros(0)
        return self.measure.own(self.engine, self.weights + updates, owners) - self._standing.worth.array[owners]

    def tried(self, sending: Sending) -> Learning:
        """Everybody trains from the present model, measures what that brings, and keeps it to itself."""
        if not sending.measured:
            return self
        counts = self.engine.data.counts(sending.now.contribution)
        each = [_question(self._named(), f"owner {owner} tries {count}") for owner, count in enumerate(counts)]
        asked = np.concatenate(each)
        owners = {row.tobytes(): owner for owner, row in enumerate(asked)}

        def find(rows: NDArray[Any]) -> Array:
            begun = time.perf_counter()
            who = np.array([owners[row.tobytes()] for row in rows])
            alone = np.where(np.isin(np.arange(self.owners), who), counts, 0).astype(float)
            model, memory = self._state
            updates = self.recipe.train(self.engine, model, alone, self.seed or 0, self.round, memory)[who]
            gained = np.zeros(len(who))
            sound = np.flatnonzero(pull(screen(updates)))
            gained[sound] = self._gained(updates[sound], who[sound])
            return np.stack([gained, np.full(len(who), (time.perf_counter() - begun) / len(who))], axis=1)

        gained, seconds = (find(asked) if self.known is None else self.known.answers(asked, find, self.owners)).T
        spent = (*self.spent, float(seconds.sum()))
        return replace(self, worth=self._standing.worth, progress=gained, spent=spent)

    def _named(self, *more: Any) -> str:
        """A name of all that led to the present model and of what is done with it; nothing if nobody remembers."""
        if self.known is None:
            return ""
        begun = (self.engine.content, self.recipe, self.measure, self.seed)
        return digest(*((self.path,) if self.path else begun), *more)


def _question(*parts: Any) -> NDArray[np.uint8]:
    """A name as a row of whole numbers, (1, 16)."""
    return np.frombuffer(bytes.fromhex(digest(*parts)), dtype=np.uint8)[None]
