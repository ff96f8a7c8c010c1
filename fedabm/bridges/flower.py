"""A mechanism and strategic owners inside Flower; tests/bridges/flower_app.py is a whole app.

Flower weighs clients by `num-examples`, which nobody verifies: that is what an owner claims here.  The server's app
asks a `PaymentServer` what everybody is paid for its claim, and tells the clients of a round the last claims; the app
of a client asks its `Client` how much to train on and what to say.  Neither imports Flower, which pins versions of its
own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fedabm.common.errors import InputError
from fedabm.common.random import Streams, generator
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Linear
from fedabm.kernel import settle_claims, utility
from fedabm.mechanisms import Mechanism
from fedabm.strategies import Strategy
from fedabm.views import Experience, OwnerView, Payoff, Reports

__all__ = ["Client", "Decision", "PaymentServer"]


@dataclass
class PaymentServer:
    """The server's side: what the mechanism makes of claims, round by round.

    `accuracy` is the public one, by which offers are made.  `sizes` are taken to be what was claimed, as Flower's
    clients say nothing else about them; mechanisms that ask for costs cannot be served.

    Parameters
    ----------
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    accuracy : Accuracy
        The public accuracy, by which offers are made.
    claims : dict[int, float], optional
        The last claim of each node.
    paid : dict[int, float], optional
        What each node has been paid so far.
    """

    mechanism: Mechanism
    accuracy: Accuracy
    claims: dict[int, float] = field(default_factory=dict)
    paid: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mechanism.asks_cost or self.mechanism.asks_eagerness:
            name = type(self.mechanism).__name__
            raise InputError(f"{name} asks for more than num-examples; choose one that settles on claimed data")

    def settle(self, round: int, claims: Mapping[int, float], rejected: Collection[int] = ()) -> dict[int, float]:
        """What each node is paid for its claim in this round; the claims are public from now on.

        Nodes in `rejected`, whose updates the app has dropped, are settled as if they had claimed 0.
        """
        nodes = sorted(claims)
        said = np.array([claims[node] for node in nodes], dtype=float)
        refused = np.array([node in rejected for node in nodes], dtype=bool)
        outcome = settle_claims(self.mechanism, self.accuracy, round, Reports(said, said), rejected=refused)
        self.claims = dict(zip(nodes, said.tolist(), strict=True))
        self.paid = dict(zip(nodes, outcome.payments.tolist(), strict=True))
        return self.paid

    def announcement(self, nodes: Sequence[int]) -> dict[str, list]:
        """What is public in a round, ready for a ConfigRecord: the nodes asked, their last claims and payments.

        Flower's nodes come and go, so the nodes are those that get a message, not those that the grid knew before.
        """
        known = sorted(nodes)
        return {
            "nodes": known,
            "claims": [self.claims.get(node, 0.0) for node in known],
            "payments": [self.paid.get(node, 0.0) for node in known],
        }


class Decision(NamedTuple):
    """On how much data a client trains, and what it says."""

    contribution: float
    claim: float
    stays: bool


@dataclass(frozen=True)
class Client:
    """An owner as a Flower client: its private cost and data, its strategy, and the public rules.

    What it remembers of the last round is kept by the app, in `context.state`; strategies with a memory of their own
    are refused.

    Parameters
    ----------
    strategy : Strategy
        What the owner does.
    unit_cost : float
        What a sample costs it.
    capacity : float
        How many samples it has.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    number : int, optional
        Its number among the owners.
    seed : int, optional
        Seed of all random draws; the same seed gives the same numbers.
    """

    strategy: Strategy
    unit_cost: float
    capacity: float
    mechanism: Mechanism
    accuracy: Accuracy
    number: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.strategy.begin(1, self._streams(0)):
            raise InputError(
                f"{self.strategy.label} has a memory of its own; choose a strategy without, or simulate it"
            )

    def decide(
        self, round: int, me: int, announced: Mapping[str, Sequence], last: tuple[float, float] | None = None
    ) -> Decision:
        """What it does as node `me` after an announcement; `last`: what it gave and what that was worth to it."""
        nodes = [int(node) for node in announced["nodes"]]
        if me not in nodes:
            raise InputError(f"node {me} is not among those announced; announce the nodes that get a message")
        row = [nodes.index(me)]
        claims = np.array(announced["claims"], dtype=float)
        offers = self.mechanism.offers(self.accuracy, Reports(claims, claims)).take(row)
        cost = Linear(np.array([self.unit_cost]))
        capacity = np.array([float(self.capacity)])
        view = OwnerView(
            round,
            capacity,
            cost,
            self._experience(announced["payments"][row[0]], last),
            Payoff(offers, cost, capacity),
            self._streams(round),
            total=float(claims.sum()),
            present=len(nodes),
            owner=np.array([self.number]),
        )
        action = self.strategy.act(view)
        return Decision(float(action.contribution[0]), float(action.report.contribution[0]), bool(action.stay[0]))

    def _streams(self, round: int) -> Streams:
        """Numbers of its own for every round, since a client is made anew for each."""
        return Streams([generator(self.seed, "owner", self.number, round)])

    def _experience(self, payment: float, last: tuple[float, float] | None) -> Experience:
        if last is None:
            return Experience(*(np.array([value]) for value in (0.0, 0.0, 0.0, np.nan)))
        given, accuracy, paid = (np.array([value]) for value in (*last, payment))
        return Experience(given, accuracy, paid, utility(accuracy, paid, self.unit_cost * given))
