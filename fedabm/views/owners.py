"""What an owner sees when it decides, and what it then does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import made, select_rows
from fedabm.common.random import Streams
from fedabm.games.best import Best, best_response
from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Flags, Rows
from fedabm.games.messages import Tamper
from fedabm.games.offers import Offers
from fedabm.views.memory import Memory
from fedabm.views.neighbours import Neighbours
from fedabm.views.reports import Reports

__all__ = ["INFORMATION", "Action", "Experience", "OwnerView", "Payoff"]

#: what a decision can rest on, in the frames' column `information`
INFORMATION = {
    "repeated": "nothing: the owner did not act in this step",
    "rule": "a rule of its own; nothing it was told",
    "offer": "what the server announced: its own offer while the others' last reports stand",
    "experience": "what it did and measured itself, in its last steps or as far as it remembers",
    "neighbours": "what it saw its neighbours do",
    "total": "its own accuracy and the announced total of all contributions",
    "quota": "how much the server asked for",
}


@dataclass(frozen=True)
class Action:
    """What owners really do: true contribution, what they report, and whether they stay.

    `tamper` changes the owners' model updates (rows of a matrix) before they are sent, given the models they received;
    None leaves them alone.  `used` says for the frames which information the decision rests on (`INFORMATION`).
    `memory` is what the owners want to have in mind when they act again; None leaves it as it is.

    Parameters
    ----------
    contribution : Array
        How much data the owners really use.
    report : Reports
        What they tell the server.
    stay : Flags
        Whether they stay in the federation.
    tamper : Tamper | None, optional
        Changes their updates before they are sent.
    used : str, optional
        On which information the decision rests.
    memory : Memory | None, optional
        What they want to remember; None: as before.
    """

    contribution: Array
    report: Reports
    stay: Flags
    tamper: Tamper | None = None
    used: str = "rule"
    memory: Memory | None = None


@dataclass(frozen=True)
class Experience:
    """What an owner remembers of a step: what it did, received, paid and gained (nan before there was a step).

    `progress` is how much more its own model was worth to it after its own training than the model it had got, on its
    own test part; 0 where it did not measure that (`Strategy.measures`), None where nobody did.

    Parameters
    ----------
    contribution : Array
        What the owner contributed.
    accuracy : Array
        What the model that it received is worth.
    payment : Array
        Money that it received; negative: it paid.
    utility : Array
        Accuracy and payment less cost, by its own valuation.
    progress : Array | None, optional
        What its own training gained it, where it measured that.
    """

    contribution: Array
    accuracy: Array
    payment: Array
    utility: Array
    progress: Array | None = None

    def take(self, rows: Rows) -> Experience:
        """What some owners remember."""
        columns = (self.contribution, self.accuracy, self.payment, self.utility)
        progress = None if self.progress is None else select_rows(self.progress, rows)
        contribution, accuracy, payment, utility = (select_rows(column, rows) for column in columns)
        return Experience(contribution, accuracy, payment, utility, progress)

    def with_newcomer(self) -> Experience:
        """One more row, of an owner to which nothing has happened yet."""
        contribution, accuracy, payment = (
            np.append(column, 0.0) for column in (self.contribution, self.accuracy, self.payment)
        )
        progress = None if self.progress is None else np.append(self.progress, 0.0)
        return Experience(contribution, accuracy, payment, np.append(self.utility, np.nan), progress)


@dataclass(frozen=True)
class Payoff:
    """An owner's utility as a function of its own contribution, by its own cost and the public offer.

    u_i(x) = received_i(x, s_-i) + p_i(x, s_-i) - c_i(x),      s_-i as last reported.

    Parameters
    ----------
    offers : Offers
        The curves that it faces.
    cost : Cost
        The cost function of each owner, one row each.
    capacity : Array
        How much data each owner has, shape (owners,).
    """

    offers: Offers
    cost: Cost
    capacity: Array

    def value(self, contribution: Array) -> Array:
        """Utility if the owner contributed and reported this much."""
        return self.offers.benefit.value(contribution) - self.cost.value(contribution)

    def slope(self, contribution: Array) -> Array:
        """Its derivative."""
        return self.offers.benefit.slope(contribution) - self.cost.slope(contribution)

    def best(self) -> Best:
        """The best contribution in [0, capacity], over the whole range, with a certified bound."""
        return best_response(self.offers, self.cost, self.capacity)


@dataclass(frozen=True)
class OwnerView:
    """All that an owner (or a cohort, row by row) knows when it decides.

    `before` is the step before the last (None: nothing is known of it).  `curve_known` says whether the protocol
    tells owners how the accuracy changes with their own contribution; if not, the payoff knows its present height
    only.  `total` is what all `present` owners together said they contributed (one number, or one per row where
    several runs act together).  `frozen`: the protocol asks owners to keep contributing what they do.  `quota` is
    how much the mechanism asks for (None: that is up to them).  `owner` is the number of each row's owner, `memory`
    what the strategy chose to remember (`Strategy.begin`), and `neighbours` what those whom the scenario's network
    links them to did in the last step (None: there is no network).  `rejected` says whether the server dropped its last
    report or update (None: nobody tells).

    Parameters
    ----------
    step : int
        The number of the step, from 1 on.
    capacity : Array
        How much data each owner has, shape (owners,).
    cost : Cost
        What its data cost.
    last : Experience
        What happened to it in the last step.
    payoff : Payoff
        Its utility as a function of its own contribution.
    rng : Streams
        Its own stream of random numbers.
    eagerness : Array | None, optional
        How much it wants others' data.
    before : Experience | None, optional
        The step before the last; None: nothing is known of it.
    curve_known : bool, optional
        Whether it is told how accuracy changes with its contribution.
    total : Any, optional
        What all owners said they contributed.
    present : int, optional
        How many owners take part.
    frozen : bool, optional
        Whether the protocol asks to keep contributions.
    quota : Array | None, optional
        How much the mechanism asks for; None: that is up to it.
    owner : NDArray[np.intp], optional
        The number of each row's owner.
    memory : Memory, optional
        What the strategy chose to remember.
    neighbours : Neighbours | None, optional
        What those did whom the network links it to.
    rejected : Flags | None, optional
        Whether the server dropped its last report or update; None: nobody tells.
    """

    step: int
    capacity: Array
    cost: Cost
    last: Experience
    payoff: Payoff
    rng: Streams
    eagerness: Array | None = None
    before: Experience | None = None
    curve_known: bool = True
    total: Any = 0.0
    present: int = 1
    frozen: bool = False
    quota: Array | None = None
    owner: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    memory: Memory = field(default_factory=dict)
    neighbours: Neighbours | None = None
    rejected: Flags | None = None

    def report(self, contribution: Array) -> Reports:
        """The truthful report for a contribution."""
        return Reports(contribution, self.capacity, self.cost, self.eagerness)

    def truthful(self, contribution: Array, used: str = "rule", memory: Memory | None = None) -> Action:
        """Contribute this much, say so, and stay; `used` is what the decision rests on, `memory` what to remember."""
        stay, said = np.ones(len(contribution), dtype=bool), self.report(contribution)
        return made(Action, contribution=contribution, report=said, stay=stay, tamper=None, used=used, memory=memory)
