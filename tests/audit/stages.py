"""Stages for tests: small federations under every closed-form rule, rules of users' own among them, and random ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm import Game
from fedabm.audit.stage import Stage
from fedabm.games.accuracy import Accuracy, GroupWeighted, PacBound, PowerLaw
from fedabm.games.costs import Affine, Cost, Linear, Quadratic
from fedabm.games.curves import Line
from fedabm.games.offers import Offers, full_access
from fedabm.mechanisms import (
    BanzhafShare,
    Clarke,
    ContributionSubsidy,
    CostSharing,
    Deposit,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    PaymentRule,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
    TullockContest,
    ValueShaping,
    Verification,
)
from fedabm.views import Reports


@dataclass(frozen=True)
class Bounty(Mechanism):
    """A rule by the README's recipe: so much for every unit that is claimed."""

    rate: float
    budget_balanced = False

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        n = len(reports.contribution)
        return full_access(accuracy, reports.contribution, Line(np.zeros(n), np.full(n, self.rate)))


def halves(accuracy: Accuracy, reports: Reports) -> np.ndarray:
    """A payment of no particular shape."""
    return 0.1 * np.sin(reports.contribution)


RULES: tuple[Mechanism, ...] = (
    NoPayments(),
    ContributionSubsidy(0.02),
    CostSharing(0.3),
    CostSharing(),
    ShapleyShare(),
    PartialReciprocity(0.5),
    BanzhafShare(),
    ProportionalData(1.0),
    ProportionalData(0.5),
    ProportionalValue(1.0),
    ProportionalShapley(1.0),
    ValueShaping(),
    Screening(0.02, 0.06, 0.4),
    Clarke(),
    LeaveOneOut(),
    TullockContest(0.5),
    Deposit(),
    Verification(ContributionSubsidy(0.02)),
    Bounty(0.01),
    PaymentRule(halves),
)


def three(mechanism: Mechanism) -> Stage:
    """Three owners at a profile that is no equilibrium: quick to set up."""
    game = Game(PowerLaw(), [0.02, 0.03, 0.05], 12.0, mechanism)
    return Stage.of(game, profile=[6.0, 3.0, 1.0])


def random_stage(rng: np.random.Generator, mechanism: Mechanism, owners: int | None = None) -> Stage:
    """Owners, accuracies and a profile at random; costs are linear where the rule needs it."""
    n = owners or int(rng.integers(1, 5))
    linear = mechanism.asks_cost or isinstance(mechanism, Screening | Verification)
    game = Game(_accuracy(rng, n), [_cost(rng, linear=linear) for _ in range(n)], rng.uniform(2.0, 20.0, n), mechanism)
    shares = np.where(rng.uniform(size=n) < 0.3, rng.integers(0, 2, n), rng.uniform(size=n))
    return Stage.of(game, profile=shares * game.capacities)


def _accuracy(rng: np.random.Generator, n: int) -> Accuracy:
    kind = rng.integers(4)
    if kind == 0:
        return PowerLaw(exponent=rng.uniform(0.3, 1.5))
    if kind == 1:
        return PowerLaw(scale=rng.uniform(1.1, 2.0), exponent=rng.uniform(0.4, 1.2))
    if kind == 2:
        return GroupWeighted(rng.uniform(0.2, 2.0, (2, 2)), rng.integers(0, 2, n))
    return PacBound(ceiling=0.95, complexity=rng.uniform(0.05, 0.5))


def _cost(rng: np.random.Generator, *, linear: bool) -> Cost:
    rate = float(10.0 ** rng.uniform(-3, -0.5))
    kind = 0 if linear else rng.integers(3)
    if kind == 0:
        return Linear(rate)
    return Affine(rate, float(rng.uniform(0.0, 0.2))) if kind == 1 else Quadratic(0.1 * rate)
