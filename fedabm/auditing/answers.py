"""What becomes of a lie when the others do not stand still: they answer what they hear, or learn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm.auditing.deviations import Deviation, misstated, with_deviations
from fedabm.auditing.stage import Stage
from fedabm.games.best import best_response
from fedabm.games.costs import Cost, single
from fedabm.mechanisms.wrapper import RuleWrapper
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import RegretMatching, Strategy
from fedabm.views import Action, OwnerView, Reports

__all__ = ["Deviant", "after_answers", "after_learning", "as_scenario"]

_ROUNDS = 200
_STEPS = 60


@dataclass(frozen=True)
class Deviant(Strategy):
    """One owner that does and says the same in every step, whatever happens."""

    deviation: Deviation
    stacks = True

    def act(self, view: OwnerView) -> Action:
        """The deviation."""
        given = np.full(len(view.capacity), self.deviation.contribution)
        return Action(given, self._report(view.cost, view.eagerness, len(given)), np.ones(len(given), dtype=bool))

    def declare(self, truth: Reports) -> Reports:
        """The same story from the beginning."""
        return self._report(truth.cost, truth.eagerness, len(truth.size))

    def _report(self, cost: Cost | None, eagerness: object, rows: int) -> Reports:
        lie = self.deviation
        stated = None if cost is None else misstated(cost, lie)
        eager = None if eagerness is None else lie.eagerness * np.asarray(eagerness, dtype=float)
        return Reports(np.full(rows, lie.claim), np.full(rows, lie.size), stated, eager)


def as_scenario(stage: Stage, owner: int, deviation: Deviation, others: Strategy, steps: int) -> Scenario:
    """A run in which one owner deviates in every step; the others start at the profile."""
    people = []
    for row in range(stage.owners):
        strategy = Deviant(deviation) if row == owner else others
        cost, capacity = single(stage.costs, row), float(stage.capacities[row])
        start, eager = float(stage.profile[row]), float(stage.eagerness[row])
        people.append(OwnerProfile(cost, capacity, strategy, min(start, capacity), eager))
    return Scenario(tuple(people), stage.accuracy, stage.mechanism, steps=steps, valuation=stage.valuation, record=None)


def after_answers(stage: Stage, owner: int, deviation: Deviation) -> tuple[float, bool]:
    """What the deviator gains over the truth once the others best-respond to what they hear, and whether they rest.

    Parameters
    ----------
    stage : Stage
        Owners, accuracies, rule and the truthful profile.
    owner : int
        Who deviates.
    deviation : Deviation
        What it contributes and says.

    Returns
    -------
    tuple[float, bool]
        The gain over the truth, and whether the others came to rest.
    """
    play = with_deviations(stage, [owner], [deviation])
    others = np.delete(np.arange(stage.owners), owner)
    claims = play.reports.contribution.copy()
    damping = 1.0
    rested = False
    last = np.inf
    for _ in range(_ROUNDS):
        reports = stage.heard(replace(play.reports, contribution=claims))
        offers = stage.mechanism.offers(stage.accuracy.public, reports).take(others)
        reply = best_response(offers, stage.costs.take(others), stage.capacities[others]).contribution
        moved = float(np.max(np.abs(reply - claims[others]) / stage.capacities[others], initial=0.0))
        if moved <= 1e-9:
            rested = True
            break
        damping = max(0.5 * damping, 0.05) if moved > 0.99 * last else damping
        last = moved
        claims = claims.copy()
        claims[others] += damping * (reply - claims[others])
    given = play.contribution.copy()
    given[others] = claims[others]
    settled = stage.settle(replace(play, contribution=given, reports=replace(play.reports, contribution=claims)))
    return float(settled.utility[owner] - stage.settled.utility[owner]), rested


def after_learning(stage: Stage, owner: int, deviation: Deviation, seed: int, steps: int = _STEPS) -> float:
    """What the deviator gains by its lie, on average over the second half of a run in which the others learn.

    Both runs have the same seed; in the other one the deviator keeps to the truth.

    Parameters
    ----------
    stage : Stage
        Owners, accuracies, rule and the truthful profile.
    owner : int
        Who deviates.
    deviation : Deviation
        What it contributes and says.
    seed : int
        Seed of all random draws; the same seed gives the same numbers.
    steps : int, optional
        Length of both runs.

    Returns
    -------
    float
        The mean gain over the second half.
    """
    honest = Deviation(float(stage.profile[owner]), float(stage.profile[owner]), float(stage.capacities[owner]))
    lying, true = (_mean(stage, owner, one, seed, steps) for one in (deviation, honest))
    return lying - true


def _mean(stage: Stage, owner: int, deviation: Deviation, seed: int, steps: int) -> float:
    model = Federation(as_scenario(_unbalanced(stage), owner, deviation, RegretMatching(), steps), seed)
    seen = []
    while model.running:
        model.step()
        seen.append(float(model.population.utility[owner]))
    return float(np.mean(seen[len(seen) // 2 :]))


def _unbalanced(stage: Stage) -> Stage:
    """A run stops at a rule that breaks its promise to balance the budget; an audit must see what comes of it."""
    return stage if not stage.mechanism.budget_balanced else replace(stage, mechanism=Unpromised(stage.mechanism))


@dataclass(frozen=True)
class Unpromised(RuleWrapper):
    """A rule that promises nothing about its budget, but is otherwise the same."""

    budget_balanced = False
