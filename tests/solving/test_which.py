"""Which equilibrium `solve` returns, where there are several: what `several` says, by mechanism."""

import numpy as np
import pytest

import fedabm.mechanisms
from fedabm import Game
from fedabm.games.accuracy import GroupWeighted, PacBound, PowerLaw
from fedabm.mechanisms import (
    FACT,
    BanzhafShare,
    Clarke,
    ContributionSubsidy,
    CostSharing,
    Deposit,
    LeaveOneOut,
    Mechanism,
    MultiplicativeWeights,
    NoPayments,
    PartialReciprocity,
    PaymentRule,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    RealFM,
    ReverseAuction,
    ScorePayments,
    Screening,
    ShapleyShare,
    TullockContest,
    ValueShaping,
    Verification,
)
from fedabm.solving.newton import newton
from fedabm.solving.opening import opening
from fedabm.solving.search import damped, in_turn
from fedabm.solving.several import solve_all
from fedabm.solving.table import OneGame

#: each owner's data help the other one more than itself
CROSSED = GroupWeighted(((1.0, 3.0), (3.0, 1.0)), (0, 1))
SMOOTH = (NoPayments(), ContributionSubsidy(0.01), CostSharing(0.3), PartialReciprocity(0.02))
VIABLE = (
    *(NoPayments(), ContributionSubsidy(1e-6), CostSharing(0.3), ShapleyShare(), PartialReciprocity(0.5)),
    *(BanzhafShare(), Clarke(), LeaveOneOut(), ValueShaping(), Screening(1e-5, 2e-5, 0.5), ProportionalData(0.5)),
)
PROPORTIONAL = (ProportionalData(0.9), ProportionalValue(0.9), ProportionalShapley(0.9))
#: not tried here: no game with several equilibria was found or looked for
ELSEWHERE = (
    TullockContest,
    Deposit,
    Verification,
    PaymentRule,
    MultiplicativeWeights,
    FACT,
    RealFM,
    ReverseAuction,
    ScorePayments,
)


def name(rule):
    """For the names of tests."""
    return type(rule).__name__


@pytest.mark.parametrize("rule", SMOOTH, ids=name)
def test_in_smooth_games_newton_leads_from_where_slopes_cancel_to_the_even_one(rule):
    game = Game(CROSSED, [0.05, 0.05], 100, rule)
    found = solve_all(game, starts=2)
    assert found.unique is False
    reached = newton(OneGame(game), opening(OneGame(game))).profiles[0]
    np.testing.assert_allclose(found.answer.profile, reached, rtol=1e-8)
    assert found.answer.profile[0] == pytest.approx(found.answer.profile[1])
    assert found.answer.profile.sum() < 0.7 * found.every[0].profile.sum()


@pytest.mark.parametrize("rule", VIABLE, ids=name)
def test_under_minimum_viability_best_responses_lead_from_capacity_to_the_most_data(rule):
    """Nobody's data are worth anything alone, so that nobody contributing is an equilibrium too."""
    accuracy = PacBound()
    game = Game(accuracy, [1e-5] * 3, 0.8 * accuracy.viable, rule)
    found = solve_all(game, starts=2)
    assert found.unique is False
    assert any(not np.any(one.profile) for one in found.every)
    np.testing.assert_allclose(found.answer.profile, in_turn(game, game.capacities).profile, rtol=1e-8)
    assert found.answer.profile.sum() == pytest.approx(found.every[0].profile.sum())


@pytest.mark.parametrize("rule", PROPORTIONAL, ids=name)
def test_proportional_rules_take_the_same_path_and_need_not_end_at_the_most_data(rule):
    game = Game(PowerLaw(), [0.1, 0.12], 30, rule)
    found = solve_all(game, starts=2)
    assert found.unique is False
    reached = in_turn(game, game.capacities).profile
    np.testing.assert_allclose(found.answer.profile, reached, rtol=1e-4)
    assert found.every[0].profile.sum() > 1.02 * found.answer.profile.sum()


def test_of_more_than_24_owners_all_move_together():
    accuracy = PacBound()
    game = Game(accuracy, [1e-5] * 25, 0.1 * accuracy.viable, NoPayments())
    found = solve_all(game, starts=1)
    assert found.answer.method == "damped best response"
    np.testing.assert_allclose(found.answer.profile, damped(game, game.capacities).profile, rtol=1e-8)
    assert found.answer.profile.sum() == pytest.approx(found.every[0].profile.sum())


def test_every_mechanism_that_promises_something_is_tried_here_or_left_out_by_name():
    rules = {type(rule) for rule in (*SMOOTH, *VIABLE, *PROPORTIONAL)} | set(ELSEWHERE)
    every = {getattr(fedabm.mechanisms, one) for one in fedabm.mechanisms.__all__}
    kinds = {one for one in every if isinstance(one, type) and issubclass(one, Mechanism)}
    bases = {Mechanism, fedabm.mechanisms.Proportional}  # rules are made of them
    assert {one for one in kinds - bases if one.promises} == rules
