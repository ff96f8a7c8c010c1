"""Planted optima are found within bounds, also behind a lower peak; equal seeds repeat; the start is never lost."""

import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

from fedabm import Game, InputError
from fedabm.accuracy import PowerLaw
from fedabm.checks import Bounds, bounds_of, given, within
from fedabm.common.errors import MissingExtraError
from fedabm.mechanisms import (
    ContributionSubsidy,
    Deposit,
    NoPayments,
    PaymentRule,
    ShapleyShare,
    TullockContest,
    Verification,
)
from fedabm.solving import EquilibriumGoal, tune


@dataclass(frozen=True)
class Knobs:
    """Two numbers to tune, one whole number, and one that is no choice."""

    across: float = field(default=0.0, metadata=within(-2.0, 2.0))
    scale: float = field(default=1.0, metadata=within(1e-3, 1e3, log=True))
    count: int = field(default=1, metadata=within(1, 9, whole=True))
    belief: float = field(default=0.3, metadata=given("a belief"))


def quadratic(knobs):
    return -((knobs.across - 0.7) ** 2) - np.log10(knobs.scale / 0.02) ** 2 - 0.1 * (knobs.count - 6) ** 2


def test_of_two_peaks_the_higher_is_found_though_the_other_one_is_wider():
    def goal(knobs):
        return np.exp(-((knobs.across + 1.2) ** 2) / 0.5) + 1.2 * np.exp(-((knobs.across - 1.37) ** 2) / 0.02)

    found = tune(Knobs(), goal, budget=60, bounds={"across": (-2.0, 2.0)})
    assert found.parameters == {"across": pytest.approx(1.37, abs=1e-3)}
    assert len(found.trials) <= 60


@pytest.mark.parametrize("planted", [-2.0, -0.3141, 1.999, 2.0])
def test_one_parameter_is_found_wherever_it_lies(planted):
    found = tune(Knobs(), lambda knobs: -abs(knobs.across - planted), budget=40, bounds={"across": (-2.0, 2.0)})
    assert found.rule.across == pytest.approx(planted, abs=2e-3)


@pytest.mark.parametrize("method", ["scipy", "optuna"])
def test_several_parameters_are_found_together_and_equal_seeds_repeat(method):
    if method == "optuna":
        pytest.importorskip("optuna")
    found = tune(Knobs(), quadratic, budget=200, seed=3, method=method)
    assert found.value > -0.15
    assert found.rule.count in (5, 6, 7)
    assert found.rule.belief == 0.3
    again = tune(Knobs(), quadratic, budget=200, seed=3, method=method)
    assert again == found
    assert again.trials.equals(found.trials)
    assert not tune(Knobs(), quadratic, budget=200, seed=4, method=method).trials.equals(found.trials)


@pytest.mark.parametrize("budget", [1, 2, 7, 31])
def test_the_budget_is_kept_and_the_rule_that_is_given_is_never_lost(budget):
    asked = []
    start = Knobs(0.7, 0.02, 6)
    found = tune(start, lambda knobs: asked.append(knobs) or quadratic(knobs), budget)
    assert found.rule == start == asked[0]
    assert len(asked) == len(found.trials) <= budget
    legal = found.trials["across"].between(-2, 2) & found.trials["scale"].between(1e-3, 1e3)
    assert legal.all()


def test_what_has_no_value_is_passed_over_and_says_why():
    def goal(knobs):
        if knobs.across > 1:
            raise InputError("too far")
        return np.nan if knobs.across < -1 else knobs.across

    found = tune(Knobs(), goal, budget=40, bounds={"across": (-2.0, 2.0)})
    assert found.value == pytest.approx(1.0, abs=0.01)
    assert {"too far", "the goal has no value", ""} == set(found.trials["why"])
    with pytest.raises(InputError, match="no trial of 5 has a value: the goal has no value; look at the goal"):
        tune(Knobs(), lambda knobs: np.nan, budget=5)


def test_parameters_of_a_rule_within_a_rule_and_of_a_class_are_tuned():
    assert set(bounds_of(Verification(ContributionSubsidy(0.1)))) == {"fine", "rule.rate"}
    found = tune(Deposit(ContributionSubsidy(0.1)), lambda rule: -abs(np.log(rule.rule.rate / 0.01)), budget=150)
    assert found.rule.rule.rate == pytest.approx(0.01, rel=0.02)
    assert tune(TullockContest, lambda rule: -rule.prize, budget=40).rule.prize == pytest.approx(1e-3, rel=0.05)
    assert tune(ShapleyShare(), lambda rule: 3.0).method == "no parameters"


def test_the_best_subsidy_of_two_equal_owners_is_half_of_what_data_cost():
    """Each owner's slope is v'(S) + rate = c, and welfare is largest where 2 v'(S) = c."""
    games = [Game(PowerLaw(), [cost, cost], 100, NoPayments()) for cost in (0.1,)]
    found = tune(ContributionSubsidy, EquilibriumGoal("welfare", games), budget=50)
    assert found.rule.rate == pytest.approx(0.05, rel=0.01)


def test_what_cannot_be_asked_is_refused_in_a_line(monkeypatch):
    with pytest.raises(InputError, match="Knobs has no parameter 'belief' to tune"):
        tune(Knobs(), quadratic, bounds={"belief": (0, 1)})
    with pytest.raises(InputError, match="PaymentRule needs function, which nobody tunes"):
        tune(PaymentRule, quadratic)
    with pytest.raises(InputError, match="lower bound 2 is not below"):
        Bounds(2.0, 1.0)
    with pytest.raises(InputError, match="orders of magnitude"):
        within(0.0, 1.0, log=True)
    with pytest.raises(InputError, match="unknown method 'bayes'"):
        tune(Knobs(), quadratic, method="bayes")
    with pytest.raises(InputError, match="unknown goal 'welfair'; did you mean 'welfare'"):
        EquilibriumGoal("welfair", [Game(PowerLaw(), [0.1], 1, NoPayments())])
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fedabm\[tune\]'"):
        tune(Knobs(), quadratic, method="optuna")
