"""Where the audit looked away: rules and accuracies without a promised shape, fines beside a rule, joint statements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from fedabm import Game
from fedabm.auditing import search
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.groups import Contributions, best_joint_lie
from fedabm.auditing.search import SearchEffort, best_claim_alone, best_lie
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import Custom, PowerLaw
from fedabm.games.costs import Quadratic
from fedabm.mechanisms import Clarke, ContributionSubsidy, Deposit, LeaveOneOut, NoPayments, PaymentRule, Verification
from fedabm.mechanisms.supervised import Supervised
from tests.audit.global_search import Lying, best_joint, best_single
from tests.audit.many_bounds import Tally, beside_search
from tests.audit.stages import random_stage, three

COSTS, EFFORT = [0.02, 0.03, 0.05], SearchEffort(questions=100)


def waves(total):
    """A curve that no shape is promised of."""
    return 0.5 + 0.3 * np.sin(total) * np.exp(-0.02 * total)


def comb(accuracy, reports) -> np.ndarray:
    """A payment with many peaks, the highest of them narrow."""
    x = reports.contribution
    return 0.1 * np.sin(2.0 * x) + 0.4 * np.exp(-(((x - 17.3) / 0.15) ** 2))


def lying(stage: Stage) -> Lying:
    return Lying(stage.accuracy, stage.mechanism, stage.costs, stage.capacities, stage.profile)


@pytest.mark.parametrize(
    ("accuracy", "rule"),
    [(Custom(waves), ContributionSubsidy(0.02)), (PowerLaw(), PaymentRule(comb))],
    ids=["accuracy", "payment"],
)
def test_the_best_lie_is_found_where_no_shape_is_promised(accuracy, rule):
    """A global search finds no more; three points of a grid once were all that was asked."""
    stage = Stage.of(Game(accuracy, COSTS, 12.0, rule), profile=[6.0, 3.0, 1.0])
    for owner in range(3):
        most = best_single(lying(stage), owner, np.random.default_rng(owner), 4000) - stage.honest.utility[owner]
        assert best_lie(stage, owner, LieLimits(), EFFORT).gain >= 0.9 * most


def test_fines_only_take_so_that_the_proof_of_the_rule_beneath_stands():
    bare = Stage.of(Game(PowerLaw(), COSTS, 12.0, ContributionSubsidy(0.02)), profile=[6.0, 3.0, 1.0])
    for rule in (Deposit(ContributionSubsidy(0.02)), Verification(ContributionSubsidy(0.02), fine=0.01)):
        stage = Stage.of(Game(PowerLaw(), COSTS, 12.0, rule), profile=[6.0, 3.0, 1.0])
        found, beneath = best_claim_alone(stage, 0, LieLimits(), EFFORT), best_lie(bare, 0, LieLimits(), EFFORT)
        assert found.certified
        assert found.bound == pytest.approx(beneath.bound)
        most = best_single(lying(stage), 0, np.random.default_rng(1), 4000) - stage.honest.utility[0]
        assert 0.9 * most <= found.gain <= found.bound


@dataclass(frozen=True)
class Bonus(Supervised):
    """Something that is called a fine, and pays."""

    def fines(self, view, evidence):
        return np.full(len(evidence.accuracy), -0.1) * view.reports.contribution


def test_what_is_called_a_fine_and_pays_proves_nothing():
    stage = Stage.of(Game(PowerLaw(), COSTS, 12.0, Bonus(ContributionSubsidy(0.02))), profile=[6.0, 3.0, 1.0])
    assert not best_claim_alone(stage, 0, LieLimits(), EFFORT).certified


def test_two_owners_who_misstate_their_costs_together_under_clarke_are_found():
    """Owners have far more data than they contribute: a search between all of it sees only folly."""
    stage = Stage.of(Game(PowerLaw(exponent=0.5), [Quadratic(0.001)] * 3, 1e4, Clarke()))
    alone = [best_lie(stage, owner, LieLimits(), EFFORT) for owner in (0, 1)]
    joint = best_joint_lie(stage, (0, 1), LieLimits(), SearchEffort(questions=40), alone)
    stated = Lying(stage.accuracy, Clarke(), stage.costs, stage.capacities, stage.profile, costed=True)
    most = best_joint(stated, (0, 1), np.random.default_rng(2), 500) - stage.settled.utility[:2].sum()
    assert joint.gain + joint.honest_gain >= 0.9 * most
    assert joint.gain > 0.0


def test_two_liars_are_found_far_from_what_they_contribute_where_no_shape_is_promised():
    """Game 3016 of `many_bounds`: the owner who contributes nothing claims twice what it has, on another wave."""
    accuracy = Custom(lambda s: np.broadcast_to(0.5 + 0.4 * np.sin(1.4 * s.sum(axis=1, keepdims=True)), s.shape))
    stage = Stage.of(Game(accuracy, [0.7, 0.1], [5.4, 15.6], LeaveOneOut()), profile=[4.5, 0.0])
    alone = [best_lie(stage, owner, LieLimits(), EFFORT) for owner in (0, 1)]
    joint = best_joint_lie(stage, (0, 1), LieLimits(), EFFORT, alone)
    most = best_joint(lying(stage), (0, 1), np.random.default_rng(2), 2000) - stage.settled.utility.sum()
    assert joint.gain + joint.honest_gain >= 0.97 * most
    assert joint.gain > 0.1 * most


def test_a_global_search_sees_what_the_audit_misses():
    """An audit that says nothing is noticed in the second column."""
    stage = Stage.of(Game(PowerLaw(), COSTS, 12.0, ContributionSubsidy(0.02)), profile=[6.0, 3.0, 1.0])
    found = best_lie(stage, 0, LieLimits(), EFFORT)
    blind = type(found)(0, found.deviation, 0.0, np.inf, found.honest, 1, "")
    tally = Tally()
    beside_search(stage, 0, blind, "blind", tally, 500)
    assert tally.shares["alone"][0][0] == 0.0
    tally = Tally()
    beside_search(stage, 0, found, "seeing", tally, 500)
    assert tally.shares["alone"][0][0] >= 0.9
    assert tally.shares["together"][0][0] >= 0.9
    assert best_joint(lying(stage), (0, 1), np.random.default_rng(0), 500) > stage.settled.utility[:2].sum()


def test_behind_every_statement_a_pair_contributes_what_is_best_for_both():
    """2 / (1 + S)^2 = 0.02 where the cheaper one gives alone: S = 9, of which the third owner gives 1."""
    stage = three(NoPayments())
    axes = [np.linspace(0.0, 12.0, 8)] * 2
    behind = Contributions.of(stage, (0, 1), axes)
    assert behind.sharpened(np.ones(2), np.zeros(2)) == pytest.approx([8.0, 0.0], abs=1e-5)
    assert behind.best(np.ones(2), np.array([1.0, 2.0]))[0] == pytest.approx(
        behind.best(np.ones(2), np.zeros(2))[0] + 3
    )


def test_a_pair_misstates_sizes_also_where_offers_are_concave_in_contributions():
    """Whoever is said to have little is asked for little: what is concave in a claim need not be so in a size."""
    stage = random_stage(np.random.default_rng([0, 1003]))
    joint = best_joint_lie(stage, (1, 2), LieLimits(), SearchEffort(questions=40), [])
    assert joint.gain + joint.honest_gain >= 0.1096


def test_a_search_that_leaves_its_bounds_by_rounding_asks_nobody_there(monkeypatch):
    """SciPy's Powell was seen at -7e-21, where a cost may rightly be undefined."""
    asked = []

    def rounding(loss, start, **given):
        loss(np.full(2, -7e-21))
        return OptimizeResult(x=np.array([1.0 + 1e-16, -7e-21]), fun=0.0)

    monkeypatch.setattr(search, "minimize", rounding)
    best, _ = search.powell(lambda point: asked.append(point) or 0.0, [(0.0, 1.0)] * 2, np.array([-1e-20, 0.5]), EFFORT)
    assert all(np.all((point >= 0) & (point <= 1)) for point in [*asked, best])
    assert asked
