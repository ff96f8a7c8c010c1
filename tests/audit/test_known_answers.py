"""What the literature knows comes out of the audit by itself."""

import numpy as np
import pytest

from fedabm.auditing.card import Thoroughness, audit
from fedabm.auditing.deviations import LieLimits, Lies
from fedabm.auditing.evaluate import one_by_one, utilities
from fedabm.auditing.fairness import about_budget, about_rationality
from fedabm.auditing.kinds import best_statement, skipped, try_kinds
from fedabm.auditing.names import best_merger, best_split, person_utility, split_play
from fedabm.auditing.search import SearchEffort, best_claim_alone, best_lies
from fedabm.auditing.stage import Stage
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.mechanisms import (
    Clarke,
    ContributionSubsidy,
    LeaveOneOut,
    ModelMarket,
    NoPayments,
    ProportionalData,
    Screening,
    ShapleyShare,
    ValueShaping,
)
from fedabm.mechanisms.market import GivenModels, ImportGain
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.solving.game import Game

QUICK = Thoroughness.quick()
COSTS = [0.02, 0.03, 0.05, 0.06]


def stage_of(mechanism, costs=COSTS, capacity=50.0):
    return Stage.of(Game(PowerLaw(), costs, capacity, mechanism))


def market(seed: int, owners: int = 6) -> Stage:
    """A model market at random distances, sizes, costs and eagerness."""
    rng = np.random.default_rng(seed)
    apart = rng.uniform(0.0, 0.02, (owners, owners))
    apart = np.triu(apart, 1) + np.triu(apart, 1).T
    draws = zip(
        rng.uniform(0.05, 1.0, owners), rng.integers(50, 400, owners), rng.uniform(1e3, 2e4, owners), strict=True
    )
    people = tuple(OwnerProfile(Linear(cost), float(size), eagerness=eager) for cost, size, eager in draws)
    return Stage.of(Scenario(people, GivenModels(apart), ModelMarket(), valuation=ImportGain()))


def test_over_stating_the_cost_never_pays_in_a_round_of_the_market():
    """iPFL 2025, Theorem 2."""
    for seed in range(6):
        stage = market(seed)
        for owner in range(stage.owners):
            lies = Lies.of(stage, owner, 8, cost=np.array([1.01, 1.1, 1.3, 1.7, 2.0, 3.0, 5.0, 20.0]))
            assert np.max(one_by_one(stage, owner, lies)) <= stage.settled.utility[owner] + 1e-9


def test_under_stating_the_cost_can_pay_in_the_market():
    """By crowding out a cheaper seller: the search finds such lies, all of them below the true cost."""
    gains, factors = [], []
    for seed in range(6):
        stage = market(seed)
        for owner in range(stage.owners):
            value, deviation = best_statement(stage, owner, "cost", LieLimits())
            gains.append(value - stage.settled.utility[owner])
            factors.append(deviation.cost)
    paying = np.array(gains) > 1e-6
    assert np.any(paying)
    assert np.all(np.array(factors)[paying] < 1)


@pytest.mark.parametrize("cost", [0.02, 0.06])
def test_screening_is_truthful_for_two_types(cost):
    """Each type likes its own corner of the menu best, by a certificate.  Karimireddy et al. 2022, Theorem VII."""
    rule = Screening(0.02, 0.06, 0.4)
    stage = stage_of(rule, [cost, 0.03, 0.05])
    reports = stage.heard(stage.truth.reports)
    menu = rule.menu(stage.accuracy, reports)
    meant = menu.down[0] if cost == 0.02 else menu.up[0]
    other = menu.up[0] if cost == 0.02 else menu.down[0]
    offers = stage.offers.take([0])
    worth = [float(offers.benefit.value(np.array([x]))[0] - cost * x) for x in (meant, other)]
    assert worth[0] >= worth[1] - 1e-9
    assert worth[0] == pytest.approx(float(stage.honest.utility[0]), abs=1e-8)
    assert skipped(stage)["cost"] == "the rule does not ask for it: cost"


def test_clarke_is_truthful_in_costs_and_not_balanced():
    stage = stage_of(Clarke())
    for owner in range(stage.owners):
        value, deviation = best_statement(stage, owner, "cost", LieLimits())
        assert value <= stage.honest.utility[owner] + 1e-9, deviation
    budget = about_budget(stage, 8, seed=0)
    assert not budget.holds
    assert budget.flaw == "leaks money"


def test_the_subsidy_pays_for_claims_and_says_how_much():
    card = audit(Game(PowerLaw(), COSTS, 50.0, ContributionSubsidy(0.02)), thoroughness=QUICK)
    assert card.flaws[0].flaw == "rewards lying"
    assert card.flaws[0].status == "certified"
    assert card.claim("lies: claim").value == pytest.approx(2.0)  # 0.02 * 100, by the owner that contributes nothing


