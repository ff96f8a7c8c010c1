"""Shapley shares: every exact method against the definition, the axioms, and sampling against the exact ones."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.accuracy.custom import Custom
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.random_coverage import RandomCoverage
from fedabm.games.accuracy.random_discovery import RandomDiscovery
from fedabm.shapley import choose_method, shapley, shapley_curves, shapley_jacobian, shapley_marginals
from fedabm.shapley.enumeration import EveryCoalition

seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=40)


def root_of_total(profiles):
    return np.sqrt(profiles.sum(axis=-1, keepdims=True) + 1.0) + 0.1 * profiles


def random_groups(rng, owners, *, extreme=False):
    """A group-weighted power law that is worth something from the start, and a profile."""
    groups = rng.integers(1, 4)
    exponent, offset = rng.uniform(0.05, 3.0), 10 ** rng.uniform(-1, 1)
    ceiling = rng.uniform(0.5, 1.0)
    scale = ceiling * offset**exponent * rng.uniform(0.2, 1.0) * (1 - 1e-12)
    weights = rng.random((groups, groups)) * (rng.random((groups, groups)) < 0.9)
    profile = 10 ** rng.uniform(-6, 6, owners) if extreme else 5 * rng.random(owners)
    members = rng.integers(0, groups, owners)
    return GroupWeighted(weights, members, scale, exponent, offset, ceiling), profile * (rng.random(owners) < 0.9)


def random_coverage(rng, owners):
    q = rng.dirichlet(np.full(5, 0.4), size=owners)
    return RandomCoverage(np.where(q < 1e-3, 0.0, q)), 4 * rng.random(owners)


def few_levels(rng, owners):
    levels = 60 * rng.random(3) * (rng.random(3) < 0.8)
    return levels[rng.integers(0, 3, owners)]


def random_case(rng, owners):
    """An accuracy with an exact method that is not enumeration."""
    table = rng.random((owners, 3))
    cases = (
        lambda: random_groups(rng, owners),
        lambda: random_groups(rng, owners, extreme=True),
        lambda: random_coverage(rng, owners),
        lambda: (RandomDiscovery(table), 5 * rng.random(owners)),
        lambda: (PacBound(0.95, 2.0), few_levels(rng, owners)),
        lambda: (PowerLaw(scale=3.0, exponent=0.7), few_levels(rng, owners)),
    )
    return cases[rng.integers(len(cases))]()


@settings(deadline=None, max_examples=120)
@given(seeds, st.integers(1, 9))
def test_exact_methods_equal_the_definition(seed, owners):
    accuracy, profile = random_case(np.random.default_rng(seed), owners)
    exact, definition = shapley(accuracy, profile), shapley(accuracy, profile, "enumeration")
    assert exact.method in ("linear", "quadrature", "counting")
    assert exact.standard_errors is None
    scale = max(1.0, np.max(np.abs(definition)))
    np.testing.assert_allclose(exact, definition, rtol=0, atol=1e-12 * scale)
    slopes = shapley_marginals(accuracy, profile)
    expected = shapley_marginals(accuracy, profile, "enumeration")
    tolerance = 1e-8 if isinstance(accuracy, RandomCoverage) else 1e-11
    np.testing.assert_allclose(slopes, expected, rtol=0, atol=tolerance * max(1.0, np.max(np.abs(expected))))


@pytest.mark.parametrize("exponent", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.1, 1.0, 10.0])
def test_quadrature_is_exact_at_extremes(exponent, size, offset):
    accuracy = PowerLaw(scale=offset**exponent * (1 - 1e-12), exponent=exponent, offset=offset)
    profile = size * np.array([1.0, 2.0, 0.5, 1e-3, 0.0, 7.0, 1.0, 1.0, 3.0, 1.0])
    definition = shapley(accuracy, profile, "enumeration")
    np.testing.assert_allclose(shapley(accuracy, profile, "quadrature"), definition, rtol=0, atol=1e-13)
    # Slopes have no cancellation in the definition, so that even their relative error is small.
    slopes = shapley_marginals(accuracy, profile, "enumeration")
    np.testing.assert_allclose(shapley_marginals(accuracy, profile, "quadrature"), slopes, rtol=1e-12)


@pytest.mark.parametrize("owners", [20, 60, 100, 400])
def test_many_owners_agree_with_counting(owners):
    rng = np.random.default_rng(owners)
    accuracy = PowerLaw(scale=0.8, exponent=0.6, offset=0.9)
    profile = np.array([0.0, 0.3, 4.0])[rng.integers(0, 3, owners)]
    profile[0] = 1000.0
    counted = shapley(accuracy, profile, "counting")
    np.testing.assert_allclose(shapley(accuracy, profile, "quadrature"), counted, rtol=1e-12)
    slopes = shapley_marginals(accuracy, profile, "counting")
    np.testing.assert_allclose(shapley_marginals(accuracy, profile, "quadrature"), slopes, rtol=1e-12)


def test_ten_thousand_owners_add_up():
    rng = np.random.default_rng(0)
    accuracy = GroupWeighted(rng.random((2, 2)), rng.integers(0, 2, 10_000))
    profile = rng.pareto(1.5, 10_000)
    total = accuracy.values(profile[None]).sum()
    assert shapley(accuracy, profile).sum() == pytest.approx(total, rel=1e-13)


def test_ten_thousand_identical_owners_by_counting():
    owners, each, accuracy = 10_000, 0.05, PacBound()
    shares = shapley(accuracy, np.full(owners, each))
    assert shares.method == "counting"
    total = owners * accuracy.curve(np.array([owners * each]))[0]
    np.testing.assert_allclose(shares, total / owners, rtol=1e-11)
    before = each * np.arange(owners)
    trial = np.array([0.0, 0.01, 3.0])
    gains = (accuracy.curve(before[:, None] + trial) - accuracy.curve(before)[:, None]).sum(axis=0)
    curve = shapley_curves(accuracy, np.full(owners, each)).take([5])
    np.testing.assert_allclose(curve.value(trial[None])[0], gains, rtol=1e-11)


@quick
@given(seeds, st.integers(1, 9))
def test_efficiency_symmetry_null_player(seed, owners):
    rng = np.random.default_rng(seed)
    accuracy, profile = random_case(rng, owners)
    if isinstance(accuracy, PowerLaw) and not isinstance(accuracy, GroupWeighted) and owners > 1:
        profile[0] = profile[1]
        assert np.ptp(shapley(accuracy, profile)[:2]) < 1e-13
    shares = shapley(accuracy, profile)
    gain = (accuracy.values(profile[None])[0] - accuracy.at_zero(owners)).sum()
    assert shares.sum() == pytest.approx(gain, abs=1e-12 * max(1.0, abs(gain)))
    assert np.all(shares[profile == 0] == 0)
    assert np.all(shapley(accuracy, profile, "enumeration")[profile == 0] == 0)


@quick
@given(seeds, st.integers(2, 7))
def test_marginals_are_derivatives(seed, owners):
    rng = np.random.default_rng(seed)
    accuracy, profile = (random_groups, random_coverage)[rng.integers(2)](rng, owners)
    profile = profile + 0.1
    step, identity = 1e-5, np.eye(owners)
    ahead = np.array([shapley(accuracy, profile + step * row) for row in identity])
    behind = np.array([shapley(accuracy, profile - step * row) for row in identity])
    slopes = np.diagonal(ahead - behind) / (2 * step)
    np.testing.assert_allclose(shapley_marginals(accuracy, profile), slopes, atol=1e-7 * max(1, np.max(slopes)))


@quick
@given(seeds, st.integers(2, 7))
def test_own_data_is_worth_more_to_the_owner_than_to_the_total(seed, owners):
    """Murhekar et al. 2025, Lemma D.1: dA/ds_i <= dphi_i/ds_i."""
    rng = np.random.default_rng(seed)
    accuracy, profile = (random_groups, random_coverage)[rng.integers(2)](rng, owners)
    total = accuracy.marginals(profile).sum(axis=0)
    assert np.all(total <= shapley_marginals(accuracy, profile) * (1 + 1e-12) + 1e-15)


@quick
@given(seeds, st.integers(1, 7), st.sampled_from(["auto", "enumeration", "monte_carlo"]))
def test_curves_are_the_shares_at_changed_profiles(seed, owners, method):
    rng = np.random.default_rng(seed)
    accuracy, profile = random_case(rng, owners)
    curve = pickle.loads(pickle.dumps(shapley_curves(accuracy, profile, method, reach=profile + 3)))
    scale = max(1.0, float(np.max(accuracy.values(profile[None] + 3)) * owners))
    np.testing.assert_allclose(curve.value(profile), shapley(accuracy, profile, method), atol=1e-12 * scale)
    trials = 3 * rng.random((owners, 2))
    row = rng.integers(owners)
    changed = np.repeat(profile[None], 2, axis=0)
    changed[:, row] = trials[row]
    expected = [shapley(accuracy, one, method)[row] for one in changed]
    np.testing.assert_allclose(curve.value(trials)[row], expected, atol=1e-12 * scale)
    np.testing.assert_allclose(curve.take([row, row]).value(trials[[row, row]])[1], expected, atol=1e-12 * scale)
    steep = [shapley_marginals(accuracy, one, method)[row] for one in changed]
    np.testing.assert_allclose(curve.slope(trials)[row], steep, rtol=1e-9, atol=1e-8 * scale)


@pytest.mark.parametrize("owners", [3, 12, 60])
def test_jacobian_is_the_derivative_of_the_marginals(owners):
    rng = np.random.default_rng(owners)
    for accuracy, profile in (random_groups(rng, owners), random_coverage(rng, owners)):
        profile = profile + 0.2
        step, identity = 1e-5, np.eye(owners)
        ahead = np.array([shapley_marginals(accuracy, profile + step * row) for row in identity])
        behind = np.array([shapley_marginals(accuracy, profile - step * row) for row in identity])
        expected = ((ahead - behind) / (2 * step)).T
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(shapley_jacobian(accuracy, profile), expected, atol=1e-8 * scale)
        np.testing.assert_allclose(shapley_jacobian(accuracy, profile, 1e-8), expected, atol=1e-6 * scale)


def test_example_7_of_murhekar_2025():
    shares = shapley(PowerLaw(), np.array([3.98115436, 2.46263961]))
    np.testing.assert_allclose(shares, [0.95370025, 0.77761956], atol=5e-9)


def test_two_owners_by_hand():
    # A(s) = 2 (1 - 1/(1 + S)): A(1, 0) = 1, A(0, 3) = 1.5, A(1, 3) = 1.6
    shares = shapley(PowerLaw(), np.array([1.0, 3.0]))
    np.testing.assert_allclose(shares, [0.5 * (1.0 + 0.1), 0.5 * (1.5 + 0.6)], rtol=1e-14)


def test_sampling_is_right_within_its_errors():
    rng = np.random.default_rng(3)
    cases = [random_groups(rng, 15), (Custom(root_of_total), rng.random(8)), (PacBound(), 30 * rng.random(10))]
    for accuracy, profile in cases:
        exact = shapley(accuracy, profile, "enumeration")
        sampled = shapley(accuracy, profile, "monte_carlo", permutations=2000, rng=np.random.default_rng(1))
        assert (sampled.method, sampled.permutations) == ("monte_carlo", 2000)
        away = np.abs(sampled - exact)
        assert np.all(away <= 5 * sampled.standard_errors + 1e-12)
        assert np.max(away) > 1e-6
        assert sampled.sum() == pytest.approx(exact.sum(), rel=1e-12)
        slopes = shapley_marginals(accuracy, profile, "monte_carlo", permutations=2000, rng=np.random.default_rng(1))
        exact_slopes = shapley_marginals(accuracy, profile, "enumeration")
        assert np.all(np.abs(slopes - exact_slopes) <= 5 * slopes.standard_errors + 1e-9)


def test_antithetic_pairs_have_smaller_errors():
    rng = np.random.default_rng(4)
    accuracy, profile = PowerLaw(offset=10.0), rng.random(20)
    plain, paired = (
        shapley(accuracy, profile, "monte_carlo", permutations=4000, rng=np.random.default_rng(5), antithetic=flag)
        for flag in (False, True)
    )
    assert np.all(paired.standard_errors < 0.5 * plain.standard_errors)
    exact = shapley(accuracy, profile)
    assert np.all(np.abs(paired - exact) <= 5 * paired.standard_errors)
    assert np.linalg.norm(paired - exact) < np.linalg.norm(plain - exact)


def test_sampling_is_reproducible():
    accuracy, profile = Custom(root_of_total), np.arange(17.0)
    first, second = shapley(accuracy, profile), shapley(accuracy, profile)
    assert first.method == "monte_carlo"
    np.testing.assert_array_equal(first, second)
    other = shapley(accuracy, profile, rng=np.random.default_rng(9))
    assert np.any(other != first)


def test_what_auto_picks():
    many = np.linspace(1.0, 2.0, 30)
    assert choose_method(PowerLaw(), many) == "quadrature"
    assert choose_method(GroupWeighted([[1.0]], [0] * 30), many) == "quadrature"
    assert choose_method(RandomCoverage(np.full((30, 2), 0.5)), many) == "quadrature"
    assert choose_method(RandomDiscovery(np.full((30, 2), 0.5)), many) == "linear"
    assert choose_method(PowerLaw(scale=2.0), many) == "monte_carlo"
    assert choose_method(PowerLaw(scale=2.0), np.ones(30)) == "counting"
    assert choose_method(Custom(root_of_total), many[:12]) == "enumeration"
    assert choose_method(Custom(root_of_total), many) == "monte_carlo"


def test_clipped_accuracy_is_not_left_to_quadrature():
    accuracy, profile = PowerLaw(scale=2.0), np.array([0.3, 0.5, 0.9, 2.0])
    assert shapley(accuracy, profile).method != "quadrature"
    np.testing.assert_allclose(shapley(accuracy, profile), shapley(accuracy, profile, "enumeration"), atol=1e-14)


@pytest.mark.parametrize(
    ("accuracy", "owners", "method", "words"),
    [
        (PowerLaw(), 3, "quadratur", "did you mean 'quadrature'"),
        (PowerLaw(scale=2.0), 3, "quadrature", "without minimum viability"),
        (PowerLaw(), 3, "linear", "use 'quadrature'"),
        (PowerLaw(), 20, "enumeration", "at most 16 owners"),
        (PowerLaw(), 40, "counting", "few different contributions"),
    ],
)
def test_methods_that_do_not_apply(accuracy, owners, method, words):
    with pytest.raises(InputError, match=words):
        shapley(accuracy, np.arange(1.0, owners + 1), method)


@pytest.mark.parametrize("profile", [[-1.0, 2.0], [np.nan, 1.0], [[1.0, 2.0]], []])
def test_bad_profiles(profile):
    with pytest.raises(InputError):
        shapley(PowerLaw(), np.array(profile))


@pytest.mark.parametrize("accuracy", [GroupWeighted([[1.0]], [0, 0]), RandomCoverage([[0.5], [0.5]])])
def test_a_profile_must_fit_its_accuracy(accuracy):
    with pytest.raises(InputError, match="3 contributions but 2 owners"):
        shapley(accuracy, np.ones(3))


@pytest.mark.parametrize("permutations", [0, -1, 1.5])
def test_permutations_are_a_positive_whole_number(permutations):
    with pytest.raises(InputError, match="permutations must be a whole number"):
        shapley(PowerLaw(), np.ones(3), "monte_carlo", permutations=permutations)


def test_shares_are_arrays_that_remember():
    shares = shapley(PowerLaw(), np.array([1.0, 2.0]))
    again = pickle.loads(pickle.dumps(shares))
    assert again.method == shares.method == "quadrature"
    np.testing.assert_array_equal(again, shares)
    assert type(shares + 1) is np.ndarray
    assert isinstance(shares.sum(), float)


def test_no_warnings_at_the_edges():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for profile in (np.zeros(3), np.array([1e12]), np.array([0.0, 1e-300, 1e9])):
            for accuracy in (PowerLaw(), RandomCoverage([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]][: len(profile)])):
                assert np.all(np.isfinite(shapley(accuracy, profile)))
                assert np.all(np.isfinite(shapley_marginals(accuracy, profile)))
                assert np.all(np.isfinite(shapley_jacobian(accuracy, profile)))


def test_who_is_in_a_coalition_is_asked_once_per_owner_however_many_contributions_are_tried(monkeypatch):
    """And the answers do not depend on what is asked together."""
    asked = []
    before = EveryCoalition.before
    monkeypatch.setattr(EveryCoalition, "before", lambda self, rows: asked.append(len(rows)) or before(self, rows))
    accuracy = Custom(lambda s: np.tanh(s.sum(axis=1, keepdims=True)) + 0.1 * s, monotone=True)
    curves = shapley_curves(accuracy, np.array([0.3, 0.5, 0.1]))
    rows, tried = np.tile(np.arange(3), 20), np.linspace(0.0, 2.0, 60)
    asked.clear()
    together = curves.take(rows).value(tried)
    assert asked == [3]
    alone = [curves.take(rows[k : k + 1]).value(tried[k : k + 1])[0] for k in range(60)]
    np.testing.assert_array_equal(together, alone)
