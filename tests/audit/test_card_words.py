"""A card's words say no more than was proven, and its numbers fit each other."""

import numpy as np
import pytest

from fedabm.auditing import efficiency
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.efficiency import about_equilibria, about_information, about_outcome
from fedabm.auditing.evaluate import reads
from fedabm.auditing.kinds import Tried, best_statement
from fedabm.auditing.search import SearchEffort
from fedabm.auditing.stage import Stage
from fedabm.auditing.truthfulness import about_kinds
from fedabm.games.accuracy import GroupWeighted, PacBound, PowerLaw
from fedabm.mechanisms import Clarke, CostSharing, NoPayments, ShapleyShare, ValueShaping
from fedabm.solving.game import Game

COSTS = [0.02, 0.03, 0.05]


def game_of(rule, accuracy=None):
    return Game(accuracy or PowerLaw(), COSTS, 50.0, rule)


def test_the_best_statement_on_a_card_is_the_truth_where_no_lie_gains():
    stage = Stage.of(game_of(Clarke()))
    assert [best_statement(stage, owner, "cost", LieLimits())[1].cost for owner in range(3)] == [1.0, 1.0, 1.0]
    claim = about_information(stage, [], LieLimits(), SearchEffort())
    assert claim.value == 0.0
    assert "times 0" not in claim.words
    assert "nothing changes" in claim.words


def test_lies_about_costs_that_gain_are_still_told():
    stage = Stage.of(game_of(CostSharing(0.5)))
    claim = about_information(stage, [], LieLimits(), SearchEffort())
    assert "times" in claim.words
    assert best_statement(stage, 0, "cost", LieLimits())[1].cost != 1.0


def test_prices_of_anarchy_and_stability_are_at_least_one_whatever_the_climb_found(monkeypatch):
    found = efficiency.welfare_optimum

    def lower(*given):
        best = found(*given)
        return best._replace(welfare=0.9 * best.welfare)

    monkeypatch.setattr(efficiency, "welfare_optimum", lower)
    stage = Stage.of(game_of(Clarke()))
    anarchy, stability = about_outcome(stage, about_equilibria(stage, None)[1])[:2]
    assert anarchy.value >= 1.0
    assert stability.value == 1.0


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (game_of(ShapleyShare()), "it is the only one: "),
        (Game(GroupWeighted(((1, 3), (3, 1)), (0, 1)), [0.05, 0.05], 100, NoPayments()), "it is not the only one: "),
        (game_of(ValueShaping()), "others may exist: "),
    ],
    ids=["unique", "several", "open"],
)
def test_the_equilibrium_on_a_card_says_what_is_certified_of_it(game, said):
    claim = about_equilibria(Stage.of(game), None)[0]
    assert claim.status == "certified"
    assert claim.words.startswith("certified: at this profile nobody gains more than ")
    assert said in claim.words


def test_claims_that_are_bounded_by_verified_sizes_say_so():
    """Clarke's pivots follow from sizes, so that a claim beyond the stated size is none; Shapley shares read none."""
    for rule, verified in ((Clarke(), True), (ShapleyShare(), False)):
        stage = Stage.of(game_of(rule))
        assert ("size" in reads(stage)) == verified
        claim = about_kinds(stage, [Tried("claim", 0, 0.0, 0.0, 0.0, "owner 0 tells the truth")])[0]
        assert claim.status == "certified"
        assert ("sizes verified" in claim.words) == verified


def test_a_card_of_sampled_shares_says_so_and_certifies_nothing_about_the_rule():
    rng = np.random.default_rng(0)
    game = Game(PacBound(), rng.uniform(1e-4, 2e-3, 23), rng.uniform(20.0, 60.0, 23), ShapleyShare())
    stage = Stage.of(game)
    assert stage.offers.payment.sampled
    claim = efficiency.about_sampling(stage)[0]
    assert claim.value > 0
    assert "standard errors" in claim.words
    assert "certified" in claim.words
    assert efficiency.about_equilibria(stage, 0)[0].status != "certified"
    assert efficiency.about_sampling(Stage.of(game_of(ShapleyShare()))) == []
