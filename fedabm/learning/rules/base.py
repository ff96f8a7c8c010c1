"""What a learning rule is: how the shared model is learned from what owners send.

    w <- w + change,      change = rule.step(updates u_i, claims, soundness, memory)

A round goes: the rule says what owners add to their own loss (`local`); they train from w and send
u_i = (own model) - w, perhaps tampered with; the rule turns what reached the server into a change of w (`step`).  What
a rule wants to remember it returns, and gets it back in the next round; a rule itself never changes.  Nothing pulls a
value to the host, so that a round can run on a GPU without waiting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from fedabm.games.curves import Array
from fedabm.learning.engine.elsewhere import order_of_sums
from fedabm.learning.engine.training import Proximal
from fedabm.learning.rules.aggregate import Rows, here

__all__ = ["LocalTerms", "Memory", "Received", "Robust", "Rule", "Step", "WeightedMean"]

#: what a rule remembers: tensors in tuples, perhaps in tuples again
Memory = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Received:
    """What reached the server in a round.

    usable    (n,) on the device: which rows hold finite numbers only; the others must reach nobody

    Parameters
    ----------
    sent : Tensor | RowsElsewhere
        (n, P) as sent; zero for owners that did not train.  They may lie with the workers of a cluster, where
        `aggregate`, `by_columns` and `inner_products` find what they need.
    usable : Tensor
        Shape (owners,): which rows hold finite numbers only; the others must reach nobody.
    claimed : Array
        (n,) how many samples each owner says it used; who claims nothing does not take part.
    steps : Array
        (n,) how many local steps each owner took.
    rate : float | None, optional
        The rate of these steps if they are plain gradient descent, else None.
    """

    sent: Rows
    usable: Tensor
    claimed: Array
    steps: Array
    rate: float | None = None

    @property
    def updates(self) -> Tensor:
        """What was sent, (n, P), on the device of the server, whatever that takes."""
        return here(self.sent, "the rule looks at all updates")

    @property
    def order(self) -> Tensor | None:
        """The order in which updates are added up, see `order_of_sums`; None: as they stand."""
        found = order_of_sums(np.asarray(self.steps))
        return None if found is None else torch.from_numpy(found).to(self.sent.device)

    def members(self) -> tuple[Rows, Tensor]:
        """The updates (m, P) of those that take part, and which of them are usable (m,)."""
        who = np.flatnonzero(self.claimed > 0)
        if len(who) == len(self.sent):
            return self.sent, self.usable
        rows = torch.from_numpy(who).to(self.sent.device)
        some = self.sent.index_select(0, rows) if isinstance(self.sent, Tensor) else self.sent.select(rows)
        return some, self.usable.index_select(0, rows)


class Step(NamedTuple):
    """How the shared model changes, (P,), what the rule remembers, and whose updates (n,) it refused, if it can."""

    change: Tensor
    memory: Memory = ()
    refused: Tensor | None = None


@dataclass(frozen=True, eq=False)
class LocalTerms:
    """What owners add to their own loss while they train: `proximal`, and <drift_i, w> with `drift` (n, P).

    Parameters
    ----------
    proximal : Proximal | None, optional
        A pull towards a model; None: there is none.
    drift : Tensor | None, optional
        Shape (owners, parameters): drift_i in <drift_i, w>; None: there is none.
    """

    proximal: Proximal | None = None
    drift: Tensor | None = None


class WeightedMean(Protocol):
    """A weighted mean of updates: rate * sum_i p_i u_i."""

    @property
    def rate(self) -> float:
        """How far the model goes along the mean."""

    def weigh(self, claimed: Array) -> Array:
        """How much everybody counts, (n,), in any unit."""

    def shares(self, claimed: Array) -> Array:
        """p_i of every owner, (n,)."""


class Rule(ABC):
    """How the shared model is learned from what owners send; frozen, with defaults for all its fields."""

    #: needs owners that train by plain gradient descent
    plain_descent: bool = False
    #: the change follows from updates and claims alone: not from local steps, nor from what is remembered
    of_updates: bool = False

    @property
    def mean(self) -> WeightedMean | None:
        """The weighted mean of updates that the change is; None if it is none.

        Models of coalitions are mixed from their members' updates, which makes sense for such a mean only.
        """
        return None

    def begin(self, start: Tensor, owners: int) -> Memory:
        """What it remembers before the first round from the model `start` (P,)."""
        return ()

    def local(self, start: Tensor, memory: Memory) -> LocalTerms:
        """What owners add to their loss when they train from the model `start` (P,)."""
        return LocalTerms()

    def summed_by(self, claimed: Array, steps: Array) -> Array | None:
        """By which weights (n,) updates are added up if all of them are sound; None: not known before they are.

        Workers of a cluster that know them need not keep the updates.
        """
        return None

    @abstractmethod
    def step(self, received: Received, memory: Memory) -> Step:
        """How the shared model changes; the memory is not to be changed but returned anew."""


class Robust(Rule):
    """Rules for owners that may send anything: the change is a centre of the updates that few of them cannot move.

    All that take part count alike, however much they claim, since a claim may be a lie as well.
    """

    of_updates = True

    def step(self, received: Received, memory: Memory) -> Step:
        rows, usable = received.members()
        if not len(rows):
            return Step(torch.zeros(received.sent.shape[1], device=received.sent.device))
        return Step(torch.where(usable.any(), self.centre(rows, usable), 0.0))

    @abstractmethod
    def centre(self, rows: Rows, usable: Tensor) -> Tensor:
        """The centre (P,) of the usable ones among rows (m, P), m > 0; anything if none is usable."""