@pytest.mark.parametrize(("mine", "theirs"), [(6.0, 6.0), (1.0, 1.0), (0.1, 6.0)])
def test_a_second_name_loses_under_shapley_shares_and_a_merger_gains(mine, theirs):
    """v(s) = s / (1 + s), by hand: one name has v(x) + v(x+y) - v(y); two halves have 2 phi - v(x+y), where

        phi = 3 [v(x/2)/3 + (v(x) - v(x/2))/6 + (v(x/2+y) - v(y))/6 + (v(x+y) - v(x/2+y))/3],

    since every name is another one that gains by the model, and is charged for it.
    """
    stage = Stage.of(Game(PowerLaw(), [0.0, 0.0], 20.0, ShapleyShare()), profile=[mine, theirs])
    half, both = mine / 2, mine + theirs
    one = _v(mine) + _v(both) - _v(theirs)
    terms = (
        _v(half) / 3,
        (_v(mine) - _v(half)) / 6,
        (_v(half + theirs) - _v(theirs)) / 6,
        (_v(both) - _v(half + theirs)) / 3,
    )
    two = 2 * 3 * sum(terms) - _v(both)
    assert stage.settled.utility[0] == pytest.approx(one)
    play = split_play(stage, 0, mine, np.array([0.5, 0.5]))
    assert person_utility(stage, 0, play, stage.settle(play)) == pytest.approx(two)
    assert two < one
    three = Stage.of(Game(PowerLaw(), [0.0] * 3, 20.0, ShapleyShare()), profile=[half, half, theirs])
    assert best_merger(three, 0, 1)[0] > 0


def _v(data: float) -> float:
    return data / (1 + data)


def test_a_second_name_pays_under_leave_one_out():
    """Each name is paid what the other names of the same owner would lose without it."""
    stage = stage_of(LeaveOneOut())
    gain, _, words = best_split(stage, 0, 2, SearchEffort())
    assert gain > 0.01
    assert "2 names" in words


def test_no_payments_have_no_profitable_lie():
    card = audit(Game(PowerLaw(), COSTS, 50.0, NoPayments()), thoroughness=QUICK)
    assert card.flaws == []
    truth = card.claim("truthfulness")
    assert truth.holds
    assert truth.status == "certified"
    assert truth.bound <= 1e-7


def test_value_shaping_with_verified_costs_leaves_nobody_below_its_own_optimum():
    """Karimireddy et al. 2022, Theorem V."""
    claim = about_rationality(stage_of(ValueShaping()), 8, seed=0)
    assert claim.holds
    assert claim.status == "theorem"


def test_no_lie_about_the_cost_alone_pays_without_a_rule_that_asks_for_it():
    tried = {one.kind: one for one in try_kinds(stage_of(ContributionSubsidy(0.02)))}
    assert "cost" not in tried


def test_the_more_owners_share_a_subsidy_the_less_one_lie_matters():
    small, large = (stage_of(ContributionSubsidy(0.02), [0.03] * n, 10.0) for n in (2, 8))
    gains = [best_lies(stage)[0].gain for stage in (small, large)]
    assert gains[0] == pytest.approx(gains[1], rel=0.2)  # the liar's own payment does not depend on how many pay it


def test_claiming_nothing_does_not_escape_rationing():
    """v(S) = max(0, 1 - 2 / (1 + S)): what is claimed makes no model, but 0.5 + 0.9 really given do, worth 1/6."""
    game = Game(PowerLaw(scale=2.0), [0.01, 0.01], 1.0, ProportionalData(1.0))
    stage = Stage.of(game, profile=[0.5, 0.2])
    assert stage.accuracy.values(np.array([[0.5, 0.9]]))[0, 1] == pytest.approx(1 / 6)
    lies = Lies.of(stage, 1, 3, claim=np.array([0.0, 0.25, 0.5]), contribution=np.array([0.9, 0.9, 0.9]))
    expected = np.array([0.0, 0.5, 1.0]) / 6 - 0.009
    np.testing.assert_allclose(utilities(stage, 1, lies), expected, atol=1e-12)
    np.testing.assert_allclose(one_by_one(stage, 1, lies), expected, atol=1e-12)


def test_what_the_claims_make_worthless_is_not_rationed_by_worth_and_the_audit_finds_it():
    """Value shaping promises a worth: of a model that is worth nothing by all claims it hands over everything."""
    game = Game(PowerLaw(scale=2.0), [0.01, 0.01], 1.0, ValueShaping())
    stage = Stage.of(game, profile=[0.5, 0.2])
    lies = Lies.of(stage, 1, 1, claim=np.array([0.0]), contribution=np.array([0.9]))
    assert utilities(stage, 1, lies)[0] == pytest.approx(1 / 6 - 0.009)
    found = best_claim_alone(stage, 1, LieLimits())
    assert found.honest + found.gain >= utilities(stage, 1, lies)[0] - 1e-9
