"""What can be asked of a federation between two steps: what is announced, what is proven, and the columns of a step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedabm.common.arrays import Array
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.certificate import Gains, weigh
from fedabm.games.intervals import Limits
from fedabm.results.columns import COLUMNS
from fedabm.simulation.activation import Members
from fedabm.simulation.membership import Membership
from fedabm.simulation.scenario import Scenario
from fedabm.views import Reports

__all__ = ["REPORTERS", "Measured"]

#: what sums of a few amounts can lose to rounding, as a share of the largest of them
ROUNDING = 1e-14


class Measured(Membership):
    """A federation that can be asked."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__(scenario, seed)
        self._restricted: tuple[Members, Accuracy, Accuracy] | None = None
        #: columns and their sums, by name and whether only gains count
        self._sums: dict[tuple[str, bool], tuple[Array, float]] = {}

    def announce(self, present: Members) -> tuple[Reports, Accuracy]:
        """What is public before owners decide: the others' last reports and the accuracies they promise."""
        rule = self.scenario.mechanism
        reports = self.population.reports(present, with_cost=rule.asks_cost, with_eagerness=rule.asks_eagerness)
        return replace(reports, memory=self.server.memory, desk=self.server.desk), self.oracle(present).public

    def oracle(self, present: Members) -> Accuracy:
        """The accuracies when only these owners take part."""
        if len(present) == len(self.population) == (getattr(self.accuracy, "owners", None) or len(present)):
            return self.accuracy
        known = self._restricted
        if known is None or known[1] is not self.accuracy or not np.array_equal(known[0], present):
            known = self._restricted = (present, self.accuracy, self.accuracy.restrict(present))
        return known[2]

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
        gains.found[present], gains.bound[present] = weigh(offers, *facts, Limits())
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

    # The columns of the steps frame, as Mesa's DataCollector reads them

    def _sum(self, name: str, *, gains: bool = False) -> float:
        """The sum of a column, or of its gains only, which is known as long as the column stands."""
        (column,) = self.population.shared(name)
        known = self._sums.get((name, gains))
        if known is None or known[0] is not column:
            known = (column, float((np.maximum(column, 0.0) if gains else column).sum()))
            self._sums[name, gains] = known
        return known[1]

    @property
    def total_contribution(self) -> float:
        """Data contributed by all owners."""
        return self._sum("contribution")

    @property
    def mean_accuracy(self) -> float:
        """Mean accuracy received by the owners present."""
        present = self.population.present
        return float(self.population.received(present).mean()) if len(present) else 0.0

    @property
    def total_cost(self) -> float:
        """True cost of all contributions."""
        return self._sum("cost_paid")

    @property
    def transferred(self) -> float:
        """Money that owners received in this step."""
        return self._sum("payment", gains=True)

    @property
    def welfare(self) -> float:
        """Sum of all utilities."""
        return self._sum("utility")

    @property
    def server_balance(self) -> float:
        """The server's account since the beginning."""
        return self.ledger.balance()

    @property
    def present(self) -> int:
        """Owners that have not left."""
        return len(self.population.present)

    @property
    def rejected(self) -> int:
        """Owners whose report or model update was unusable in this step."""
        return int(np.count_nonzero(self.population.unusable))


#: columns of the steps frame and the attributes that fill them
REPORTERS = {
    "step": "steps",
    "contribution": "total_contribution",
    "accuracy": "mean_accuracy",
    "cost": "total_cost",
    **{name: name for name in COLUMNS["steps"] if name not in ("run", "step", "contribution", "accuracy", "cost")},
}
