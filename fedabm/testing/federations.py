"""Small federations drawn by a seed, on which mechanisms are checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedabm.games.accuracy import Accuracy, GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Linear, PowerCost
from fedabm.mechanisms import Mechanism
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import GradientResponse, Honest, Quitter, Random
from fedabm.testing.models import RepeatedModels, plain_models
from fedabm.views import Outcome, Reports, Sent, ServerView, TermsCache

__all__ = ["ACCURACIES", "OWNERS", "everything", "reports_of", "restless", "settle"]

OWNERS = 5
#: the first two owners are equal in all of them
ACCURACIES: dict[str, Accuracy] = {
    "power_law": PowerLaw(exponent=0.7),
    "viability": PowerLaw(scale=1.4, exponent=0.5),
    "groups": GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 0, 1, 1, 0)),
    "coverage": RandomCoverage([[0.2, 0.1, 0.3]] * 2 + [[0.4, 0.2, 0.1]] * 3),
}


def everything(seed: int, n: int = OWNERS) -> Reports:
    """Reports of all that a mechanism could ask for."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(2.0, 12.0, n)
    claimed = size * rng.choice([0.0, 0.2, 0.7, 1.0], n) * rng.uniform(0.5, 1.0, n)
    cost = PowerCost(rng.uniform(0.01, 0.08, n), np.ones(n), np.zeros(n))
    return Reports(claimed, size, cost, rng.uniform(1.0, 5.0, n), np.arange(n), cache=TermsCache())


def reports_of(seed: int, mechanism: Mechanism, n: int = OWNERS) -> Reports:
    """Reports of what the mechanism asks for."""
    full = everything(seed, n)
    cost, eagerness = full.cost if mechanism.asks_cost else None, full.eagerness if mechanism.asks_eagerness else None
    return replace(full, cost=cost, eagerness=eagerness)


def settle(mechanism: Mechanism, accuracy: Accuracy, reports: Reports, sent: Sent | None = None) -> Outcome:
    """What the mechanism decides; models are made up where it exchanges them."""
    return mechanism.settle(ServerView(1, reports, accuracy, sent or plain_models(reports)))


def restless(mechanism: Mechanism) -> Scenario:
    """Owners that come, go and draw random numbers."""
    strategies = [Random(0.2, 0.9), Honest(), Quitter(Random(), chance=0.3), GradientResponse(0.5), Honest()]
    joins = [1, 1, 1, 3, 2]
    owners = [
        OwnerProfile(Linear(0.02 + 0.01 * i), 5.0 + i, strategy, eagerness=20.0, joins=joins[i])
        for i, strategy in enumerate(strategies)
    ]
    return Scenario(tuple(owners), PowerLaw() if mechanism.promises else RepeatedModels(OWNERS), mechanism, steps=6)
