"""What can be asked of a federation between two steps: what is announced, what is proven, and the columns of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fedabm.common.arrays import Array
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.certificate import Gains, weigh
from fedabm.games.intervals import ProofLimits
from fedabm.knowledge import Context
from fedabm.results.columns import COLUMNS, columns_of
from fedabm.results.links import Links
from fedabm.results.round import Round, Sums
from fedabm.simulation.activation import Members
from fedabm.simulation.membership import Membership
from fedabm.simulation.scenario import Scenario
from fedabm.views import NO_TRAFFIC, Known, Reports, Transfers

__all__ = ["ROUNDING", "MeasuredFederation"]

#: what sums of a few amounts can lose to rounding, as a share of the largest of them
ROUNDING = 1e-14


class MeasuredFederation(Membership):
    """A federation that can be asked."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__(scenario, seed)
        #: accuracies of those present, by what they are asked for
        self._restricted: dict[str, tuple[Members, Accuracy, Accuracy]] = {}
        #: what the server knew last, and how many trainings and judgements of models that has taken since the beginning
        self.known: Known | None = None
        self.known_cost = 0
        #: who was there in the last step, and what the models were worth to them
        self._judged: tuple[Members, Array] | None = None
        #: largest change in the last step; who imported whose model, what was sent and who paid whom in it
        self.moved = np.inf
        self._links: Links | None = None
        self._traffic = NO_TRAFFIC
        self._transfers = Transfers.central(np.zeros(0), "")
        self._sums = Sums()
        #: what all updates of every owner have revealed so far (`fedabm.common.privacy`)
        self._revealed: Array = np.zeros(0)

    def announce(self, present: Members) -> tuple[Reports, Accuracy]:
        """What is public before owners decide: the others' last reports and the accuracies they promise."""
        reports = self.reports(present)
        return reports, self.among(present, self.know(reports, self.scenario.knows.before).worth, "known")

    def reports(self, present: Members) -> Reports:
        """What these owners have reported, as the mechanism asks for it."""
        rule = self.scenario.mechanism
        reports = self.population.reports(present, with_cost=rule.asks_cost, with_eagerness=rule.asks_eagerness)
        return replace(reports, memory=self.server.memory, cache=self.server.cache)

    def know(self, reports: Reports, ask: Callable[[Context], Known]) -> Known:
        """What the server knows now, of all owners."""
        known = ask(self.context(reports))
        if known is not self.known:
            self.known_cost += known.trainings + known.evaluations
            self.known = known
        return known

    def context(self, reports: Reports) -> Context:
        """What knowledge is drawn from."""
        knows = self.scenario.knows
        training, state = self.training.unwrap(self.state)
        context = Context(self.steps, self.seed, self.accuracy, training, state, reports, last=self.known)
        if knows.reads_measured:
            context = replace(context, measured=self._measured())
        if knows.keeps_updates:
            context = replace(context, updates=training.updates(state))
        return context

    def _measured(self) -> Array | None:
        """What the present models were worth in the last step, (n,); 0 for who was not there."""
        if self._judged is None:
            return None
        worth = np.zeros(self.accuracy.owners or len(self.population))
        worth[self._judged[0]] = self._judged[1]
        return worth

    def oracle(self, present: Members) -> Accuracy:
        """The accuracies when only these owners take part."""
        return self.among(present, self.accuracy, "true")

    def among(self, present: Members, accuracy: Accuracy, which: str) -> Accuracy:
        """An accuracy of all owners when only these take part; the same object as long as neither changes."""
        if len(present) == len(self.population) == (accuracy.owners or len(present)):
            return accuracy
        kept = self._restricted.get(which)
        if kept is None or kept[1] is not accuracy or not np.array_equal(kept[0], present):
            kept = self._restricted[which] = (present, accuracy, accuracy.restrict(present))
        return kept[2]

    def regrets(self, *, true: bool = False) -> Array:
        """The most each owner could still gain by another contribution, truthfully reported, certified.

        The game is the one announced: public accuracies and the others' reports, at their word.  So nobody regrets what
        it cannot know, and what a lie gains is not counted.  With `true` the others' contributions are the true ones:
        where somebody lies, regrets then tell what the lie costs those who believe it.  Owners that left have none.
        """
        return self._weighed(true=true).bound

    def _weighed(self, *, true: bool = False) -> Gains:
        """What each owner could gain by another contribution, found and proven."""
        people, present = self.population, self.population.present
        gains = Gains(np.zeros(len(people)), np.zeros(len(people)))
        if not len(present):
            return gains
        reports, oracle = self.announce(present)
        given = people.contribution[present]
        offers = self.server.announce(reports, oracle)
        if true:
            offers = self.scenario.mechanism.offers(oracle, replace(reports, contribution=given))
        provable = offers.shape != "unknown" or offers.refund is not None
        if not provable and (oracle.costly or not self.scenario.mechanism.promises):
            # Nothing could be proven, so no training is spent on it.
            return Gains(np.where(people.stayed, np.nan, 0.0), np.where(people.stayed, np.inf, 0.0))
        facts = people.costs_of(present), people.capacity[present], given
        gains.found[present], gains.bound[present] = weigh(offers, *facts, ProofLimits())
        return gains

    @property
    def gap(self) -> float:
        """The certified gap: the largest regret of any owner; zero at a Nash equilibrium of the game announced."""
        return self._gains[1]

    @property
    def found(self) -> float:
        """The largest gain that a search found; where nothing is proven, all that is known (nan: it was not tried)."""
        return self._gains[0]

    @property
    def _gains(self) -> tuple[float, float]:
        """The largest gain found and the largest bound, of this step."""
        if self._gap is None or self._gap[0] != self.steps:
            gains = self._weighed()
            self._gap = (self.steps, (float(np.max(gains.found)), float(np.max(gains.bound))))
        return self._gap[1]

    @property
    def converged(self) -> bool:
        """Whether nothing moves any more and nobody could gain more than the scenario's `gap_tolerance`.

        Only what rounding makes of utilities that are differences of huge amounts is forgiven beside.
        """
        people = self.population
        amounts = np.abs([people.gain, people.cost_paid, people.payment])
        rounding = ROUNDING * float(amounts.max(initial=0.0))
        return self.at_rest and self.gap <= max(self.scenario.gap_tolerance, rounding)

    # The columns of the steps frame, at any time

    def round(self) -> Round:
        """What has happened since the last step began, as the columns of the frames see it."""
        people = self.population
        return Round(
            step=self.steps,
            **people.shown(),
            reported_cost=people.claimed_cost if self.scenario.mechanism.asks_cost else None,
            labels=people.labels,
            balance=self.ledger.balance(),
            moved=self.moved,
            links=self._links,
            traffic=self._traffic,
            revealed=self._revealed_so_far,
            only=(self, self._transfers),
            sums=self._sums,
        )

    @property
    def _revealed_so_far(self) -> Array | None:
        """What all updates of every owner have revealed, newcomers' nothing; None as long as nobody has sent any."""
        if not np.any(self._revealed):
            return None
        return np.pad(self._revealed, (0, len(self.population) - len(self._revealed)))

    def value(self, column: str) -> Any:
        """A column of the steps frame as it would be now."""
        return _STEPS[column].of(self.round()).item()  # type: ignore[union-attr]

    total_contribution = property(lambda self: self.value("contribution"), doc=COLUMNS["steps"]["contribution"])
    mean_accuracy = property(lambda self: self.value("accuracy"), doc=COLUMNS["steps"]["accuracy"])
    total_cost = property(lambda self: self.value("cost"), doc=COLUMNS["steps"]["cost"])
    transferred = property(lambda self: self.value("transferred"), doc=COLUMNS["steps"]["transferred"])
    welfare = property(lambda self: self.value("welfare"), doc=COLUMNS["steps"]["welfare"])
    outside_money = property(lambda self: self.value("outside_money"), doc=COLUMNS["steps"]["outside_money"])
    net_welfare = property(lambda self: self.value("net_welfare"), doc=COLUMNS["steps"]["net_welfare"])
    server_balance = property(lambda self: self.value("server_balance"), doc=COLUMNS["steps"]["server_balance"])
    present = property(lambda self: self.value("present"), doc=COLUMNS["steps"]["present"])
    rejected = property(lambda self: self.value("rejected"), doc=COLUMNS["steps"]["rejected"])
    reciprocity = property(lambda self: self.value("reciprocity"), doc=COLUMNS["steps"]["reciprocity"])
    components = property(lambda self: self.value("components"), doc=COLUMNS["steps"]["components"])


#: entries of the steps frame
_STEPS = {entry.name: entry for entry in columns_of("steps")}
