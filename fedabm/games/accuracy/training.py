"""Training: a process that makes models from contributions, round by round.

What has been learned so far is a `State`, a frozen value that is handed over: `begin` gives the first one, `round`
makes the next one of it, and nothing is kept in between.  A scenario's `accuracy` is a training or an accuracy; one
that no round changes, such as a closed form, is trained by `Fixed`.  A class can be both: an accuracy with weights that
learn while owners decide (`Stepwise`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_kind
from fedabm.common.state import Fields, FrozenRecord, Kind, Same, Varied
from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.games.curves import Array, Flags, Rows
from fedabm.games.messages import OwnerMessages
from fedabm.games.traits import forward

__all__ = ["Around", "Fixed", "Present", "RoundResult", "State", "Stepwise", "Training", "training_of"]


@dataclass(frozen=True, eq=False)
class State:
    """What a training has come to; a round in which nothing is learned gives the same object again.

    With fields that are arrays, numbers, texts, None, tuples of these or other states a run can be saved and gone on
    with; a training whose states hold more says how to save them (`Training.state_kind`).
    """


S = TypeVar("S", bound=State)


@dataclass(frozen=True, eq=False)
class RoundResult:
    """What a round has shown beside the new state.

    Parameters
    ----------
    dropped : Flags
        (n,) whose model update was unusable.
    progress : Array | None, optional
        (n,) what every owner's own training gained it on its own test part; None: nobody measured it.
    uploads : NDArray[np.int64] | None, optional
        (n,) how many models every owner sent; None: nothing was trained.
    """

    dropped: Flags
    progress: Array | None = None
    uploads: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, messages: OwnerMessages) -> RoundResult:
        """Of a round in which nobody sent any update."""
        return cls(np.zeros(len(messages.now.contribution), dtype=bool))


class Training(Oracle, ABC, Generic[S]):
    """Makes models from contributions; of n owners, or of any number if `owners` is None."""

    #: what a model that is sent amounts to, in bytes
    model_bytes: int = 0
    #: on what it runs (`Engine.machine`); empty where nothing is computed that depends on it
    machine: str = ""
    #: which models there are to export: "none", "shared" by all, or everybody's "own"
    models: str = "none"

    @abstractmethod
    def begin(self, seed: int) -> S:
        """The state before the first round of a run with this seed."""

    @abstractmethod
    def round(self, state: S, messages: OwnerMessages) -> tuple[S, RoundResult]:
        """The state after one more round, and what the round has shown."""

    def trial(self, state: S, messages: OwnerMessages) -> tuple[S, RoundResult]:
        """After owners trained a step for themselves, to measure their progress, and sent nothing."""
        return state, RoundResult.of(messages)

    @abstractmethod
    def worth(self, state: S) -> Accuracy:
        """What the present models are worth to everybody; its `public` is what the server announces of them."""

    def hand_out(self, state: S, rows: Rows, contributions: Array, promised: Array) -> Array:
        """What the models are really worth that the owners in `rows` are handed, if each is `promised` this much.

        `contributions` are everybody's.  Closed forms keep promises to the digit; who really trains hands out models
        that are really worse.
        """
        return promised

    def frozen(self, state: S) -> bool:
        """Whether contributions are fixed by now, so that only weights are still trained."""
        return False

    def unwrap(self, state: S) -> tuple[Training[Any], State]:
        """The training that really makes models and its state: itself, or the one that a wrapper stands around."""
        return self, state

    def updates(self, state: S) -> Any:
        """The updates of the last round, if `OwnerMessages.keep` asked for them; None: there are none."""
        return None

    def retrained(self, rounds: int, seed: int, state: S | None = None) -> Any:
        """What `rounds` rounds of training one model on the same data give at any profile, where it `retrains`.

        Models start afresh, with this seed, or from that of a `state`.
        """
        raise InputError(f"{type(self).__name__} has no data to train on again; train by Learning of fedabm.learning")

    def exported(self, state: S, contributions: Array, owner: int | None = None, promised: float = np.inf) -> Any:
        """The model that all share, as a module of PyTorch, or the one that an owner holds.

        `contributions` are everybody's; `promised` is what an owner's model may be worth (infinity: the full one).
        """
        source = self.accuracy if isinstance(self, Fixed) else self
        raise InputError(f"{type(source).__name__} makes no model to export; train by Learning of fedabm.learning")

    def within(self, state: S, inner: Any) -> S:
        """The same state around another state of the inner training."""
        return inner

    def state_kind(self) -> Kind:
        """How its states are saved: field by field."""
        return Fields(State)


@dataclass(frozen=True, eq=False)
class Present(State):
    """A state that is an accuracy by itself."""

    accuracy: Accuracy


@dataclass(frozen=True)
class Fixed(Training[Present]):
    """An accuracy that no round changes, such as a closed form."""

    accuracy: Accuracy

    @property
    def owners(self) -> int | None:
        """As the accuracy."""
        return self.accuracy.owners

    def begin(self, seed: int) -> Present:
        """The accuracy, whatever the seed."""
        return Present(self.accuracy)

    def round(self, state: Present, messages: OwnerMessages) -> tuple[Present, RoundResult]:
        """Nothing changes."""
        return state, RoundResult.of(messages)

    def worth(self, state: Present) -> Accuracy:
        """The accuracy."""
        return state.accuracy

    def state_kind(self) -> Kind:
        """Nothing is saved: the scenario has the accuracy."""
        return FrozenRecord(Present, accuracy=Same(self.accuracy))


forward(Fixed, Oracle, "accuracy", None)


class Stepwise(Training[Present]):
    """An accuracy with weights that learn; give it beside the class of the accuracy, and state `advance`.

    It advances on the contributions that were announced before the owners decided, so that weights and contributions
    take their steps together (Doshi et al. 2025, eq. 3 and 4).
    """

    #: the fields that `advance` changes, and of what kind they are; of a user's own class it may be any
    changes: ClassVar[Mapping[str, Kind]] = {}

    @abstractmethod
    def advance(self, profile: Array) -> Accuracy:
        """The accuracy after one more step of training on these contributions; itself once nothing changes."""

    def begin(self, seed: int) -> Present:
        """The accuracy itself."""
        return Present(cast(Accuracy, self))

    def worth(self, state: Present) -> Accuracy:
        """The accuracy with the present weights."""
        return state.accuracy

    def round(self, state: Present, messages: OwnerMessages) -> tuple[Present, RoundResult]:
        """One step; the same state once nothing changes any more."""
        moved = cast(Stepwise, state.accuracy).advance(messages.before.contribution)
        return state if moved is state.accuracy else Present(moved), RoundResult.of(messages)

    def state_kind(self) -> Kind:
        """The fields that change are saved."""
        return FrozenRecord(Present, accuracy=Varied(self, self.changes))


class Around(Training[S]):
    """A training that stands around another one, its field `around`: as that one, unless it says otherwise.

    Its state is that of the training within, or holds it: then it says where, by `_inner` and `_outer`.
    """

    around: ClassVar[str] = "model"

    @cached_property
    def _training(self) -> Training[Any]:
        return training_of(getattr(self, self.around))

    def _inner(self, state: S) -> State:
        """The state of the training within."""
        return state

    def _outer(self, state: S, inner: State) -> S:
        """The state with another one of the training within."""
        return cast(S, inner)

    @property
    def model_bytes(self) -> int:  # type: ignore[override]
        """That of the training within."""
        return self._training.model_bytes

    @property
    def machine(self) -> str:  # type: ignore[override]
        """That of the training within."""
        return self._training.machine

    def begin(self, seed: int) -> S:
        """That of the training within."""
        return cast(S, self._training.begin(seed))

    def round(self, state: S, messages: OwnerMessages) -> tuple[S, RoundResult]:
        """One of the training within."""
        inner, result = self._training.round(self._inner(state), messages)
        return self._outer(state, inner), result

    def trial(self, state: S, messages: OwnerMessages) -> tuple[S, RoundResult]:
        """One of the training within."""
        inner, result = self._training.trial(self._inner(state), messages)
        return self._outer(state, inner), result

    def hand_out(self, state: S, rows: Rows, contributions: Array, promised: Array) -> Array:
        """As the training within."""
        return self._training.hand_out(self._inner(state), rows, contributions, promised)

    def frozen(self, state: S) -> bool:
        """As the training within."""
        return self._training.frozen(self._inner(state))

    def unwrap(self, state: S) -> tuple[Training[Any], State]:
        """The training that really makes models and its state."""
        return self._training.unwrap(self._inner(state))

    def within(self, state: S, inner: State) -> S:
        """As the training within."""
        return self._outer(state, self._training.within(self._inner(state), inner))

    def updates(self, state: S) -> Any:
        """Those of the training within."""
        return self._training.updates(self._inner(state))

    def retrained(self, rounds: int, seed: int, state: S | None = None) -> Any:
        """That of the training within."""
        return self._training.retrained(rounds, seed, None if state is None else self._inner(state))

    def state_kind(self) -> Kind:
        """That of the training within."""
        return self._training.state_kind()


def training_of(source: Oracle) -> Training[Any]:
    """The training of a scenario's `accuracy`: itself, or nothing but what it is.

    Parameters
    ----------
    source : Oracle
        The scenario's accuracy.

    Returns
    -------
    Training[Any]
        The training.
    """
    if isinstance(source, Training):
        return source
    check_kind("accuracy", source, Accuracy)
    for name in ("advance", "train"):  # which nobody would call
        if hasattr(source, name):
            what = f"{type(source).__name__} has {name} but is no training"
            raise InputError(f"{what}; inherit from Stepwise or Training, too (fedabm.games.accuracy.training)")
    return Fixed(cast(Accuracy, source))
