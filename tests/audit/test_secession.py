"""Groups that had better leave: the small owners of a mean estimation, whoever pays, and rivals."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm import Game, InputError, Scenario, population
from fedabm.accuracy import MeanEstimation, PowerLaw
from fedabm.auditing import Stage
from fedabm.auditing.card import Thoroughness, audit
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.plans import Plans
from fedabm.auditing.runs import Runs, interval
from fedabm.auditing.search import SearchEffort
from fedabm.auditing.secession import about_secession, best_secession, seceding_groups
from fedabm.data import IID, from_partition, load_dataset
from fedabm.games import Rivalry
from fedabm.learning import Engine, Learning
from fedabm.mechanisms import ContributionSubsidy, LocalOnly, NoPayments, ShapleyShare
from fedabm.strategies import FixedShare
from tests.knowledge.worlds import CAPACITY, RECIPE


def full(accuracy, sizes, rule=None, cost=1e-9):
    """Owners who give all, whatever it costs."""
    game = Game(accuracy, [cost] * len(sizes), np.asarray(sizes, dtype=float), rule or NoPayments())
    return Stage.of(game, profile=game.capacities)


def test_the_small_owners_of_a_uniform_federation_leave_together():
    """Errors 1.551 together and 1.5 without the large one: 1/(1 + err) by hand."""
    gain, members, gains = best_secession(full(MeanEstimation(10.0, 1.0), [5, 5, 25]), [(0,), (0, 1), (2,), (0, 2)])
    assert members == (0, 1)
    assert gains == pytest.approx([1 / 2.5 - 1 / 2.551] * 2, abs=1e-4)
    assert gain == gains.min()


def test_nobody_leaves_a_fine_federation_or_one_in_which_all_data_help():
    for accuracy in (MeanEstimation(10.0, 1.0, "fine"), PowerLaw()):
        claim = about_secession(full(accuracy, [5, 5, 25]), 10, 0)
        assert claim.holds
        assert "all 6 groups" in claim.words


def test_that_nobody_leaves_is_certified_only_where_all_groups_are_known_for_sure():
    """Without payments every group has one equilibrium; of some groups, or where one leaves, nothing is proven."""
    alone = Stage.of(Game(PowerLaw(), [0.1, 0.15, 0.2], 10.0, NoPayments()))
    claim = about_secession(alone, 10, 0)
    assert (claim.status, claim.bound, claim.holds) == ("certified", max(claim.value, 0.0), True)
    some = about_secession(alone, 5, 0)
    assert (some.status, some.bound, some.holds) == ("found", np.inf, True)
    left = about_secession(Stage.of(Game(PowerLaw(), [0.2, 0.2, 0.01], [3.0, 3.0, 40.0], ShapleyShare())), 10, 0)
    assert (left.status, left.bound, left.holds) == ("found", np.inf, False)
    people = population([0.0001] * 3, [2.0, 2.0, 40.0])
    stands = Stage.of(Scenario(tuple(people), PowerLaw(), NoPayments(), valuation=Rivalry(0.0)))
    assert not stands.plays_a_game
    assert about_secession(stands, 10, 0).status == "certified"


@pytest.mark.parametrize(("unique", "status"), [(True, "certified"), (None, "found"), (False, "found")])
def test_a_group_that_may_play_another_equilibrium_is_not_certified(unique, status, monkeypatch):
    from fedabm.auditing import secession
    from fedabm.solving.uniqueness import Uniqueness

    monkeypatch.setattr(secession, "uniqueness", lambda game, profile: Uniqueness(unique, ""))
    stage = Stage.of(Game(PowerLaw(), [0.1, 0.15, 0.2], 10.0, NoPayments()))
    assert about_secession(stage, 10, 0).status == status


def test_a_subsidy_so_high_that_small_owners_pay_more_than_the_model_is_worth_drives_them_away():
    stage = Stage.of(Game(PowerLaw(), [0.2, 0.2, 0.01], [3.0, 3.0, 40.0], ContributionSubsidy(0.05)))
    claim = about_secession(stage, 10, 0)
    assert claim.holds is False
    assert claim.flaw == "loses groups"
    assert about_secession(Stage.of(stage.game, NoPayments()), 10, 0).holds


def test_shapley_shares_lose_the_owners_to_whom_data_are_expensive():
    """The large owner has most of the Shapley value at equilibrium, and the others, who give nothing, pay for it."""
    game = Game(PowerLaw(), [0.2, 0.2, 0.01], [3.0, 3.0, 40.0], ShapleyShare())
    gain, members, _ = best_secession(Stage.of(game), [(0, 1), (0,), (2,)])
    assert members == (0, 1)
    assert gain == pytest.approx(0.0558, abs=1e-3)


def test_rivals_leave_whom_they_need_not():
    """Equal models are worth (1 - strength) a; the large owner alone is well ahead of the two that it leaves."""
    people = population([0.0001] * 3, [2.0, 2.0, 40.0])
    for strength, leaves in ((0.0, False), (0.9, True)):
        stage = Stage.of(Scenario(tuple(people), PowerLaw(), NoPayments(), valuation=Rivalry(strength)))
        gain, members, _ = best_secession(stage, seceding_groups(stage, 10, 0)[0])
        assert (gain > 0) is leaves
        if leaves:
            assert members == (2,)
            ahead = PowerLaw().values(np.array([[40.0], [4.0], [44.0]]))[:, 0]
            assert gain == pytest.approx(ahead[0] - 0.9 * ahead[1] - 0.1 * ahead[2])


def test_many_owners_are_looked_at_by_groups_and_the_card_says_by_how_many():
    stage = full(PowerLaw(), np.arange(1.0, 11.0))
    groups, every = seceding_groups(stage, 12, 0)
    assert not every
    assert len(groups) == 12
    assert "12 of 1,022 groups" in about_secession(stage, 12, 0).words
    alone = full(PowerLaw(), [4.0])
    assert about_secession(alone, 12, 0).holds is None


def test_the_card_has_the_claim():
    game = Game(PowerLaw(), [0.1, 0.2], 10, NoPayments())
    assert audit(game, thoroughness=Thoroughness.quick()).claim("secession").holds


def test_a_rule_that_hands_out_models_is_asked_at_what_owners_contribute():
    from fedabm.market import GivenModels, ImportGain

    people = population([0.01] * 3, 20.0)
    stage = Stage.of(Scenario(tuple(people), GivenModels(np.zeros((3, 3))), LocalOnly(), valuation=ImportGain()))
    assert about_secession(stage, 10, 0).holds


def training(rule, shares, costs=1e-6):
    """Owners that train a small model for two rounds and give these shares of their data; a curve is announced."""
    owners = population([costs] * len(shares), CAPACITY, [FixedShare(one) for one in shares])
    digits = load_dataset("digits")
    few = replace(digits, x=digits.x[: 30 * len(shares)], y=digits.y[: 30 * len(shares)])
    data = from_partition(few, IID(len(shares)), 1, 0.5, one_class="allow")
    known = Learning(Engine("logistic", data, device="cpu"), RECIPE, announced=PowerLaw(exponent=0.5))
    return Scenario(tuple(owners), known, rule, steps=2)


QUICK = replace(Thoroughness.quick(), effort=SearchEffort(questions=10, owners=1), seeds=3)


def test_where_models_train_those_who_pay_for_others_data_leave_together():
    """Alone owners 0 and 1 save rate * (2/3) * capacity, the mean of the others; models are worth at most 1."""
    rate = 10.0 / CAPACITY
    claim = audit(training(ContributionSubsidy(rate), (0.0, 0.0, 1.0, 1.0)), thoroughness=QUICK).claim("secession")
    assert (claim.holds, claim.status, claim.flaw) == (False, "found", "loses groups")
    assert "owner 0, owner 1 leave together" in claim.words
    assert "tried: 2 of 10 groups" in claim.words
    assert claim.value == pytest.approx(10.0 * 2.0 / 3.0, abs=1.0)


def test_where_models_train_each_member_is_measured_by_runs_of_the_group_alone():
    scenario = training(NoPayments(), (0.5, 1.0, 1.0))
    plans = Plans(NoPayments(), Runs.of(scenario, 2), LieLimits(), chooses=0, measures=(1, 2))
    found = plans.leaving([(0, 2)])
    assert found.members == (0, 2)
    for place, row in enumerate(found.members):
        gains = [(plans.runs.score(one, among=(0, 2)).utility - plans.runs.score(one).utility)[row] for one in (1, 2)]
        assert found.gains[place] == interval(gains)
    assert plans.runs.score(1, among=(0, 2)).contribution.tolist() == [0.5 * CAPACITY, 0.0, CAPACITY]


def test_what_cannot_be_run_is_unknown_with_its_reason():
    claim = audit(training(NoPayments(), (1.0, 1.0)), thoroughness=QUICK).claim("secession")
    assert (claim.holds, claim.status) == (None, "unknown")
    assert "there are 2 owners" in claim.words


@dataclass(frozen=True)
class OfThree(NoPayments):
    """No payments, among three owners or more."""

    def offers(self, accuracy, reports):
        if len(reports.contribution) < 3:
            raise InputError("this rule takes three owners or more; add some")
        return super().offers(accuracy, reports)


def test_groups_that_a_rule_refuses_are_not_tried_and_if_it_refuses_all_it_says_why():
    few = audit(training(OfThree(), (1.0, 1.0, 1.0)), thoroughness=QUICK).claim("secession")
    assert (few.holds, few.status) == (None, "unknown")
    assert few.words == "no run of a group by itself could be made: this rule takes three owners or more; add some"
    plans = Plans(OfThree(), Runs.of(training(OfThree(), (1.0,) * 4), 2), LieLimits(), chooses=0, measures=(1, 2))
    assert plans.by_themselves([(0, 1), (1, 2, 3)])[0] == [(1, 2, 3)]
