"""The protocol of knowledge: asked before owners decide, and again after training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from fedabm.games.accuracy.base import Accuracy, Oracle
from fedabm.games.accuracy.power_law import PowerLaw
from fedabm.games.accuracy.present import PresentWorth
from fedabm.games.accuracy.training import State, Training
from fedabm.games.curves import Array
from fedabm.views import Reports
from fedabm.views.known import Kind, Known

__all__ = ["Context", "Knowledge"]


@dataclass(frozen=True, eq=False)
class Context:
    """What knowledge is drawn from; only knowledge gets it, never a mechanism or an owner.

    Parameters
    ----------
    step : int
        The step, from 1 on.
    seed : int
        That of the run.
    accuracy : Accuracy
        What is true, of all owners.
    training : Training[Any]
        What makes the models, and the `state` that it has come to.
    state : State
        The state that the training has come to.
    reports : Reports
        What the owners that take part have reported.
    measured : Array | None, optional
        (n,) what the present models are worth, as judged in the last step; None before the first one.
    updates : Any, optional
        Those of the last round of training, for knowledge that `keeps_updates`; None: nobody has sent any.
    last : Known | None, optional
        What was known last.
    """

    step: int
    seed: int
    accuracy: Accuracy
    training: Training[Any]
    state: State
    reports: Reports
    measured: Array | None = None
    updates: Any = None
    last: Known | None = None


class Knowledge(ABC):
    """What the server knows of the worth of data.  It keeps nothing itself: what it knew last is in the context.

    A subclass states `kind` and `before`; `after` where settling knows more than offers did.
    """

    #: single owners' updates and rejections reach the server
    shows_single: ClassVar[bool] = True
    #: says outright that nothing is known, so that rules that need more run, declared empty
    declares_empty: ClassVar[bool] = False
    #: reads what the present models were worth in the last step
    reads_measured: ClassVar[bool] = False
    #: is the accuracy itself, so that runs under it can be stepped together
    stacks: ClassVar[bool] = False
    #: training keeps the updates of each round for it
    keeps_updates: ClassVar[bool] = False
    #: values owners by single rounds: that ranks them, and does not price what training without them would lose
    only_ranks: ClassVar[bool] = False
    #: classes of the accuracies that it makes itself, and of their parts, which are saved with a run: fields are
    #: numbers, arrays, texts and each other
    makes: ClassVar[tuple[type, ...]] = (PresentWorth, PowerLaw)

    @abstractmethod
    def kind(self, accuracy: Oracle) -> Kind:
        """The kind of what it knows of this accuracy when it settles; found without asking for any value."""

    def echoes(self, accuracy: Oracle) -> bool:
        """Whether worth at what owners claim is that of the models that they sent, so that no false claim shows."""
        return False

    def check(self, accuracy: Oracle, owners: int) -> None:
        """Raise unless it fits this accuracy and this many owners; here it always does."""
        return

    @abstractmethod
    def before(self, context: Context) -> Known:
        """What is known before owners decide: offers are made of it."""

    def after(self, context: Context) -> Known:
        """What is known after training: the server settles by it.  By default the same."""
        return self.before(context)

    def found_again(self, context: Context) -> tuple[Accuracy, ...]:
        """Accuracies that it may know and that a run that goes on has by itself: they are not saved."""
        return (context.accuracy.public,)
