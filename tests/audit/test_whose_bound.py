"""What a card calls proven is proven of every owner."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedabm import Game
from fedabm.auditing.card import Thoroughness, audit
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.kinds import try_kinds
from fedabm.auditing.search import SearchEffort, best_claim_alone
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import PowerLaw
from fedabm.games.curves import Line
from fedabm.games.offers import full_access
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments

COSTS = [0.1, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]


@dataclass(frozen=True)
class Favour(Mechanism):
    """One owner is paid for its claim."""

    owner: int
    budget_balanced = False
    equal_treatment = False

    def offers(self, accuracy, reports):
        rate = np.where(np.arange(len(reports.contribution)) == self.owner, 0.001, 0.0)
        return full_access(accuracy, reports.contribution, Line(np.zeros(len(rate)), rate))


@dataclass(frozen=True)
class OwnClaim(Mechanism):
    """Against the contract the offer itself depends on the own claim."""

    budget_balanced = False

    def offers(self, accuracy, reports):
        claims = reports.contribution
        return full_access(accuracy, claims, Line(0.05 * claims, np.zeros(len(claims))))


def test_nothing_is_certified_of_owners_that_nobody_looked_at():
    game = Game(PowerLaw(), COSTS, 20.0, Favour(4))
    assert best_claim_alone(Stage.of(game), 4, LieLimits()).gain == pytest.approx(0.04)
    quick = audit(game, thoroughness=Thoroughness.quick()).claim("lies: claim")
    assert (quick.status, quick.bound) == ("found", np.inf)
    (found,) = [one for one in try_kinds(Stage.of(game), LieLimits(), SearchEffort(owners=8)) if one.kind == "claim"]
    assert (found.owner, found.gain) == (4, pytest.approx(0.04))
    assert found.gain <= found.bound < np.inf


def test_an_offer_that_depends_on_the_own_claim_is_not_certified():
    stage = Stage.of(Game(PowerLaw(), [0.01, 0.02], 20.0, OwnClaim()))
    found = best_claim_alone(stage, 0, LieLimits(), SearchEffort(questions=60))
    assert found.bound == np.inf
    assert found.gain > 1.0


def test_a_merger_is_told_of_an_owner_that_merges():
    stage = Stage.of(Game(PowerLaw(), [0.01, 0.02, 0.05, 0.1], 20.0, ContributionSubsidy(0.02)))
    (merged,) = [one for one in try_kinds(stage, LieLimits(), SearchEffort(questions=20)) if one.kind == "merging"]
    assert str(merged.owner) in merged.words.split(" enter ")[0]


def test_where_nothing_can_be_gained_anarchy_costs_nothing():
    card = audit(Game(PowerLaw(), [5.0, 5.0], 20.0, NoPayments()), thoroughness=Thoroughness.quick())
    assert card.claim("price of anarchy").value == card.claim("price of stability").value == 1.0
