"""Recommendations find planted optima, keep conditions, and say what they rest on."""

import numpy as np
import pytest

from fedabm import Game
from fedabm.accuracy import PowerLaw
from fedabm.advice.conditions import Condition, conditions_of
from fedabm.advice.consortium import Consortium
from fedabm.advice.families import FAMILIES
from fedabm.advice.judging import GOALS, Judge
from fedabm.advice.progress import FoundSteps
from fedabm.advice.recommendation import recommend
from fedabm.common.errors import InputError
from fedabm.comparison.wanted import Wanted
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments

COMMON = Game(PowerLaw(), [0.01, 0.013, 0.02], 100.0, NoPayments())


@pytest.mark.parametrize("costs", [[0.01] * 3, [0.01, 0.013, 0.02], [0.01, 0.02, 0.02, 0.03]])
def test_the_share_of_costs_that_is_best_on_a_common_total(costs):
    """Only the cheapest gives, at (1 - rate) of its cost, and all n of them gain: rate = 1 - 1/n."""
    game = Game(PowerLaw(), costs, 100.0, NoPayments())
    found = recommend(game, Wanted(families=("cost sharing",)), audits=0, lies=False)
    assert found.best.parameters["rate"] == pytest.approx(1 - 1 / len(costs), rel=1e-3)


def test_the_smallest_subsidy_at_which_everybody_gives_everything():
    """The dearest owner gives all it has if rate >= c - v'(S), S the total of all data."""
    costs, total = np.array([0.5, 0.7, 0.9]), 30.0
    game = Game(PowerLaw(), costs, 10.0, NoPayments())
    found = recommend(game, Wanted(goal="data", families=("contribution subsidy",)), audits=0, lies=False)
    assert found.best.mean == pytest.approx(total)
    assert found.best.parameters["rate"] == pytest.approx(0.9 - 1 / (1 + total) ** 2, rel=1e-3)


def test_with_nothing_verified_only_rules_that_pay_nothing_remain():
    asked = Wanted(conditions=("best_lie <= 1%",), families=("no payments", "cost sharing", "Shapley shares"))
    found = recommend(COMMON, asked, audits=0)
    assert found.best.name == "no payments"
    assert "only rules that pay nothing remain" in found.sentence
    lies = [one.alone.worst for one in found.candidates if one.broken]
    assert min(lies) > 0.2
    verified = Wanted(**{**vars(asked), "verified": ("contributions", "costs")})
    paying = recommend(COMMON, verified, audits=0)
    assert paying.best.moved > 0
    assert paying.best.alone.worst == 0


def test_without_a_condition_it_recommends_what_brute_force_finds():
    asked = Wanted(families=("no payments", "cost sharing", "contribution subsidy", "partial reciprocity"))
    found = recommend(COMMON, asked, audits=0, lies=False)
    judge = Judge(Consortium.of_game(COMMON))
    grid = [
        float(GOALS["welfare"](judge.outcomes(rule))[0])
        for rate in np.linspace(0, 1, 41)
        for rule in (CostSharing(rate), ContributionSubsidy(0.04 * rate))
    ]
    assert found.best.mean >= max(grid) - 1e-9


def test_two_rules_with_the_same_effect_are_called_a_tie():
    found = recommend(COMMON, Wanted(families=("cost sharing", "contribution subsidy")), audits=0, lies=False)
    assert [one.name for one in (found.best, *found.ties)].count("cost sharing") == 1
    assert len(found.ties) == 1
    assert "ties with" in found.sentence


@pytest.mark.parametrize("text", ["best_lie <= 1", "rational <= 2", "budget", "balance", "pairs <= x%"])
def test_conditions_that_mean_nothing_are_refused(text):
    with pytest.raises(InputError):
        conditions_of((text,))


def test_conditions_say_in_how_many_draws_they_hold():
    consortium = Consortium.of_game(COMMON)
    outcomes = Judge(consortium).outcomes(CostSharing(0.5))
    assert Condition("balanced").holds(CostSharing(0.5), outcomes, consortium) == 1.0
    assert Condition("budget", 0.0).holds(CostSharing(0.5), outcomes, consortium) == 1.0


def test_every_kind_says_what_it_takes():
    consortium = Consortium.of_game(COMMON)
    plain = Wanted(paid="nothing", ask=("data",))
    fits = [one.name for one in FAMILIES if not one.misfit(one.start(consortium), plain)]
    assert fits == ["no payments"]


def test_an_interrupted_search_goes_on_and_finds_the_same(tmp_path):
    asked = Wanted(families=("cost sharing", "contribution subsidy"))
    first = recommend(COMMON, asked, audits=0, lies=False, progress=FoundSteps(tmp_path / "p.json", "q"))
    again = FoundSteps(tmp_path / "p.json", "q")
    assert again.steps == 2
    second = recommend(COMMON, asked, audits=0, lies=False, progress=again)
    assert second.sentence == first.sentence
    assert second.solved < first.solved
    assert FoundSteps(tmp_path / "p.json", "another question").steps == 0
