"""Contributions and weights learned together: UPBReD and 2P-UPBReD of Doshi et al. 2025 in the ordinary federation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Scenario, population
from fedabm.common.errors import InputError
from fedabm.games.accuracy import JointQuadratic, Phased
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.simulation.model import Federation
from fedabm.solving.game import Game
from fedabm.solving.rates import full_contribution_steps
from fedabm.strategies import GradientResponse

COSTS = (0.04, 0.02)


def upbred(steps: int, rate: float = 0.25) -> Federation:
    people = population(COSTS, 5.0, GradientResponse(0.25), 5.0)
    return Federation(Scenario(people, JointQuadratic(rate=rate), steps=steps))


def two_phase(capacities, starts, subsidy: float, rate: float = 0.25, steps: int = 3000) -> Federation:
    people = population(COSTS, capacities, GradientResponse(0.25), starts)
    model = Phased(JointQuadratic(rate=rate), full=tuple(capacities))
    return Federation(Scenario(people, model, ContributionSubsidy(subsidy), steps=steps))


def test_advance_is_the_gradient_step_of_the_mean_accuracy():
    model, profile, width = JointQuadratic(weights=(0.3, -1.0), rate=0.7), np.array([2.0, 1.5]), 1e-6
    slope = []
    for axis in np.eye(2) * width:
        up, down = (replace(model, weights=tuple(np.array(model.weights) + sign * axis)) for sign in (1, -1))
        slope.append((up.values(profile[None]).mean() - down.values(profile[None]).mean()) / (2 * width))
    assert model.advance(profile).weights == pytest.approx(np.array(model.weights) + 0.7 * np.array(slope), rel=1e-8)


@given(st.floats(0.0, 10.0), st.floats(1e-9, 10.0), st.floats(0.0, 3.0))
@settings(deadline=None, max_examples=50)
def test_accuracy_is_finite_smooth_and_concave_down_to_nothing(x, width, error):
    model = JointQuadratic(target=(error,), weights=(0.0,))
    low, middle, high = model.curve(np.array([x, x + width / 2, x + width]))
    assert np.all(np.isfinite([low, middle, high]))
    assert low <= middle <= high
    assert middle >= (low + high) / 2 - 1e-9 * abs(low)
    slopes = model.curve_slope(np.array([x, x + width]))
    assert slopes[1] * width * (1 - 1e-6) <= high - low + 1e-9 * (1 + abs(low))
    assert high - low <= slopes[0] * width * (1 + 1e-6) + 1e-9 * (1 + abs(low))


def test_without_data_nothing_is_learned_and_a_perfect_model_keeps_its_worth():
    nothing = np.zeros(2)
    assert JointQuadratic().advance(nothing) == JointQuadratic()
    assert JointQuadratic(weights=(1.0, 2.0)).values(nothing[None]) == pytest.approx(np.ones((1, 2)))
    assert JointQuadratic().values(nothing[None]).max() < -1e6


def test_example_1_unravels_instead_of_stopping_at_the_printed_point():
    model = upbred(steps=2000)
    seen = {}
    while model.running:
        model.step()
        seen[model.steps] = model.population.contribution.copy()
    assert seen[200] == pytest.approx([3.124825, 4.096473], abs=5e-7)
    assert seen[500] == pytest.approx([0.124825, 2.596473], abs=5e-7)
    assert np.all(seen[1019] == [0.0, seen[1019][1]])
    assert np.all(seen[1020] == 0.0)
    assert model.converged
    assert model.population.accuracy.sum() == pytest.approx(2.0, abs=1e-12)
    assert model.gap <= 1e-12


def test_the_printed_point_is_an_equilibrium_for_frozen_weights_but_no_rest_point():
    printed = JointQuadratic(weights=(0.5, 1.5))
    game = Game(printed, COSTS, 5.0, NoPayments())
    assert game.gap([0.0, 5.0]) <= 1e-12
    assert game.accuracies([0.0, 5.0]).sum() == pytest.approx(1.8)
    moved = np.subtract(printed.advance(np.array([0.0, 5.0])).weights, printed.weights)
    assert moved / printed.rate == pytest.approx([0.2, 0.2])


def test_weights_contract_by_095_and_land_at_once_with_the_full_step():
    slow, fast = (two_phase((5.0, 5.0), (5.0, 5.0), 1.0, rate=rate) for rate in (0.25, 5.0))
    for _ in range(3):
        before = slow.accuracy.error
        slow.step()
        assert slow.accuracy.error == pytest.approx(0.95 * before)
    fast.step()
    assert fast.accuracy.error == pytest.approx(0.0, abs=1e-15)


@given(st.floats(0.1, 3.0), st.floats(0.05, 1.0), st.floats(0.05, 1.0))
@settings(deadline=None, max_examples=15)
def test_phase_one_ends_within_kappa_and_trains_nothing(subsidy, first, second):
    capacities = np.array([3.0, 5.0])
    starts = capacities * (first, second)
    model = two_phase(capacities, starts, subsidy)
    kappa = full_contribution_steps(capacities, starts, 0.25, subsidy, max(COSTS))
    for _ in range(kappa):
        model.step()
        assert model.population.payment.sum() == pytest.approx(0.0, abs=1e-12)
        if np.any(model.population.contribution < capacities):
            assert model.accuracy.weights == (0.0, 0.0)
    assert np.all(model.population.contribution == capacities)


def test_both_phases_end_at_full_contribution_and_the_best_weights():
    model = two_phase((5.0, 5.0), (1.0, 1.0), 1.0).run()
    assert model.converged
    assert np.all(model.population.contribution == 5.0)
    assert model.accuracy.error < 1e-14
    assert model.gap <= 1e-9
    assert abs(model.ledger.balance()) < 1e-9


def test_two_phases_are_not_individually_rational():
    model = two_phase((0.5, 10.0), (0.25, 5.0), 2.0).run()
    assert model.population.utility[0] == pytest.approx(-18.02)
    assert model.population.payment.sum() == pytest.approx(0.0, abs=1e-12)


def test_bad_input_is_refused_in_one_line():
    for wrong in ({"weights": (0.0,)}, {"rate": 0.0}, {"least": -1.0}, {"target": (np.nan, 1)}):
        with pytest.raises(InputError):
            JointQuadratic(**wrong)
    with pytest.raises(InputError, match="give the same number"):
        Scenario(population([0.1] * 3, 1.0), Phased(JointQuadratic(), full=(1.0, 1.0)))


def test_who_waits_for_data_that_nobody_wants_to_give_does_not_wait_forever():
    people = population(COSTS, 5.0, GradientResponse(0.25), 1.0)
    waiting = Phased(JointQuadratic(weights=(1.0, 2.0)), full=(5.0, 5.0))
    model = Federation(Scenario(people, waiting, ContributionSubsidy(0.001), steps=2000)).run()
    assert model.converged
    assert np.all(model.population.contribution == 0.0)
    assert not model.state.begun
