"""What is audited: owners with their true facts under a rule, and the truthful outcome that lies are measured against.

What a lie is worth is computed as in a run of `Federation`: the server settles on reports and never learns more, the
model is worth what the data really used make of it, and costs are true:

    u_i = access_i(reports) * a_i(true contributions) + payment_i(reports) - c_i(true contribution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_kind
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.training import State, Training, training_of
from fedabm.games.best import Best, best_response
from fedabm.games.costs import Cost, costs_of
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum
from fedabm.games.offers import Offers
from fedabm.games.valuation import ReceivedAccuracy, Valuation
from fedabm.kernel import Private, Receipt, receive, settle
from fedabm.mechanisms.base import Mechanism
from fedabm.simulation.scenario import Scenario
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.views import Evidence, Outcome, Reports, ServerView, TermsCache, sent

__all__ = ["Stage", "StagePlay"]


@dataclass(frozen=True)
class StagePlay:
    """What the names on the server's list really do, and what they say.

    `owner` is the owner whose cost, capacity and accuracy stand behind each name: one that is away has no name, and one
    that has entered twice has two.
    """

    owner: NDArray[np.intp]
    contribution: Array
    reports: Reports


@dataclass(frozen=True, eq=False)
class Stage:
    """Owners, accuracies and a rule, with the truthful `profile`; `solved` says how that was found (None: given).

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    costs : Cost
        True costs of the owners, stacked.
    capacities : Array
        How much data each owner has, shape (owners,).
    eagerness : Array
        How much each owner wants others' data.
    valuation : Valuation
        What a settled step is worth to owners.
    profile : Array
        Truthful contributions, shape (owners,).
    solved : Equilibrium | None, optional
        How the profile was found; None: it was given.
    names : tuple[str, ...], optional
        What owners are called.
    training : tuple[Training[Any], State] | None, optional
        The training and the state that it has come to.
    """

    accuracy: Accuracy
    mechanism: Mechanism
    costs: Cost
    capacities: Array
    eagerness: Array
    valuation: Valuation
    profile: Array
    solved: Equilibrium | None = None
    names: tuple[str, ...] = ()
    #: how models are made and what owners have before the first round; None: as `accuracy` says, whatever is done
    training: tuple[Training[Any], State] | None = None

    @classmethod
    def of(cls, what: Scenario | Game, mechanism: Mechanism | None = None, profile: Any = None) -> Stage:
        """The stage of a scenario or game, under its own rule or another one.

        The truthful profile is an equilibrium of the game in which everyone reports the truth; under a rule that
        promises nothing for a contribution everyone contributes all it has.
        """
        rule = what.mechanism if mechanism is None else mechanism
        check_kind("mechanism", rule, Mechanism)
        if isinstance(what, Game):
            eager, valuation = np.zeros(what.owners), ReceivedAccuracy()
            bare = cls(what.accuracy, rule, what.costs, what.capacities, eager, valuation, what.capacities)
        elif isinstance(what, Scenario):
            bare = _of_scenario(cls, what, rule)
        else:
            raise InputError(f"an audit needs a Scenario or a Game, got {what!r}; give one of them")
        if profile is not None:
            return replace(bare, profile=np.asarray(profile, dtype=float))
        if not bare.plays_a_game:
            return bare
        found = solve(bare.game)
        return replace(bare, profile=found.profile, solved=found)

    def who(self, *owners: int) -> str:
        """Owners by their names, or by their numbers where they have none."""
        if self.names:
            return " and ".join(self.names[one] for one in owners)
        return f"owner{'s' if len(owners) > 1 else ''} {' and '.join(map(str, owners))}"

    @property
    def owners(self) -> int:
        """How many there are."""
        return len(self.capacities)

    @property
    def plays_a_game(self) -> bool:
        """Whether the rule tells what a contribution brings, by curves that can be asked."""
        return self.mechanism.promises and self.accuracy.tells and isinstance(self.valuation, ReceivedAccuracy)

    @property
    def game(self) -> Game:
        """The game in which everyone reports the truth."""
        return Game(self.accuracy.public, self.costs, self.capacities, self.mechanism)

    @cached_property
    def cache(self) -> TermsCache:
        """Where the rule keeps what it computes from types only."""
        return TermsCache()

    @cached_property
    def offers(self) -> Offers:
        """What everyone is offered if all report the truth."""
        return self.mechanism.offers(self.accuracy.public, self.heard(self.truth.reports))

    @cached_property
    def honest(self) -> Best:
        """The best that every owner can do honestly, if the others stay at the profile."""
        return best_response(self.offers, self.costs, self.capacities)

    @cached_property
    def truth(self) -> StagePlay:
        """Everyone does what the profile says, and says so."""
        reports = Reports(self.profile, self.capacities, self.costs, self.eagerness)
        return StagePlay(np.arange(self.owners), self.profile, reports)

    @cached_property
    def settled(self) -> Receipt:
        """What the truth brings everyone."""
        return self.settle(self.truth)

    @cached_property
    def outside(self) -> Array:
        """What each owner has without the federation: its best model of its own data, or what its valuation says."""
        if isinstance(self.valuation, ReceivedAccuracy):
            return individual_optimum(self.accuracy, self.costs, self.capacities)[1]
        return np.zeros(self.owners)

    def heard(self, reports: Reports) -> Reports:
        """What the rule asks for of all that owners could tell."""
        cost = reports.cost if self.mechanism.asks_cost else None
        eagerness = reports.eagerness if self.mechanism.asks_eagerness else None
        numbers = np.arange(len(reports.size)) if reports.owners is None else reports.owners
        return replace(reports, cost=cost, eagerness=eagerness, owners=numbers, cache=self.cache)

    def outcome(self, play: StagePlay, oracle: Accuracy) -> Outcome:
        """What the server decides on what it hears."""
        reports = self.heard(play.reports)
        losses = self.mechanism.asks_losses
        models = sent(*self.training, play.owner, reports, with_losses=losses) if self.training else None
        trained = oracle.values(play.contribution[None])[0]
        evidence = Evidence(np.zeros(len(trained), dtype=bool), trained)
        # Money that leaks is a finding here.
        return settle(self.mechanism, ServerView(1, reports, oracle.public, models, evidence), held=False)

    def oracle(self, owner: NDArray[np.intp]) -> Accuracy:
        """The accuracies of the names behind which these owners stand."""
        return self.accuracy if np.array_equal(owner, np.arange(self.owners)) else self.accuracy.restrict(owner)

    def settle(self, play: StagePlay) -> Receipt:
        """What a play brings, name by name, as in one round of a federation."""
        oracle = self.oracle(play.owner)
        known = self.capacities[play.owner], self.costs.take(play.owner), self.eagerness[play.owner]
        private = Private(play.contribution, *known, play.owner)
        return receive(self.outcome(play, oracle), oracle.values(play.contribution[None])[0], self.valuation, private)

    def without(self, owner: int) -> StagePlay:
        """The truth of the others if one owner stays away."""
        rest = np.delete(np.arange(self.owners), owner)
        return StagePlay(rest, self.profile[rest], self.truth.reports.take(rest))

    def among(self, rows: Sequence[int]) -> Stage:
        """The same owners, but only some of them, at an equilibrium of their own."""
        kept = np.asarray(rows, dtype=np.intp)
        oracle = self.accuracy.restrict(kept)
        names = tuple(self.names[one] for one in kept) if self.names else ()
        fewer = replace(
            self, accuracy=oracle, costs=self.costs.take(kept), capacities=self.capacities[kept], names=names
        )
        fewer = replace(fewer, eagerness=self.eagerness[kept], profile=self.capacities[kept], solved=None)
        if not self.plays_a_game:
            return fewer
        found = solve(fewer.game)
        return replace(fewer, profile=found.profile, solved=found)


def _of_scenario(kind: type[Stage], scenario: Scenario, rule: Mechanism) -> Stage:
    people = scenario.owners
    capacities = np.array([one.capacity for one in people], dtype=float)
    eager = np.array([one.eagerness for one in people], dtype=float)
    costs = costs_of([one.cost for one in people])
    names = tuple(one.name for one in people) if all(one.name for one in people) else ()
    training = training_of(scenario.accuracy)
    state = training.begin(0)
    facts = costs, capacities, eager, scenario.valuation, capacities
    return kind(training.worth(state), rule, *facts, names=names, training=(training, state))
