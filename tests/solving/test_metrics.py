"""Metrics: limits and order of p-means, the papers' examples by hand, and what undefined ratios give."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy import Custom, GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Affine, Linear, PowerCost, Quadratic, stack
from fedabm.solving import metrics
from fedabm.solving.metrics import p_mean_welfare, welfare_optimum

positive = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)
utilities = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=1, max_size=8)
powers = st.one_of(st.floats(-50, 1), st.sampled_from([0.0, 1.0, -math.inf, 1e-9, -1e-9, -1e5]))
modest = settings(max_examples=80, deadline=None)

EXAMPLE_1 = PowerLaw(scale=1.0, exponent=1.0, offset=0.0, ceiling=8.0), stack([Linear(5.0), Linear(4.0)])


def utilities_at(accuracy, cost, profile):
    profile = np.asarray(profile, dtype=float)
    return accuracy.values(profile[None])[0] - cost.value(profile)


@given(u=utilities, p=powers, q=powers)
@modest
def test_p_means_do_not_decrease_in_p(u, p, q):
    low, high = sorted((p, q))
    assert p_mean_welfare(u, low) <= p_mean_welfare(u, high) * (1 + 1e-12)


@given(u=utilities, p=powers)
@modest
def test_p_means_lie_between_minimum_and_mean_and_scale(u, p):
    value = p_mean_welfare(u, p)
    assert min(u) * (1 - 1e-12) <= value <= np.mean(u) * (1 + 1e-12)
    assert p_mean_welfare(3.0 * np.array(u), p) == pytest.approx(3 * value, rel=1e-9)


@given(u=positive, p=st.floats(-5, 1).filter(lambda p: abs(p) > 0.01))
@modest
def test_p_means_by_the_plain_formula(u, p):
    assert p_mean_welfare(u, p) == pytest.approx(np.mean(np.array(u) ** p) ** (1 / p), rel=1e-10)
    assert p_mean_welfare(u, p, normalised=False) == pytest.approx(np.sum(np.array(u) ** p) ** (1 / p), rel=1e-10)


@given(u=positive, sign=st.sampled_from([-1, 1]), exponent=st.integers(4, 320))
@modest
def test_p_means_tend_to_the_geometric_mean(u, sign, exponent):
    """W_p = G (1 + p var(log u) / 2 + O(p^2)), down to the smallest numbers."""
    logs, p = np.log(u), sign * 10.0**-exponent
    assert p_mean_welfare(u, 0) == pytest.approx(np.exp(logs.mean()), rel=1e-13)
    assert p_mean_welfare(u, p) == pytest.approx(np.exp(logs.mean() + p * logs.var() / 2), rel=500 * p * p + 1e-13)


@given(u=positive, exponent=st.integers(3, 300))
@modest
def test_p_means_tend_to_the_minimum(u, exponent):
    assert p_mean_welfare(u, -(10.0**exponent)) == pytest.approx(
        min(u), rel=math.expm1(math.log(8) / 10**exponent) + 1e-12
    )
    assert p_mean_welfare(u, -math.inf) == min(u)


def test_p_means_by_hand():
    assert p_mean_welfare([1.0, 2.0, 6.0]) == 3.0
    assert p_mean_welfare([1.0, 2.0, 6.0], normalised=False) == 9.0
    assert p_mean_welfare([2.0, 6.0], -1) == pytest.approx(3.0)
    assert p_mean_welfare([1.0, 9.0], 0.5) == pytest.approx(4.0)
    assert p_mean_welfare([1.0, 9.0], 0.5, normalised=False) == pytest.approx(16.0)
    assert p_mean_welfare([-1.0, 2.0]) == 0.5


def test_p_means_with_a_utility_of_zero():
    assert p_mean_welfare([0.0, 4.0], 0.5) == pytest.approx(1.0)
    assert p_mean_welfare([0.0, 4.0], 0.5, normalised=False) == pytest.approx(4.0)
    assert [p_mean_welfare([0.0, 4.0], p) for p in (0, -1, -math.inf)] == [0.0, 0.0, 0.0]
    assert p_mean_welfare([0.0, 0.0], 0.5) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], 1.5), "p must be at most 1, got 1.5"),
        (([1.0], math.nan), "p must be at most 1"),
        (([1.0, -1.0], 0.5), "at least 0, got -1"),
        (([1.0, -1.0], -math.inf), "at least 0, got -1"),
        (([1.0, math.nan], 1), "utilities must be finite"),
        (([], 1), "no utilities"),
    ],
)
def test_bad_input_to_p_means_is_one_clear_line(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        p_mean_welfare(*arguments)
    assert "\n" not in str(caught.value)


def test_nash_products_of_two_owners():
    """Murhekar et al. 2023, Example 1 with costs 5 s_1 and 4 s_2: 24 in equilibrium, more elsewhere."""
    for profile, product in (([0.0, 0.5], 24.0), ([0.2, 0.4], 25.2444444)):
        assert p_mean_welfare(utilities_at(*EXAMPLE_1, profile), 0, normalised=False) == pytest.approx(product)


@pytest.mark.parametrize("capacity", [1.0, 1000.0])
def test_largest_nash_product_of_two_owners(capacity):
    best = welfare_optimum(*EXAMPLE_1, [capacity, capacity], p=0)
    assert best.welfare**2 == pytest.approx(25.500932, abs=5e-7)
    assert np.allclose(best.profile, [0.172678, 0.498142], atol=1e-6)


def test_largest_mean_of_two_owners_by_hand():
    """Only the cheaper owner contributes: 2 s^-2 = 4, so s = 1/sqrt(2) and the sum is 16 - 4 sqrt(2)."""
    best = welfare_optimum(*EXAMPLE_1, [10.0, 10.0])
    assert np.allclose(best.profile, [0.0, 0.5**0.5], atol=1e-7)
    assert best.welfare == pytest.approx(8 - 2 * 2**0.5, abs=1e-12)


def test_largest_minimum_of_two_owners_by_hand():
    """Equal costs 5 s_1 = 4 s_2 = c, total 9c/20: 20/(9 c^2) = 1."""
    best, cost = welfare_optimum(*EXAMPLE_1, [10.0, 10.0], p=-math.inf), (20 / 9) ** 0.5
    assert best.welfare == pytest.approx(8 - 2 * cost, abs=1e-9)
    assert np.allclose(best.profile, [cost / 5, cost / 4], atol=1e-6)


@given(seed=st.integers(0, 10**6), p=st.sampled_from([1.0, 0.5, 0.0, -2.0, -math.inf]))
@settings(max_examples=25, deadline=None)
def test_nothing_beats_the_welfare_optimum(seed, p):
    rng = np.random.default_rng(seed)
    families = [PowerLaw(rng.uniform(0.2, 1)), GroupWeighted(rng.uniform(0, 1, (2, 2)), [0, 1, 1])]
    families.append(RandomCoverage(rng.dirichlet(np.ones(5), 3)))
    accuracy, capacity = families[seed % 3], rng.uniform(1, 30, 3)
    cost = PowerCost(rng.uniform(0.001, 0.2, 3), rng.choice([1.0, 2.0], 3))
    best = welfare_optimum(accuracy, cost, capacity, p)
    assert np.all((best.profile >= 0) & (best.profile <= capacity))
    assert best.welfare == pytest.approx(p_mean_welfare(utilities_at(accuracy, cost, best.profile), p), abs=1e-9)
    trials = np.concatenate([rng.uniform(0, 1, (200, 3)) * capacity, best.profile + rng.normal(0, 0.05, (200, 3))])
    for profile in np.clip(trials, 0, capacity):
        u = utilities_at(accuracy, cost, profile)
        assert (p < 1 and np.any(u < 0)) or p_mean_welfare(u, p) <= best.welfare + 1e-7


def hill_and_mountain(profiles):
    """A low peak at 1 and a high one at 9 of the first contribution."""
    height = np.exp(-((profiles[:, :1] - 1) ** 2)) + 2 * np.exp(-((profiles[:, :1] - 9) ** 2))
    return height + 0.0 * profiles


def test_the_welfare_optimum_of_a_non_concave_accuracy():
    best = welfare_optimum(Custom(hill_and_mountain, 2), [Linear(0.0), Quadratic(1.0)], [10.0, 10.0])
    assert np.allclose(best.profile, [9.0, 0.0], atol=1e-4)
    assert best.welfare == pytest.approx(2.0, abs=1e-9)


def test_the_welfare_optimum_of_a_single_owner():
    best = welfare_optimum(PowerLaw(), Linear(0.1), [100.0])
    assert best.profile[0] == pytest.approx(10**0.5 - 1, abs=1e-7)


def test_no_welfare_optimum_where_someone_always_loses():
    with pytest.raises(InputError, match="no profile with utilities of at least 0"):
        welfare_optimum(PowerLaw(), [Affine(0.1, 5.0), Linear(0.1)], [10.0, 10.0], p=0)
    assert welfare_optimum(PowerLaw(), [Affine(0.1, 5.0), Linear(0.1)], [10.0, 10.0]).welfare < 0


def test_price_of_anarchy():
    """Murhekar et al. 2023, Example 1: mean 5 in equilibrium (0, 0.5) against 8 - 2 sqrt(2)."""
    mean = p_mean_welfare(utilities_at(*EXAMPLE_1, [0.0, 0.5]))
    best = welfare_optimum(*EXAMPLE_1, [1.0, 1.0]).welfare
    assert metrics.price_of_anarchy(mean, best) == pytest.approx((8 - 8**0.5) / 5)
    assert metrics.price_of_anarchy([5.0, 2.5], 5.0) == 2.0
    # An "optimum" from a local climb that an equilibrium exceeds: the price is never below 1.
    assert metrics.price_of_anarchy([4.0], 3.9) == 1.0
    assert metrics.price_of_anarchy([4.0, 2.0], 1.5) == 2.0
    assert metrics.price_of_anarchy([0.0, 2.5], 5.0) == math.inf
    assert metrics.price_of_anarchy([0.0], 0.0) == 1.0
    assert math.isnan(metrics.price_of_anarchy([-2.0], -1.0))


def test_reciprocity_of_value_shaping():
    """Murhekar et al. 2025, Example 7, to the digits of the corrected shares."""
    profile, shares = np.array([3.98115436, 2.46263961]), np.array([0.95370025, 0.77761956])
    accuracies = PowerLaw().values(profile[None])[0]
    assert metrics.reciprocity(accuracies, np.zeros(2), shares) == pytest.approx(0.9076855, abs=5e-8)
    assert shares.sum() == pytest.approx(accuracies.sum(), abs=1e-8)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_balanced_payments_cannot_have_reciprocity_above_one(seed):
    """Murhekar et al. 2025, Lemma 3.4, with shares of A(s) - A(0)."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 0.5, 5)
    accuracies, shares = start + rng.uniform(0.01, 0.5, 5), rng.uniform(0.01, 1, 5)
    shares *= (accuracies - start).sum() / shares.sum()
    payments = rng.normal(size=5)
    payments -= payments.mean()
    assert metrics.reciprocity(accuracies, payments, shares, start) <= 1 + 1e-12
    exact = shares - (accuracies - start)
    assert np.allclose(metrics.reciprocities(accuracies, exact, shares, start), 1.0)


