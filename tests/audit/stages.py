"""Stages for tests: small federations under every closed-form rule, rules of users' own among them, and random ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedabm import Game
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import Accuracy, PowerLaw
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
from tests.fuzz.games import draw_game


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


def random_stage(rng: np.random.Generator, mechanism: str | None = None) -> Stage:
    """A game of the fuzzer at a profile at random; every tenth under a rule of a user's own."""
    game = draw_game(rng, mechanism)
    if mechanism is None and rng.random() < 0.1:
        unit = float(np.median(game.costs.value(game.capacities) / game.capacities))
        own: tuple[Mechanism, ...] = (Bounty(unit * rng.uniform()), PaymentRule(halves))
        game = replace(game, mechanism=own[int(rng.integers(len(own)))])
    shares = np.where(rng.uniform(size=game.owners) < 0.3, rng.integers(0, 2, game.owners), rng.random(game.owners))
    return Stage.of(game, profile=shares * game.capacities)
