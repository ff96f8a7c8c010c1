"""The one model that a federation trains while its owners decide, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from fedabm.common.errors import InputError, check_whole
from fedabm.common.random import check_seed
from fedabm.common.state import NUMBER, TEXT, WHOLE, Each, FrozenRecord, Kind, Maybe, Numbers, Thing
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.announced import Announced
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.training import RoundResult, State, Training
from fedabm.games.curves import Array, Rows
from fedabm.games.messages import EFFORT, Effort, OwnerMessages
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.answers import PresentWorth
from fedabm.learning.oracles.engine_facts import EngineFacts
from fedabm.learning.oracles.handing import NoisyModels, by_noise
from fedabm.learning.oracles.memory import AnswerCache as Remembered
from fedabm.learning.oracles.memory import digest
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.oracles.trained import Trained
from fedabm.learning.oracles.updates import Updates
from fedabm.learning.rules.aggregate import here, screen
from fedabm.learning.rules.base import Memory
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import RuleRound, one_round

__all__ = ["Learning"]


@dataclass(frozen=True, eq=False)
class LearningState(State):
    """The server's model between two rounds.

    seed      from which initial model and mini-batches follow
    model     (P,) the model after the last round that was really trained; None: the initial one
    memory    what the recipe's rule remembers of the rounds so far
    late      rounds since then that were looked up only
    path      a name of all that led here; empty: nothing may be looked up any more
    worth     what the present model is worth to everybody, (n,); None: nobody has judged it yet
    progress  what own training brought everybody in the last round, if it was measured
    spent     seconds of each step, for rounds that were looked up those of their training
    updates   what the last round showed the server of every owner, if it wanted to look
    moved     (P,) how the last round moved the model; None: it was looked up, or there was none
    """

    seed: int
    round: int = 0
    model: Tensor | None = None
    memory: Memory | None = None
    late: tuple[Effort, ...] = ()
    path: str = ""
    worth: FrozenArray | None = None
    progress: Array | None = None
    spent: tuple[float, ...] = ()
    updates: Updates | None = None
    moved: Tensor | None = None

    @property
    def rebuilt(self) -> tuple[Tensor, Memory | None] | None:
        """The present model and what the rule remembers, where rounds that were looked up have been trained again."""
        return vars(self).get("_rebuilt")


@dataclass(frozen=True, eq=False, repr=False)
class Learning(EngineFacts, Training[LearningState]):  # type: ignore[override]
    """a_i: what the server's present model is worth on owner i's test part; each step of a run is one round.

    The present model does not depend on what an owner might contribute instead.  What owners and mechanism go by
    is `announced`, for instance a measured `Curve` or a fitted closed form (Murhekar et al. 2023, Section 5.1); without
    one they see that contributing changes nothing at once.

    Local training uses true contributions, the server's mixing those claimed.  early=True trains on the contributions
    from before the owners decided.  After `rounds` rounds (None: without end) the model is final.  Without a `seed` of
    its own, initial model and mini-batches follow from the seed of the run.

    `known` remembers what rounds have led to, also for other runs with the same data, recipe, seed and contributions.
    A round that is known is not trained; should its model be wanted later, all rounds since the last one that was
    trained are.  Rounds in which somebody tampers are trained always, and so are those after them: an attack draws from
    its owner's own stream, as its later decisions do, so that a round that is looked up would change what comes next;
    and it may be any callable, which has no name to be remembered by.

    Parameters
    ----------
    engine : Engine
        What trains and judges models of one network on the owners' data.
    recipe : Recipe, optional
        How owners train in a round and how the server learns from their updates.
    announced : Accuracy | None, optional
        What owners and mechanism settle by; None: the present model alone.
    measure : Measure, optional
        How a model is judged: by right answers or by its loss.
    seed : int | None, optional
        None: it follows from the run's.
    early : bool, optional
        Whether a round trains on what was contributed before owners decided.
    rounds : int | None, optional
        After how many rounds the model is final; None: never.
    known : Remembered | None, optional
        Trainings that other runs have done.
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    announced: Accuracy | None = None
    measure: Measure = field(default_factory=Measure)
    seed: int | None = None
    early: bool = False
    rounds: int | None = None
    known: Remembered | None = None
    takes_updates = True
    retrains = True
    models = "shared"
    keeps_updates = True

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)
        if self.rounds is not None:
            check_whole("rounds", self.rounds, 0)
        if self.announced is not None and not isinstance(self.announced, Accuracy):
            raise InputError(f"announced must be an accuracy, got {self.announced!r}; give for instance a Curve")
        if self.announced is not None and (width := self.announced.owners) not in (None, self.owners):
            raise InputError(f"{self.owners} owners but an announced accuracy for {width}; give the same number")

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, {self.recipe}, announced={self.announced}"
        return f"Learning({what}, seed={self.seed}, {self.measure})"

    def begin(self, seed: int) -> LearningState:
        """The initial model of the own seed, or else of the run's."""
        seed = seed if self.seed is None else self.seed
        begun = (self.engine.content, self.recipe, self.measure, seed)
        return LearningState(seed, path="" if self.known is None else digest(*begun))

    def weights(self, state: LearningState) -> Tensor:
        """The server's present model, (P,)."""
        return self._present(state)[0]

    def _present(self, state: LearningState) -> tuple[Tensor, Memory | None]:
        """The present model and what the rule remembers; rounds that were only looked up are trained now."""
        if state.rebuilt is not None:
            return state.rebuilt
        model = self.engine.initial(state.seed) if state.model is None else state.model
        memory = state.memory
        for place, effort in enumerate(state.late):
            how = (self.recipe, state.seed, state.round - len(state.late) + place)
            done = one_round(self.engine, model, effort.contribution, *how, effort.claimed, (), memory, keep=False)
            model, memory = done.model, done.memory
        if state.late:
            vars(state)["_rebuilt"] = model, memory
        return model, memory

    def worth(self, state: LearningState) -> Accuracy:
        """What the present model is worth, whatever anybody contributes; everybody goes by what is announced."""
        standing = PresentWorth(self._judged(state))
        return standing if self.announced is None else Announced(standing, self.announced)

    def _judged(self, state: LearningState) -> FrozenArray:
        """What the present model is worth to everybody, (n,)."""
        return FrozenArray(self.measure.of(self.engine, self.weights(state))[0]) if state.worth is None else state.worth

    @property
    def announces(self) -> str:  # type: ignore[override]
        """The kind of what is announced."""
        return "none" if self.announced is None else self.announced.announces

    def updates(self, state: LearningState) -> Updates | None:
        """Those of the last round, if they were to be kept."""
        return state.updates

    def retrained(self, rounds: int, seed: int, state: LearningState | None = None) -> Trained:
        """This many rounds with the same recipe on any contributions, afresh or from the model of a state."""
        start = None if state is None else self.weights(state)
        return Trained(self.engine, rounds, self.recipe, seed, self.measure, start=start)

    def hand_out(self, state: LearningState, rows: Rows, contributions: Array, promised: Array) -> Array:
        """The present model with as little noise on its weights as the promises allow."""
        return self._handed(state, np.arange(self.owners)[rows], promised).worth

    def _handed(self, state: LearningState, who: NDArray[np.intp], promised: Array) -> NoisyModels:
        return by_noise(self.engine, self.weights(state), who, promised, self.measure, state.seed + state.round)

    def exported(
        self, state: LearningState, contributions: Array, owner: int | None = None, promised: float = np.inf
    ) -> nn.Module:
        """The server's present model, or that with as much noise as an owner's was handed with."""
        if owner is None or promised == np.inf:
            return self.engine.module(self.weights(state))
        return self.engine.module(self._handed(state, np.array([owner]), np.array([promised])).models[0])

    def round(self, state: LearningState, messages: OwnerMessages) -> tuple[LearningState, RoundResult]:
        """One round; the same state if nobody takes part or the model is final."""
        used, claimed = messages.before if self.early else messages.now
        counts = self.engine.data.counts(used)
        nothing = not np.any(counts) and not messages.tampering
        if nothing or (self.rounds is not None and state.round >= self.rounds):
            still = state if state.updates is None else replace(state, updates=None)
            return still, replace(RoundResult.of(messages), progress=state.progress)
        effort = Effort(counts.astype(float), np.rint(claimed))
        done: list[RuleRound] = []

        def find(rows: NDArray[Any]) -> Array:
            begun = time.perf_counter()
            model, memory = self._present(state)
            how = (self.recipe, state.seed, state.round)
            given: dict[str, Any] = {
                "claimed": claimed,
                "tampering": messages.tampering,
                "memory": memory,
                "moved": state.moved,
            }
            keep = messages.keep or messages.measured
            done.append(one_round(self.engine, model, used, *how, **given, keep=keep))
            wanted = counts > 0 if messages.measured else np.zeros(self.owners, dtype=bool)
            shown = self._shown(state, model, done[0], wanted)
            return np.vstack([shown, np.full(self.owners, time.perf_counter() - begun)])[None]

        # What somebody tampered with is not remembered, nor what follows from it (see the class); nor are updates.
        path = digest(state.path, *effort) if state.path and not (messages.tampering or messages.keep) else ""
        asked = _question(path, messages.measured)
        worth, dropped, progress, seconds = self._answers(path, asked, find)[0]
        kept: dict[str, Any] = {"late": (*state.late, effort), "moved": None}
        if done:
            moved = done[0].model - self._present(state)[0]
            kept = {"model": done[0].model, "memory": done[0].memory, "late": (), "moved": moved}
        elif state.rebuilt is not None:  # go on from there, so that no round is trained again and again
            model, memory = state.rebuilt
            kept |= {"model": model, "memory": memory, "late": (effort,)}
        kept |= {"worth": FrozenArray(worth), "progress": progress if messages.measured else None}
        kept["updates"] = self._kept(state, done[0], claimed) if messages.keep else None
        spent = (*state.spent, float(seconds[0]))
        after = replace(state, round=state.round + 1, path=path, spent=spent, **kept)
        return after, RoundResult(dropped.astype(bool), after.progress, messages.senders(counts))

    def _kept(self, state: LearningState, done: RuleRound, claimed: Array) -> Updates:
        """What this round shows the server of every owner."""
        how = (self.engine, self.recipe, self.measure)
        sent = here(done.updates, "the server looks at all updates")
        return Updates(*how, self.weights(state), sent, done.usable, claimed, state.seed, state.round)

    def trial(self, state: LearningState, messages: OwnerMessages) -> tuple[LearningState, RoundResult]:
        """Everybody trains from the present model, measures what that brings, and keeps it to itself."""
        if not messages.measured:
            return state, replace(RoundResult.of(messages), progress=state.progress)
        state = replace(state, worth=self._judged(state))
        counts = self.engine.data.counts(messages.now.contribution)
        name = digest(state.path) if state.path else ""
        each = [_question(name, f"owner {owner} tries {count}") for owner, count in enumerate(counts)]
        asked = np.concatenate(each)
        owners = {row.tobytes(): owner for owner, row in enumerate(asked)}

        def find(rows: NDArray[Any]) -> Array:
            begun = time.perf_counter()
            who = np.array([owners[row.tobytes()] for row in rows])
            alone = np.where(np.isin(np.arange(self.owners), who), counts, 0).astype(float)
            model, memory = self._present(state)
            updates = self.recipe.train(self.engine, model, alone, state.seed, state.round, memory)[who]
            gained = np.zeros(len(who))
            usable = np.flatnonzero(pull(screen(updates)))
            gained[usable] = self._gained(state, model + updates[usable], who[usable])
            return np.stack([gained, np.full(len(who), (time.perf_counter() - begun) / len(who))], axis=1)

        gained, seconds = self._answers(state.path, asked, find, self.owners).T
        spent = (*state.spent, float(seconds.sum()))
        after = replace(state, progress=gained, spent=spent)
        return after, replace(RoundResult.of(messages), progress=gained)

    def state_kind(self) -> Kind:
        """The model between two rounds; data, network and recipe are the scenario's."""
        return FrozenRecord(
            LearningState,
            seed=WHOLE,
            round=WHOLE,
            model=Maybe(Thing(Tensor)),
            memory=Maybe(Thing(tuple)),
            late=Each(EFFORT),
            path=TEXT,
            worth=Maybe(Thing(FrozenArray)),
            progress=Maybe(Numbers()),
            spent=Each(NUMBER),
            updates=Maybe(Updates.kind(self.engine, self.recipe, self.measure)),
            moved=Maybe(Thing(Tensor)),
        )

    def _answers(self, path: str, asked: NDArray[Any], find: Callable[[Any], Array], at_once: int = 1) -> Array:
        """What is known, or else found; without a path nothing is looked up."""
        return self.known.answers(asked, find, at_once) if self.known is not None and path else find(asked)

    def _shown(self, state: LearningState, before: Tensor, done: RuleRound, wanted: NDArray[np.bool_]) -> Array:
        """What a round's model is worth, whose update was dropped, what own training brought these owners; (3, n)."""
        worth = self.measure.of(self.engine, done.model)[0]
        usable = pull(done.usable)
        owners = np.flatnonzero(wanted & usable)
        progress = np.zeros(self.owners)
        if len(owners):
            own = before + here(done.updates, "owners judge their own models")[owners]
            progress[owners] = self._gained(state, own, owners)
        return np.stack([worth, ~usable, progress])

    def _gained(self, state: LearningState, models: Tensor, owners: NDArray[np.intp]) -> Array:
        """How much more some owners' own models (k, P) are worth to them than the present one, (k,)."""
        if not len(owners):
            return np.zeros(0)
        return self.measure.own(self.engine, models, owners) - self._judged(state).array[owners]


def _question(*parts: Any) -> NDArray[np.uint8]:
    """A name as a row of whole numbers, (1, 16)."""
    return np.frombuffer(bytes.fromhex(digest(*parts)), dtype=np.uint8)[None]
