"""Shapley shares and partial reciprocity as mechanisms: budget, equal treatment, reciprocity, shapes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.accuracy.custom import Custom
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.random_coverage import RandomCoverage
from fedabm.games.best import best_response
from fedabm.games.costs import Linear
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.mechanisms.partial_reciprocity import PartialReciprocity
from fedabm.mechanisms.shapley_share import ShapleyShare
from fedabm.shapley import shapley
from fedabm.views import Reports, ServerView

seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=40)


def reports(profile, capacity=10.0):
    return Reports(np.asarray(profile, dtype=float), np.full(len(profile), capacity))


def settle(mechanism, accuracy, profile):
    return mechanism.settle(ServerView(0, reports(profile), accuracy))


def random_accuracy(rng, owners):
    """Families with and without something to gain from an empty federation, with and without viability."""
    groups = rng.integers(0, 2, owners)
    cases = (
        GroupWeighted(rng.random((2, 2)), groups, scale=rng.uniform(0.3, 1.0), exponent=rng.uniform(0.2, 2.0)),
        RandomCoverage(rng.dirichlet(np.ones(4), size=owners)),
        PowerLaw(scale=rng.uniform(1.5, 3.0)),
        PacBound(),
    )
    return cases[rng.integers(len(cases))]


@quick
@given(seeds, st.integers(1, 9), st.floats(0, 1))
def test_payments_sum_to_zero(seed, owners, r):
    rng = np.random.default_rng(seed)
    accuracy, profile = random_accuracy(rng, owners), 10 * rng.random(owners)
    for mechanism in (ShapleyShare(), PartialReciprocity(r), ShapleyShare(method="monte_carlo", permutations=7)):
        assert mechanism.budget_balanced
        assert abs(settle(mechanism, accuracy, profile).payments.sum()) < 1e-12


def test_payments_as_printed_sum_to_minus_the_worth_of_nothing():
    accuracy, profile = RandomCoverage([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]), np.array([1.0, 2.0, 0.5])
    mechanism = ShapleyShare(printed=True)
    assert not mechanism.budget_balanced
    assert not pickle.loads(pickle.dumps(mechanism)).budget_balanced
    assert settle(mechanism, accuracy, profile).payments.sum() == pytest.approx(-1.5, abs=1e-13)
    np.testing.assert_allclose(
        settle(ShapleyShare(), accuracy, profile).payments - settle(mechanism, accuracy, profile).payments, 0.5
    )


@quick
@given(seeds, st.integers(2, 9))
def test_equals_are_treated_equally(seed, owners):
    """Murhekar et al. 2025, Theorem 4.7."""
    rng = np.random.default_rng(seed)
    accuracy, profile = PowerLaw(scale=rng.uniform(0.5, 2.0)), 10 * rng.random(owners)
    profile[0] = profile[1]
    for mechanism in (ShapleyShare(), PartialReciprocity(0.4)):
        assert mechanism.equal_treatment
        assert np.ptp(settle(mechanism, accuracy, profile).payments[:2]) < 1e-13
    assert not ShapleyShare(method="monte_carlo").equal_treatment


@quick
@given(seeds, st.integers(1, 8), st.floats(0, 1))
def test_reciprocity_is_at_least_r(seed, owners, r):
    """Everyone receives at least r times its Shapley share, exactly it under M^Shap if A(0) = 0 (Theorem 4.7)."""
    rng = np.random.default_rng(seed)
    accuracy, profile = random_accuracy(rng, owners), 10 * rng.random(owners)
    shares, received = shapley(accuracy, profile), accuracy.values(profile[None])[0]
    assert np.all(received + settle(PartialReciprocity(r), accuracy, profile).payments >= r * shares - 1e-12)
    benefit = received + settle(ShapleyShare(), accuracy, profile).payments
    np.testing.assert_allclose(benefit, shares + accuracy.at_zero(owners), atol=1e-12)


@quick
@given(seeds, st.integers(1, 6), st.floats(0, 1))
def test_benefits_have_the_promised_shape(seed, owners, r):
    rng = np.random.default_rng(seed)
    accuracy, profile = random_accuracy(rng, owners), 10 * rng.random(owners)
    for mechanism in (ShapleyShare(), PartialReciprocity(r)):
        offers = mechanism.offers(accuracy, reports(profile))
        grid = np.tile(np.linspace(0.0, 10.0, 41), (owners, 1))
        value = offers.benefit.value(grid)
        assert np.all(np.diff(value) > -1e-12)
        if offers.shape == "concave" and offers.kinks.shape[1] == 0:
            assert np.all(np.diff(value, n=2) < 1e-12)


def test_ends_of_the_blend():
    accuracy, profile = GroupWeighted([[1.0, 0.3], [0.5, 1.0]], [0, 0, 1]), np.array([1.0, 2.0, 0.5])
    none, full = NoPayments(), ShapleyShare()
    np.testing.assert_array_equal(settle(PartialReciprocity(0), accuracy, profile).payments, 0.0)
    whole = settle(PartialReciprocity(1), accuracy, profile).payments
    np.testing.assert_allclose(whole, settle(full, accuracy, profile).payments, rtol=1e-14)
    half = settle(PartialReciprocity(0.5), accuracy, profile).payments
    np.testing.assert_allclose(half, 0.5 * (settle(none, accuracy, profile).payments + whole), atol=1e-15)


@pytest.mark.parametrize(
    "mechanism", [ShapleyShare(), PartialReciprocity(0.3), PartialReciprocity(0), PartialReciprocity(1)]
)
def test_jacobian_is_the_derivative_of_the_slopes(mechanism):
    rng = np.random.default_rng(2)
    accuracy, profile = GroupWeighted(rng.random((2, 2)), [0, 1, 1, 0, 1], exponent=0.7), 1 + rng.random(5)

    def slopes(at):
        return mechanism.offers(accuracy, reports(at)).benefit.slope(at)

    step = 1e-5
    expected = np.array([slopes(profile + step * row) - slopes(profile - step * row) for row in np.eye(5)]).T / (
        2 * step
    )
    np.testing.assert_allclose(mechanism.jacobian(accuracy, reports(profile)), expected, rtol=1e-3, atol=1e-6)
    assert ShapleyShare().jacobian(PowerLaw(scale=2.0), reports(profile)) is None


def test_m_shap_example_is_a_fixed_point_of_best_responses():
    """Murhekar et al. 2025, Examples 3 and 4, corrected: the equilibrium is (2.99839298, 1.16904814)."""
    profile, capacity = np.array([2.99839298, 1.16904814]), np.full(2, 100.0)
    offers = ShapleyShare().offers(PowerLaw(), Reports(profile, capacity))
    best = best_response(offers, Linear(np.array([0.1, 0.25])), capacity)
    np.testing.assert_allclose(best.contribution, profile, atol=2e-8)


def test_any_oracle_will_do():
    def total(profiles):
        return np.log1p(profiles.sum(axis=1, keepdims=True)) + 0 * profiles

    profile = np.linspace(0.1, 2.0, 14)
    mechanism = ShapleyShare(permutations=40, seed=3)
    outcome = settle(mechanism, Custom(total, monotone=True), profile)
    assert abs(outcome.payments.sum()) < 1e-12
    assert outcome.offers.shape == "monotone"
    np.testing.assert_array_equal(outcome.payments, settle(mechanism, Custom(total, monotone=True), profile).payments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PartialReciprocity(1.5),
        lambda: PartialReciprocity(-0.1),
        lambda: ShapleyShare(method="exact"),
        lambda: ShapleyShare(permutations=0),
    ],
)
def test_bad_settings(make):
    with pytest.raises(InputError):
        make()
