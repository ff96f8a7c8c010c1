"""When weights are trained: together with the owners' decisions, or in a phase of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, finite_vector
from fedabm.common.state import FLAG, WHOLE, FrozenRecord, Kind
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.games.accuracy.training import Around, RoundResult, State
from fedabm.games.curves import Array
from fedabm.games.messages import OwnerMessages
from fedabm.games.traits import forward

__all__ = ["Phased", "Schedule"]


@dataclass(frozen=True, eq=False)
class PhasedState(State):
    """How long owners have waited for phase 2, whether it has begun, and what the model has come to."""

    model: State
    waited: int = 0
    begun: bool = False


@dataclass(frozen=True)
class Phased(Around[PhasedState]):
    """Phase 1: owners decide while the weights are frozen.  Phase 2: the weights are trained.

    Phase 1 ends once everybody claims at least `full`, or nobody's claim moved (with `rising`: rose) by more than
    `tolerance` in a step, or after `at_most` steps; without any of the three there is no phase 1.  The server sees
    claims, so claims decide.
    In phase 1 owners train for themselves as far as they measure what that brings (Doshi et al. 2025, Algorithm 3, line
    5); with tries=False they do not, so that all they measure is 0.  In phase 2 contributions are `frozen`: owners that
    keep to the protocol keep them.  `early` trains on what was contributed before the owners decided.

    Parameters
    ----------
    model : Oracle
        What is trained.
    full : tuple[float, ...] | None, optional
        Phase 1 ends when everybody claims this much.
    tolerance : float | None, optional
        Phase 1 ends when no claim moves by more than this.
    at_most : int | None, optional
        Phase 1 ends after this many steps.
    early : bool, optional
        Whether a round trains on what was contributed before owners decided.
    tries : bool, optional
        Whether owners try training for themselves in phase 1.
    rising : bool, optional
        Whether only claims that rise keep phase 1 going.
    """

    model: Oracle
    full: tuple[float, ...] | None = None
    tolerance: float | None = None
    at_most: int | None = None
    early: bool = False
    tries: bool = True
    rising: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.model, Oracle):
            check_kind("the model", self.model, Accuracy)

    @property
    def owners(self) -> int | None:
        """As the model, or as many as `full` has entries."""
        return self.model.owners if self.full is None else len(self.full)

    def _inner(self, state: PhasedState) -> State:
        return state.model

    def _outer(self, state: PhasedState, inner: State) -> PhasedState:
        """The same if the model is, so that everybody sees that nothing was learned."""
        return state if inner is state.model else replace(state, model=inner)

    def begin(self, seed: int) -> PhasedState:
        """Phase 1, if there is one."""
        return PhasedState(self._training.begin(seed))

    def round(self, state: PhasedState, messages: OwnerMessages) -> tuple[PhasedState, RoundResult]:
        """Wait, or train the model."""
        if not (state.begun or self._over(state, messages)):
            return self._wait(state, messages)
        work = replace(messages, now=messages.before) if self.early else messages
        # What owners would measure from now on moves nobody any more.
        work = replace(work, measured=False) if self._waits else work
        return super().round(state if state.begun else replace(state, begun=True), work)

    def _wait(self, state: PhasedState, messages: OwnerMessages) -> tuple[PhasedState, RoundResult]:
        # Who waits for full data only waits for the owners to move, so that a run in which nobody does can end.
        counts = self.tolerance is not None or self.at_most is not None
        waiting = replace(state, waited=state.waited + 1) if counts else state
        if not self.tries:
            return waiting, RoundResult.of(messages)
        return self.trial(waiting, messages)

    def worth(self, state: PhasedState) -> Accuracy:
        """That of the model."""
        return self._training.worth(state.model)

    def frozen(self, state: PhasedState) -> bool:
        """Whether phase 2 has begun."""
        return state.begun and self._waits

    def state_kind(self) -> Kind:
        """That of the model, and how long owners have waited."""
        return FrozenRecord(PhasedState, model=self._training.state_kind(), waited=WHOLE, begun=FLAG)

    @property
    def _waits(self) -> bool:
        """Whether there is a phase 1 at all."""
        return not (self.full is None and self.tolerance is None and self.at_most is None)

    def _over(self, state: PhasedState, messages: OwnerMessages) -> bool:
        """Whether phase 1 has ended."""
        if not self._waits:
            return True
        before, now = messages.before.claimed, messages.now.claimed
        full = self.full is not None and bool(np.all(before >= np.array(self.full)))
        # In the first step nobody has measured anything, so that standing still says nothing.
        moved = now - before if self.rising else np.abs(now - before)
        still = self.tolerance is not None and state.waited > 0 and bool(np.max(moved) <= self.tolerance)
        return full or still or (self.at_most is not None and state.waited >= self.at_most)


forward(Phased, Oracle, "model", None)


@dataclass(frozen=True)
class Schedule:
    """When a protocol trains: together with the owners' decisions, or in a second phase (see `Phased`).

    `until_full` waits for all data of everybody, `until_still` until no claim moves by more than so much; meanwhile
    owners try local training, unless tries=False.  With `while_rising` only claims that rise keep it waiting.

    Parameters
    ----------
    until_full : bool, optional
        Whether training waits until everybody contributes all data.
    until_still : float | None, optional
        Training waits until no claim moves by more than this.
    at_most : int | None, optional
        Training waits no more than this many steps.
    early : bool, optional
        Whether a round trains on what was contributed before owners decided.
    tries : bool, optional
        Whether owners try training for themselves meanwhile.
    while_rising : bool, optional
        Whether only claims that rise keep it waiting.
    """

    until_full: bool = False
    until_still: float | None = None
    at_most: int | None = None
    early: bool = False
    tries: bool = True
    while_rising: bool = False

    def __post_init__(self) -> None:
        if self.until_still is not None:
            check_positive("tolerance of standing still", self.until_still, zero=True)
        if self.at_most is not None:
            check_whole("at_most", self.at_most, 0)
        if self.until_full and self.at_most is None and self.until_still is None:
            raise InputError("who waits for everybody's data may wait forever; give until_still or at_most as well")

    def over(self, accuracy: Oracle, capacities: Sequence[float] | Array) -> Oracle:
        """An accuracy that is trained by this schedule."""
        full = tuple(finite_vector("capacities", capacities).tolist()) if self.until_full else None
        if full is None and self == Schedule():
            return accuracy
        return Phased(accuracy, full, self.until_still, self.at_most, self.early, self.tries, self.while_rising)
