"""Cost sharing M_beta: Murhekar et al. 2023, Section 4."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from fedabm.common.errors import InputError
from fedabm.games.accuracy.power_law import PowerLaw
from fedabm.games.best import best_response
from fedabm.games.costs import Affine, Linear, Power, Quadratic, stack
from fedabm.games.intervals import ProofLimits
from fedabm.mechanisms.cost_sharing import CostSharing, optimal_rate
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.views import Reports

rates = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=8)


def reports(contribution, cost, size=100.0):
    contribution = np.asarray(contribution, dtype=float)
    return Reports(contribution, np.full(len(contribution), size), cost)


def gap(mechanism, accuracy, contribution, cost, size=100.0):
    told = reports(contribution, cost, size)
    offers = mechanism.offers(accuracy, told)
    best = best_response(offers, cost, told.size, certify=ProofLimits())
    return best.bound - (offers.benefit.value(told.contribution) - cost.value(told.contribution))


@settings(deadline=None)
@given(rates)
def test_optimal_rate_solves_equation_6_within_its_range(costs):
    beta, n, c = optimal_rate(costs), len(costs), np.array(costs)
    a, total = 1 / np.sum(1 / c), np.sum(c)
    terms = total * beta**2, (a * n * (n - 2) + total) * beta, a * (n - 1) ** 2
    assert terms[0] - terms[1] + terms[2] == pytest.approx(0, abs=1e-12 * terms[1])
    assert 0 <= beta <= (1 - 1 / n) * (1 + 1e-15)
    assert optimal_rate(7 * c) == pytest.approx(beta, rel=1e-12)


@given(st.floats(1e-6, 1e6), st.integers(1, 300))
def test_equal_costs_give_the_double_root_exactly(cost, n):
    assert optimal_rate([cost] * n) == pytest.approx(1 - 1 / n, rel=1e-15)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_two_owners(first, second):
    assert optimal_rate([first, second]) == pytest.approx(min(first, second) / (first + second))


def test_published_optimal_rates():
    assert optimal_rate([1, 2]) == pytest.approx(1 / 3, abs=1e-15)
    assert optimal_rate([1, 2, 3]) == pytest.approx(0.4330847293, abs=5e-11)
    assert optimal_rate([1, 1, 1, 9]) == pytest.approx(0.25, abs=1e-15)
    assert optimal_rate([0, 3]) == 0
    nearly = optimal_rate([1.0, 1.0 + 1e-9])
    assert nearly == pytest.approx(1 / (2 + 1e-9), rel=1e-15)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(1, 6), st.floats(0, 1))
def test_payments_sum_to_zero_for_any_costs(data, n, rate):
    numbers = st.lists(st.floats(0, 5), min_size=n, max_size=n)
    profile, unit, fixed = (np.array(data.draw(numbers)) for _ in range(3))
    exponent = data.draw(st.sampled_from([1.0, 1.5, 2.0]))
    cost = stack([Power(u, exponent) for u in unit]) if exponent > 1 else stack(list(map(Affine, unit, fixed)))
    payments = CostSharing(rate).offers(PowerLaw(), reports(profile, cost)).payment.value(profile)
    spent = cost.value(profile)
    assert payments.sum() == pytest.approx(0, abs=1e-12 * (1 + spent.sum()))
    if n > 1:
        assert payments == pytest.approx(rate * (spent - (spent.sum() - spent) / (n - 1)))
    budgets = np.arange(n) + 10.0
    left = CostSharing(rate).budget_left(reports(profile, cost), budgets)
    assert left == pytest.approx(budgets - spent + payments)


def test_an_owner_alone_is_not_paid():
    assert CostSharing(0.7).offers(PowerLaw(), reports([3.0], stack([Linear(0.1)]))).payment.value(np.ones(1)) == 0


def test_example_1():
    accuracy, cost = PowerLaw(1.0, 1.0, 0.0, 8.0), stack([Linear(5.0), Linear(4.0)])
    assert np.max(gap(NoPayments(), accuracy, [0, 0.5], cost)) < 1e-12
    assert np.max(gap(NoPayments(), accuracy, [0.1, 0.4], cost)) > 1e-3
    mechanism = CostSharing()
    assert mechanism.share(reports([0, 0.5], cost)) == pytest.approx(4 / 9)
    assert np.max(gap(mechanism, accuracy, [0, 0.6708204], cost)) < 1e-12


def product(s):
    total = 8 - 1 / (s[0] + s[1])
    return (total - 5 * s[0]) * (total - 4 * s[1])


def test_example_1_nash_products():
    assert product([0, 0.5]) == pytest.approx(24)
    assert product([0.2, 0.4]) == pytest.approx(25.2444, abs=5e-5)
    best = minimize(lambda s: -product(s), [0.2, 0.4], bounds=[(0, 2)] * 2, tol=1e-14)
    assert -best.fun == pytest.approx(25.500932, abs=5e-7)
    assert best.x == pytest.approx([0.172678, 0.498142], abs=1e-4)


def budget_utilities(s, costs, budgets, weights):
    """u_i = b_i^(1-w_i) S^w_i under M_beta*, zero where the budget is overspent."""
    left = CostSharing().budget_left(reports(s, stack([Linear(c) for c in costs])), budgets)
    return np.maximum(left, 0) ** (1 - np.array(weights)) * np.sum(s) ** np.array(weights)


def budget_gains(s, *game):
    """How much each owner could still gain by another contribution."""

    def moved(owner, x):
        return -budget_utilities(np.where(np.arange(len(s)) == owner, x, s), *game)[owner]

    best = [minimize_scalar(lambda x, i=i: moved(i, x), bounds=(0, 60), method="bounded") for i in range(len(s))]
    return np.array([-b.fun for b in best]) - budget_utilities(np.array(s), *game)


def best_mean(power, start, *game):
    answer = minimize(
        lambda s: -(np.mean(np.maximum(budget_utilities(np.abs(s), *game), 1e-9) ** power) ** (1 / power)),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000},
    )
    return -answer.fun


def test_theorem_4_1_fails_for_unequal_costs():
    game = (1, 2), (12, 20), (0.5, 0.5)
    assert np.max(budget_gains([4, 5], *game)) < 1e-8
    assert np.mean(budget_utilities(np.array([4, 5]), *game)) == pytest.approx(8.8704, abs=5e-5)
    assert best_mean(1.0, [4, 5], *game) == pytest.approx(10.4271, abs=5e-5)


@pytest.mark.parametrize("power", [1.0, 0.3, -2.0])
def test_theorem_4_1_holds_for_equal_costs(power):
    game = (2, 2), (14, 10), (0.5, 0.7)
    assert np.max(budget_gains([3, 4], *game)) < 1e-8
    reached = np.mean(budget_utilities(np.array([3, 4]), *game) ** power) ** (1 / power)
    for start in ([3, 4], [1, 1], [6, 2]):
        assert best_mean(power, start, *game) == pytest.approx(reached, rel=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0.01, 0.5), min_size=2, max_size=5), st.floats(0.0, 1.0))
def test_refunds_of_convex_costs_keep_the_certified_best_response(unit, rate):
    cost = stack([Quadratic(u) for u in unit])
    told = reports(np.full(len(unit), 0.1), cost, 10.0)
    offers = CostSharing(rate).offers(PowerLaw(), told)
    best = best_response(offers, cost, told.size, certify=ProofLimits())
    assert np.max(best.bound - best.utility) < 1e-12
    grid = np.broadcast_to(np.linspace(0, 10, 4001), (len(unit), 4001))
    assert np.all(offers.benefit.value(grid) - cost.value(grid) <= best.bound[:, None])


def test_a_refund_beyond_the_true_cost_is_not_taken_for_concave():
    told = reports([0.1, 0.1], stack([Quadratic(1.0), Quadratic(1.0)]), 10.0)
    offers = CostSharing(0.5).offers(PowerLaw(), told)
    best = best_response(offers, stack([Quadratic(0.1), Quadratic(0.1)]), told.size, certify=ProofLimits())
    assert best.contribution == pytest.approx([10.0, 10.0])
    part = offers.take([1])
    assert part.benefit.value(np.ones(1)) == pytest.approx(offers.benefit.value(np.ones(2))[1:])


def test_jacobian_matches_differences_of_slopes():
    profile, cost = np.array([0.7, 1.2]), stack([Quadratic(0.1), Power(0.2, 1.5)])
    mechanism = CostSharing(0.5)

    def slopes(s):
        return mechanism.offers(PowerLaw(), reports(s, cost)).benefit.slope(s)

    step = 1e-6
    columns = [(slopes(profile + step * e) - slopes(profile - step * e)) / (2 * step) for e in np.eye(2)]
    assert mechanism.jacobian(PowerLaw(), reports(profile, cost)) == pytest.approx(np.array(columns).T, rel=1e-6)


def test_bad_input_is_refused():
    for rate in (-0.1, 1.1, "best"):
        with pytest.raises(InputError):
            CostSharing(rate)
    with pytest.raises(InputError, match="linear"):
        CostSharing().offers(PowerLaw(), reports([1.0, 1.0], stack([Quadratic(0.1)] * 2)))
    with pytest.raises(InputError, match="reported costs"):
        CostSharing().offers(PowerLaw(), reports([1.0, 1.0], None))
    with pytest.raises(InputError):
        optimal_rate([1.0, -2.0])
