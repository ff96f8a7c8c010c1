"""The Mesa agents: owners with secrets, and a server with rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mesa
import numpy as np

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.mechanisms import Mechanism
from fedabm.strategies import Strategy
from fedabm.views import Outcome, Reports, ServerView

if TYPE_CHECKING:
    from fedabm.simulation.model import Federation

__all__ = ["Owner", "Server"]


class _Agent(mesa.Agent):
    """A Mesa agent that numbers itself and does not keep its model alive.

    Mesa counts the agents of each model in a table that never forgets a model (`Agent._ids`); we drop the entry.
    """

    def __init__(self, model: Federation, number: int) -> None:
        super().__init__(model)
        self.unique_id = number
        mesa.Agent._ids.pop(model, None)


class Owner(_Agent):
    """A data owner: a handle on one row of the population."""

    def __init__(self, model: Federation, row: int) -> None:
        super().__init__(model, row)
        self.row = row

    @property
    def strategy(self) -> Strategy:
        """What this owner does."""
        return self.model.population.strategies[self.row]

    @property
    def contribution(self) -> float:
        """How much data it really used in the last step."""
        return float(self.model.population.contribution[self.row])

    @property
    def capacity(self) -> float:
        """How much data it has."""
        return float(self.model.population.capacity[self.row])

    @property
    def accuracy(self) -> float:
        """What the model it received was worth."""
        return float(self.model.population.accuracy[self.row])

    @property
    def payment(self) -> float:
        """Money it received in the last step (negative: it paid)."""
        return float(self.model.population.payment[self.row])

    @property
    def cost(self) -> float:
        """What its contribution really cost in the last step."""
        return float(self.model.population.cost_paid[self.row])

    @property
    def utility(self) -> float:
        """gain (by default the accuracy received) + payment - cost."""
        return float(self.model.population.utility[self.row])

    @property
    def stayed(self) -> bool:
        """Whether it is still in the federation."""
        return bool(self.model.population.stayed[self.row])


class Server(_Agent):
    """The neutral server: it announces offers, settles by its mechanism, and sees reports only."""

    def __init__(self, model: Federation, mechanism: Mechanism) -> None:
        super().__init__(model, -1)
        self.mechanism = mechanism
        self._standing: tuple[Reports, Accuracy, Offers] | None = None

    def announce(self, reports: Reports, oracle: Accuracy) -> Offers:
        """What each owner would get for its own contribution, if the other reports stand."""
        standing = self._standing
        if standing is None or standing[1] is not oracle or not _same(standing[0], reports):
            standing = self._standing = (reports, oracle, self.mechanism.offers(oracle, reports))
        return standing[2]

    def settle(self, view: ServerView) -> Outcome:
        """Apply the mechanism; the offers that come with it stand until the next reports."""
        outcome = self.mechanism.settle(view)
        self._standing = (view.reports, view.oracle, outcome.offers)
        return outcome


def _same(one: Reports, other: Reports) -> bool:
    def columns(reports: Reports) -> list[Array]:
        cost = reports.cost
        known = [] if cost is None else [cost.rate, cost.exponent, cost.fixed]
        known += [] if reports.eagerness is None else [reports.eagerness]
        return [reports.contribution, reports.size, *known]

    return all(np.array_equal(a, b) for a, b in zip(columns(one), columns(other), strict=True))
