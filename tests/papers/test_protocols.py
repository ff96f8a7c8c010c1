"""The papers' protocols on closed forms: the same code as on real data, with answers that are known."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.common.errors import InputError
from fedabm.games.accuracy import Accuracy, Announced, GroupWeighted, JointQuadratic, Phased, PowerLaw, Schedule
from fedabm.games.costs import Linear
from fedabm.games.messages import OwnerMessages
from fedabm.learning.oracles import MeasuredCurve
from fedabm.mechanisms import (
    BanzhafShare,
    ContributionSubsidy,
    CostSharing,
    MultiplicativeWeights,
    NoPayments,
    ShapleyShare,
)
from fedabm.papers.doshi2025.protocols import fed_avg_strategic, two_phase_upbred, upbred
from fedabm.papers.murhekar2023.protocols import fed_br, fed_br_bg
from fedabm.papers.murhekar2025.protocols import fed_br_shap
from fedabm.papers.protocols import Protocol, fed_avg, mw_fed
from fedabm.shapley import shapley
from fedabm.simulation.scenario import OwnerProfile
from fedabm.simulation.treasury import net, within_budgets
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.solving.rates import full_contribution_steps
from fedabm.strategies import AsAsked, FreeRider, Honest, Keep, Liar, Quitter, Random
from fedabm.views import INFORMATION, SERVER, Reports, Transfers
from tests.conftest import assert_equal_frames, run

COSTS = (0.04, 0.02)
CURVE = MeasuredCurve([0, 10, 20, 40, 80, 160], [0.1, 0.5, 0.65, 0.75, 0.8, 0.82])
GROUPS = GroupWeighted(weights=((0.03, 0.005), (0.004, 0.02)), groups=(0, 0, 0, 1, 1, 1))
ALL: list[Protocol] = [
    fed_avg(),
    upbred(0.25),
    fed_avg_strategic(0.25, at_most=5),
    two_phase_upbred(0.25, 0.1, at_most=5),
    mw_fed(0.5, 30.0),
    fed_br(),
    fed_br(step=2.0),
    fed_br_bg(),
    fed_br_shap(5.0, active=2, window=3),
]


def contributions(model: Federation) -> np.ndarray:
    return model.frames().owners.pivot(index="step", columns="owner", values="contribution").to_numpy()


# Example 1 of Doshi et al. 2025


def example(steps: int) -> Scenario:
    return upbred(0.25, least=0.0).scenario(JointQuadratic(), COSTS, 5.0, starts=5.0, steps=steps)


def test_upbred_follows_the_corrected_trace_of_example_1():
    trace = contributions(run(example(1100)))
    assert trace[199] == pytest.approx([3.124825, 4.096473], abs=1e-6)
    assert trace[499] == pytest.approx([0.124825, 2.596473], abs=1e-6)
    assert np.all(trace[-1] == 0)
    assert 1000 < len(trace) <= 1100


@pytest.mark.parametrize(("start", "subsidy"), [(1.0, 0.5), (0.0, 1.0), (2.5, 0.1)])
def test_two_phases_keep_to_the_bound_and_then_learn_everything(start, subsidy):
    rule = two_phase_upbred(0.25, subsidy, least=0.0, tolerance=0.0)
    made = run(rule.scenario(JointQuadratic(), COSTS, 5.0, start, steps=3000))
    trace, bound = contributions(made), full_contribution_steps([5.0] * 2, [start] * 2, 0.25, subsidy, max(COSTS))
    full = int(np.argmax(np.all(trace == 5.0, axis=1))) + 1
    assert full <= bound
    assert made.state.waited <= bound
    assert made.accuracy.error < 1e-9
    assert made.population.accuracy.sum() == pytest.approx(2.0)
    assert made.frames().owners.groupby("step")["payment"].sum().abs().max() < 1e-9


def test_a_subsidy_below_somebodys_cost_still_ends_the_first_phase():
    # 0.1 - 0.02 > 0 > 0.1 - 0.3, and the others' data make the accuracy too flat to matter
    made = run(
        two_phase_upbred(0.25, 0.1).scenario(JointQuadratic(weights=(0.9, 1.9)), (0.02, 0.3), 5.0, 2.0, steps=600)
    )
    assert made.population.contribution.tolist() == [5.0, 1.0]
    assert made.state.begun
    assert made.accuracy.error < 1e-3


def test_strategic_fedavg_settles_first_and_never_moves_again():
    made = run(
        fed_avg_strategic(0.25, least=0.0, tolerance=1e-3).scenario(JointQuadratic(), COSTS, 5.0, 4.0, steps=3000)
    )
    trace = contributions(made)
    start = made.state.waited
    assert 0 < start < 3000
    assert np.abs(trace[start] - trace[start - 1]).max() <= 1e-3
    game = Game(JointQuadratic(), list(COSTS), 5.0, NoPayments())
    assert game.gap(trace[start]) < 0.01


def after(training: Phased, profile: np.ndarray, rounds: int) -> Accuracy:
    """The accuracy after some rounds on the same contributions."""
    state = training.begin(0)
    for _ in range(rounds):
        state, _ = training.round(state, OwnerMessages.honest(profile))
    return training.worth(state)


def test_phases_without_conditions_train_at_once_and_waiting_forever_is_refused():
    assert Schedule().over(PowerLaw(), [1.0]) is not None
    assert isinstance(Schedule().over(PowerLaw(), [1.0]), PowerLaw)
    joint = JointQuadratic()
    now = np.array([5.0, 5.0])
    assert after(Phased(joint), now, 1) == joint.advance(now)
    assert after(Phased(joint, at_most=2), now, 2) == joint
    assert after(Phased(joint, at_most=2), now, 3) == joint.advance(now)
    with pytest.raises(InputError, match="wait forever"):
        Schedule(until_full=True)


# The numerical derivative


def test_the_measured_slope_is_the_difference_quotient_and_nothing_before_it_is_known():
    model = Federation(Scenario(population([0.01, 0.02], 50.0, Random(0.2, 0.9)), PowerLaw(), steps=6))
    for _ in range(3):
        model.step()
    people = model.population
    people.begin()
    last, before = people.recent_experience(np.arange(2))
    frames = model.frames().owners
    for step, memory in ((3, last), (2, before)):
        rows = frames[frames["step"] == step]
        np.testing.assert_array_equal(memory.contribution, rows["contribution"])
        np.testing.assert_array_equal(memory.accuracy, rows["accuracy"])


def test_owners_who_are_not_told_measure_and_owners_who_are_told_do_not():
    told = run(example(3)).frames().owners
    assert set(told["information"]) == {"offer"}
    assert list(told["information"].cat.categories) == list(INFORMATION)
    rested = run(fed_br_shap(5.0, active=2).scenario(GROUPS, [0.01] * 6, 10.0, 1.0, steps=4)).frames().owners
    assert rested.groupby("step")["information"].agg(lambda rests: (rests == "offer").sum()).tolist() == [2] * 4
    assert (rested["information"] == "repeated").sum() == 4 * 4


# Murhekar et al. 2023


@pytest.mark.parametrize("costs", [[0.002] * 4, [0.001, 0.002, 0.004, 0.008]])
@pytest.mark.parametrize("bg", [False, True])
def test_fedbr_on_a_curve_reaches_the_equilibrium_that_solve_certifies(costs, bg):
    rule, mechanism = (fed_br_bg(), CostSharing()) if bg else (fed_br(), NoPayments())
    made = run(rule.scenario(Announced(PowerLaw(), CURVE), costs, 40.0, 10.0, steps=400))
    found = solve(Game(CURVE, costs, 40.0, mechanism))
    assert made.converged
    assert made.gap < 1e-9
    assert made.population.contribution.sum() == pytest.approx(found.profile.sum(), abs=1e-6)


def test_fedbr_takes_the_papers_steps_and_stays_in_the_box():
    made = run(fed_br(step=500.0).scenario(CURVE, [0.002] * 4, 20.0, [0.0, 5.0, 10.0, 20.0], steps=50))
    trace = contributions(made)
    first = np.clip(np.array([0.0, 5.0, 10.0, 20.0]) + 500 * (CURVE.curve_slope(35.0) - 0.002), 0, 20)
    np.testing.assert_allclose(trace[0], first)
    # the certified total lies at a corner of the curve; constant steps stay within one interval of it
    assert abs(trace[-1].sum() - solve(Game(CURVE, [0.002] * 4, 20.0, NoPayments())).profile.sum()) <= 40


def test_multiplicative_shares_move_to_those_below_their_goal():
    value = GroupWeighted(weights=((0.2, 0.0), (0.0, 0.02)), groups=(0, 1))
    made = run(mw_fed(0.5, 20.0, factor=1.5).scenario(value, [0.001] * 2, 18.0, steps=60))
    trace = contributions(made)
    assert trace[0].tolist() == [10.0, 10.0]
    # a_0 = 1 - 1/(1 + 0.2 * 10) reaches the goal of 0.5, a_1 = 1 - 1/(1 + 0.02 * 10) does not: weights 1 and 1.5
    np.testing.assert_allclose(trace[1], [8.0, 12.0])
    assert trace[-1][0] < 10 < trace[-1][1]
    np.testing.assert_allclose(trace.sum(axis=1), 20.0)
    assert set(made.frames().owners["information"]) == {"quota"}


def test_what_an_owner_lacks_the_others_make_up_for_by_weight():
    """Weights 1/4, 1/4, 1/2 of 12: the third has only 3 instead of 6, and the others 4.5 each."""
    rule = MultiplicativeWeights(0.5, 12.0)
    memory = {0: 0.25, 1: 0.25, 2: 0.5}
    reports = Reports(np.zeros(3), np.array([9.0, 9.0, 3.0]), owners=np.arange(3), memory=memory)
    np.testing.assert_allclose(rule.quotas(reports), [4.5, 4.5, 3.0])
    few = replace(reports, size=np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(rule.quotas(few), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(replace(rule, data=1e300).quotas(few), [1.0, 2.0, 3.0])


def test_fedbr_steps_on_the_raw_quotient_to_whole_multiples():
    """v(30) = 0.7, v(40) = 0.6: the quotient at 30 is -0.01, less the cost of 0.002, times 800: 9.6 fewer, so 10."""
    rough = MeasuredCurve([0, 10, 20, 30, 40, 80], [0.1, 0.5, 0.65, 0.7, 0.6, 0.8])
    made = run(fed_br(800.0, unit=10.0).scenario(rough, [0.002] * 2, 34.0, [20.0, 10.0], steps=1))
    assert contributions(made)[0].tolist() == [10.0, 0.0]
    # the least concave curve above has slope (0.8 - 0.7) / 50 = 0.002 there, and nobody moves
    smooth = replace(rough, concave=True)
    made = run(fed_br(800.0, unit=10.0).scenario(smooth, [0.002] * 2, 34.0, [20.0, 10.0], steps=1))
    assert contributions(made)[0].tolist() == [20.0, 10.0]
    made = run(fed_br(1e6, unit=10.0).scenario(rough, [0.002] * 2, 34.0, [10.0, 0.0], steps=1))
    assert contributions(made)[0].tolist() == [30.0, 30.0]


def test_satisfied_owners_together_use_all_the_data_of_a_step():
    """80 % of the data stay 80 %: weights are normalised in the step in which they grow; a step late: 72.7 %."""
    for goal in (0.0, 1.0):
        made = run(mw_fed(goal, 0.8 * 40.0).scenario(PowerLaw(), [0.001] * 4, 10.0, steps=5))
        np.testing.assert_allclose(contributions(made).sum(axis=1), 32.0)


# Murhekar et al. 2025


def test_fedbr_shap_on_the_group_weighted_form_approaches_shapley_shares():
    costs = np.linspace(0.004, 0.012, 6)
    found = solve(Game(GROUPS, costs, 200.0, ShapleyShare()))
    made = run(fed_br_shap(400.0, active=3).scenario(GROUPS, costs, 200.0, 1.0, steps=1500), seed=3)
    assert found.converged
    np.testing.assert_allclose(made.population.contribution, found.profile, rtol=1e-3, atol=1e-2)
    assert np.any((found.profile > 1) & (found.profile < 199))


def test_payments_in_stages_are_the_sums_of_their_steps():
    every, stages = (
        run(fed_br_shap(200.0, 3, window).scenario(GROUPS, [0.006] * 6, 200.0, 1.0, steps=11)).frames().owners
        for window in (1, 4)
    )
    np.testing.assert_array_equal(every["contribution"], stages["contribution"])
    paid = stages.pivot(index="step", columns="owner", values="payment").to_numpy()
    due = every.pivot(index="step", columns="owner", values="payment").to_numpy()
    assert np.flatnonzero(np.abs(paid).sum(axis=1)).tolist() == [3, 7, 10]
    ends = [slice(0, 4), slice(4, 8), slice(8, 11)]
    np.testing.assert_allclose(paid[[3, 7, 10]], [due[some].sum(axis=0) for some in ends], atol=1e-12)


def test_a_run_does_not_end_while_a_stage_is_open():
    made = run(Scenario(population([0.1, 0.2], 10.0, Honest()), PowerLaw(), CostSharing(0.5), pay_every=7, steps=50))
    assert made.at_rest
    assert made.steps % 7 == 0
    assert not made.treasury.waiting


def test_banzhaf_weights_all_coalitions_alike_and_is_not_efficient():
    profile = np.array([3.0, 1.0, 2.0])
    value, psi = PowerLaw(), BanzhafShare().indices(PowerLaw(), profile).value(profile)
    others = [(), (1.0,), (2.0,), (1.0, 2.0)]
    gains = [3 * (value.curve(3 + sum(some)) - value.curve(np.float64(sum(some)))) for some in others]
    assert psi[0] == pytest.approx(np.mean(gains))
    assert psi.sum() != pytest.approx(shapley(value, profile).sum(), rel=1e-3)
    many = np.linspace(1, 3, 14)
    exact = BanzhafShare(subsets=4000).indices(value, many).value(many)
    assert exact == pytest.approx(BanzhafShare(subsets=4000, seed=1).indices(value, many).value(many), rel=0.1)


# Any strategy in any protocol


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: f"{rule.name}-{type(rule.strategy).__name__}")
def test_anybody_can_do_anything_in_every_protocol(rule):
    others = [FreeRider(), Liar(Honest(), contribution_factor=2.0), Quitter(Random()), None, None, None]
    scenario = rule.scenario(GROUPS, [0.004] * 6, 50.0, 10.0, strategies=others, steps=20)
    made = run(scenario, seed=2)
    owners = made.frames().owners
    assert np.all(np.isfinite(owners["utility"]))
    assert owners.groupby("step")["payment"].sum().abs().max() < 1e-9
    assert made.population.contribution[0] == 0
    assert_equal_frames(made.frames(), run(scenario, seed=2).frames())


def test_swapping_one_owner_changes_no_other_owners_draws():
    rule = replace(fed_avg(), strategy=Random())
    frames = [
        run(rule.scenario(GROUPS, [0.01] * 6, 10.0, strategies=[swap] + [None] * 5, steps=5)).frames().owners
        for swap in (None, FreeRider())
    ]
    same = [frame[frame["owner"] > 0]["contribution"].to_numpy() for frame in frames]
    np.testing.assert_array_equal(*same)


# Budgets


def subsidised(budgets: list[float], steps: int = 1, rate: float = 1.0) -> Federation:
    profiles = [
        OwnerProfile(Linear(0.01), 10.0, Keep(), start, budget=budget)
        for start, budget in zip([0.0, 2.0, 10.0, 10.0], budgets, strict=True)
    ]
    return run(Scenario(profiles, PowerLaw(), ContributionSubsidy(rate), steps=steps))


def test_nobody_pays_more_than_it_has_and_receivers_share_the_loss():
    free, poor = subsidised([np.inf] * 4), subsidised([3.0, np.inf, 0.0, np.inf])
    asked = free.population.payment
    assert asked == pytest.approx([-22 / 3, -14 / 3, 6.0, 6.0])
    paid = poor.population.payment
    assert paid[:2] == pytest.approx([-3.0, -14 / 3])
    assert paid[2:] == pytest.approx([(3 + 14 / 3) / 2] * 2)
    assert paid.sum() == pytest.approx(0.0, abs=1e-12)
    owners = poor.frames().owners
    np.testing.assert_allclose(owners["owed"], asked)
    assert owners["money"].tolist() == pytest.approx([0.0, np.inf, (3 + 14 / 3) / 2, np.inf])
    assert poor.ledger.balance() == pytest.approx(0.0, abs=1e-12)
    assert poor.population.utility[0] == pytest.approx(poor.population.accuracy[0] - 3.0)


def test_what_was_received_can_be_spent_later_and_money_is_never_negative():
    made = subsidised([10.0, 0.5, 0.0, 0.0], steps=1)
    for _ in range(4):
        made.step()
    money = made.frames().owners.pivot(index="step", columns="owner", values="money").to_numpy()
    assert np.all(money >= 0)
    assert money.sum(axis=1) == pytest.approx(np.full(len(money), 10.5))
    assert np.all(np.diff(money[:, 0]) <= 0)


def test_a_large_budget_changes_nothing():
    rich, free = subsidised([1e6] * 4), subsidised([np.inf] * 4)
    np.testing.assert_allclose(rich.population.payment, free.population.payment)
    np.testing.assert_allclose(rich.population.utility, free.population.utility)


def test_who_leaves_in_the_middle_of_a_stage_still_settles_its_debts():
    profiles = [OwnerProfile(Linear(0.0), 10.0, Quitter(Keep()), start) for start in (0.0, 10.0)]
    made = Federation(Scenario(profiles, PowerLaw(), ContributionSubsidy(1.0), pay_every=2, steps=8))
    for _ in range(4):
        made.step()
    assert made.population.stayed.tolist() == [False, True]
    owners = made.frames().owners
    assert owners.groupby("step")["payment"].sum().abs().max() < 1e-12
    assert owners.query("owner == 0")["payment"].tolist() == [0.0, -20.0, 0.0, 0.0]


def test_the_server_hands_on_what_it_got_but_keeps_to_its_own_part():
    debts = Transfers(np.array([0, SERVER]), np.array([SERVER, 1]), np.array([4.0, 10.0]), "rule")
    paid = within_budgets(debts, np.array([1.0, 0.0]))
    assert paid.amount.tolist() == [1.0, 7.0]
    surplus = Transfers(np.array([0, SERVER]), np.array([SERVER, 1]), np.array([10.0, 4.0]), "rule")
    assert within_budgets(surplus, np.array([5.0, 0.0])).amount.tolist() == [5.0, 4.0]
    assert within_budgets(surplus, np.array([3.0, 0.0])).amount.tolist() == [3.0, 3.0]
    pairs = Transfers(np.array([0, 0, 1]), np.array([1, 2, 0]), np.array([4.0, 2.0, 1.0]), "rule")
    assert within_budgets(pairs, np.array([3.0, 9.0, 0.0])).amount.tolist() == [2.0, 1.0, 1.0]
    assert net([pairs, pairs]).amount.tolist() == [6.0, 4.0]


def test_budgets_cannot_be_negative():
    with pytest.raises(InputError, match="budget must"):
        OwnerProfile(Linear(0.1), 1.0, budget=-1.0)


def test_weights_of_owners_that_are_served_do_not_vanish_in_a_long_run():
    """Owner 0 is never served and has one sample; of owner 1, which is, seven are asked for after 700 steps as well."""
    accuracy = GroupWeighted(((0.05, 0.0), (0.0, 1.0)), (0, 1))
    people = population([0.01, 0.01], [1.0, 10.0], AsAsked())
    run = Federation(Scenario(people, accuracy, MultiplicativeWeights(0.5, 8.0, factor=4.0), steps=700, record=None))
    for _ in range(700):
        run.step()
    assert run.population.contribution == pytest.approx([1.0, 7.0])
    assert not run.population.rejected.any()
