"""What every strategy shares: it acts on its own view, row by row, and may remember."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

from fedabm.common.errors import InputError
from fedabm.common.names import snake
from fedabm.common.random import Streams
from fedabm.games.traits import Declaring, Forwarded, StrategyTraits, record
from fedabm.views import Action, Memory, OwnerView, Reports

__all__ = ["Strategy", "Wrapper"]


class Strategy(Declaring, ABC):
    """What one owner does; written elementwise, so that equal strategies can act as one cohort.

    Row i of the action may depend on row i of the view only.  Strategies are frozen dataclasses: two that are equal act
    alike, and none keeps anything itself.  What an owner is to remember, `begin` makes and the population keeps: it
    comes back as `view.memory`, and what the action gives as `memory` takes its place.
    """

    _kind_of_traits: ClassVar[type[StrategyTraits]] = StrategyTraits
    # A flag: `StrategyTraits` says what it means.
    stacks: bool = False
    #: wants to know what its own training does to its own model (`view.last.progress`)
    measures: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        raise InputError(
            f"{type(self).__name__} cannot keep {name!r} itself, as many owners and runs share a strategy; make it a "
            "frozen dataclass, and let begin() make what its owners remember"
        )

    @abstractmethod
    def act(self, view: OwnerView) -> Action:
        """Decide on contribution, report and staying, from the own view alone."""

    def begin(self, n: int, rng: Streams) -> Memory | None:
        """What n owners remember before their first step: arrays by name with n rows each; None: nothing.

        Random numbers come from the owners' own streams.
        """
        return None

    def declare(self, truth: Reports) -> Reports:
        """What it tells the server before it has acted: the truth, unless it lies."""
        return truth

    @property
    def traits(self) -> StrategyTraits:
        """All that is known of it beyond its actions."""
        return record(StrategyTraits, self)

    @property
    def label(self) -> str:
        """A short name for frames and figures."""
        return snake(type(self).__name__)


@dataclass(frozen=True)
class Wrapper(Strategy):
    """A strategy around another one, `truth`, which it lets act and remember.

    A subclass changes the action of `truth` with `dataclasses.replace`, which keeps what that one wants to remember.

    Parameters
    ----------
    truth : Strategy
        The strategy that it wraps.
    """

    truth: Strategy
    #: how to write one, for the error of whoever wraps something else
    example: ClassVar[str] = "Liar(truth=BestResponse())"

    def __post_init__(self) -> None:
        if not isinstance(self.truth, Strategy):
            who = snake(type(self).__name__)
            article = "an" if who[0] in "aeiou" else "a"
            raise InputError(f"{article} {who} wraps a strategy, got {self.truth!r}; write {self.example}")

    @property
    def measures(self) -> bool:  # type: ignore[override]
        """As the wrapped strategy."""
        return self.truth.measures

    #: as the wrapped strategy; a subclass that does something else says so itself
    stacks = Forwarded(attrgetter("truth.stacks"))

    def begin(self, n: int, rng: Streams) -> Memory | None:
        """What the wrapped strategy remembers."""
        return self.truth.begin(n, rng)

    def declare(self, truth: Reports) -> Reports:
        """What the wrapped strategy says."""
        return self.truth.declare(truth)

    @property
    def label(self) -> str:
        """Its name and that of what it wraps."""
        return f"{snake(type(self).__name__)}({self.truth.label})"