def test_reciprocities_of_owners_that_give_nothing():
    found = metrics.reciprocities([0.5, 0.5, 0.5, 0.5], [0.0, -0.5, -0.6, -0.5 + 1e-16], [0.0, 0.0, 0.0, 1e-17])
    assert found.tolist() == [math.inf, 1.0, -math.inf, 1.0]
    two_equilibria = metrics.reciprocity([[0.5, 0.5], [0.4, 0.4]], 0.0, [[0.5, 0.5], [0.5, 0.4]])
    assert two_equilibria == pytest.approx(0.8)


def test_gains_compare_the_worst_with_the_best():
    assert metrics.data_gain([3.0, 1.0], [2.0, 0.0]) == 2.0
    assert metrics.data_gain([[3.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [1.0, 3.0]]) == 0.5
    assert metrics.accuracy_gain([0.9, 0.6], [0.5, 0.5]) == pytest.approx(1.5)
    assert metrics.data_gain([3.0, 1.0], [0.0, 0.0]) == math.inf
    assert metrics.data_gain([0.0, 0.0], [0.0, 0.0]) == 1.0


def test_data_gain_of_the_two_owners_of_example_4():
    assert metrics.data_gain([2.99839298, 1.16904814], [2.16227766, 0.0]) == pytest.approx(1.92733, abs=1e-5)


def test_budget_is_rounded_only_once():
    assert metrics.budget([1e16, 1.0, -1e16]) == 1.0
    assert metrics.budget([0.1, 0.2, -0.3]) == pytest.approx(0.0, abs=1e-16)


def test_individual_rationality():
    assert metrics.individually_rational([0.0, 1.0])
    assert metrics.individually_rational([-1e-12, 1.0])
    assert not metrics.individually_rational([-1e-6, 1.0])
    assert not metrics.individually_rational([0.5, 1.0], outside=[0.6, 0.0])
    assert not metrics.individually_rational([[0.5, 1.0], [0.5, -1.0]])


def test_equal_treatment():
    payments, contribution, cost = [1.0, 1.5, 7.0, 9.0], [2.0, 2.0, 2.0, 3.0], [0.1, 0.1, 0.2, 0.1]
    assert metrics.equal_treatment(payments, contribution, cost) == 0.5
    assert metrics.equal_treatment(payments, contribution) == 6.0
    assert metrics.equal_treatment(payments) == 8.0
    assert metrics.equal_treatment(payments, [1, 2, 3, 4]) == 0.0
    with pytest.raises(InputError, match="2 values of traits but 4 owners"):
        metrics.equal_treatment(payments, [1.0, 2.0])


@given(u=st.lists(st.floats(-10, 100), min_size=1, max_size=8))
@modest
def test_gini_by_its_definition(u):
    u = np.array(u)
    assume(u.sum() > 0.1)
    assert metrics.gini(u) == pytest.approx(np.abs(u[:, None] - u).sum() / (2 * len(u) * u.sum()), abs=1e-9)


def test_gini_by_hand():
    assert metrics.gini([1.0, 3.0]) == 0.25
    assert metrics.gini([5.0, 5.0, 5.0]) == 0.0
    assert metrics.gini([0.0, 0.0]) == 0.0
    assert metrics.gini([-1.0, 2.0]) == 1.5  # losses: not bounded by 1
    assert math.isnan(metrics.gini([-1.0, 1.0]))


def test_alone_utilities_by_hand():
    """v(m) = 1 - 1/(1 + m) at cost c: m* = c^-1/2 - 1 and utility (1 - sqrt c)^2; with capacity 1 it is 1/2 - c."""
    alone = metrics.alone_utilities(PowerLaw(), [Linear(0.1), Linear(0.25), Linear(0.1)], [100.0, 100.0, 1.0])
    assert np.allclose(alone, [(1 - 0.1**0.5) ** 2, 0.25, 0.4], atol=1e-12)


def test_information_rent_of_a_low_cost_owner():
    """Karimireddy et al. 2022, Theorem VIII, for v(m) = 1 - 1/(1 + m), costs 0.1 and 0.25, others' data 5.

    The mechanism raises the value at slope 0.25 from the high-cost optimum m* = 1 to the point meant for high costs,
    1.5, and from there at slope 0.1 until all data is used up at m_low; with the cost known it would start at the
    low-cost owner's own optimum and end at m_max.
    """
    low, high, target, others = 0.1, 0.25, 1.5, 5.0

    def value(m):
        return 1 - 1 / (1 + m)

    def end(start, level):
        # value(m + others) = level + low (m - start), the larger root
        b, c = level - low * start - 1 + low * (1 + others), (level - low * start - 1) * (1 + others) + 1
        return (-b + (b * b - 4 * low * c) ** 0.5) / (2 * low)

    alone = 10**0.5 - 1
    m_low, m_max = end(target, value(1.0) + high * (target - 1.0)), end(alone, value(alone))
    screened = value(m_low + others) - low * m_low, value(1.0) + high * (target - 1.0) - high * target
    known = metrics.alone_utilities(PowerLaw(), [Linear(low), Linear(high)], [100.0, 100.0])
    rent = metrics.information_rent(screened, known)
    assert m_low < m_max
    assert rent[0] == pytest.approx(low * (m_max - m_low) - value(m_max + others) + value(m_low + others), abs=1e-12)
    assert rent[0] > 0
    assert rent[1] == pytest.approx(0.0, abs=1e-12)
