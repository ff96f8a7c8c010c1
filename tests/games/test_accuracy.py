"""Every accuracy family keeps what it promises: shape, slopes, marginals, kinks, fewer owners, equality by value."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy import (
    Calibrated,
    Custom,
    GroupWeighted,
    PacBound,
    PowerLaw,
    RandomCoverage,
    RandomDiscovery,
    Separable,
)
from fedabm.games.best import best_response
from fedabm.games.costs import Linear, stack
from fedabm.games.intervals import ProofLimits
from fedabm.games.offers import full_access, nothing

OWNERS = 4
EPS = 1 / 32


def shared_root(profiles):
    """A concave function of the total, the same for everyone."""
    return np.sqrt(1.0 + profiles.sum(axis=1, keepdims=True)) + 0.0 * profiles


def shared_root_gradient(profiles):
    slope = 0.5 / np.sqrt(1.0 + profiles.sum(axis=1))
    return np.broadcast_to(slope[:, None, None], (*profiles.shape, profiles.shape[1]))


def own_part(contributions):
    return np.log1p(contributions) * np.linspace(1.0, 2.0, contributions.shape[-1])


def own_part_slope(contributions):
    return np.linspace(1.0, 2.0, contributions.shape[-1]) / (1.0 + contributions)


def others_part(profiles):
    return np.sqrt(profiles.sum(axis=1, keepdims=True)) + 0.0 * profiles


def step(x):
    """e(x) of Murhekar et al. 2023, eq. (8)."""
    return np.clip(0.5 + (x - 0.5) / (2 * EPS), 0.0, 1.0)


def cyclic(profiles):
    """a_i = e(s_i) + e(s_{i-1}) - e(s_i) e(s_{i-1}), Murhekar et al. 2023, eq. (9)."""
    own, before = step(profiles), np.roll(step(profiles), 1, axis=1)
    return own + before - own * before


def no_equilibrium():
    return Custom(cyclic, 3, concave=True, monotone=True, kinks=(0.5 - EPS, 0.5 + EPS))


MAKERS = {
    "power law": lambda rng: PowerLaw(rng.uniform(0.2, 2), rng.uniform(0.2, 2), rng.uniform(0.3, 2), 1.0),
    "without offset": lambda rng: PowerLaw(1.0, rng.uniform(0.5, 1.5), 0.0, 2.0),
    "groups": lambda rng: GroupWeighted(rng.uniform(0, 1, (2, 2)), [0, 1, 1, 0], rng.uniform(0.5, 2)),
    "calibrated": lambda rng: Calibrated(PowerLaw(), {"scale": [rng.uniform(0.2, 2), 1.0]}),
    "PAC bound": lambda rng: PacBound(0.95, rng.uniform(0.01, 0.2)),
    "discovery": lambda rng: RandomDiscovery(rng.dirichlet(np.ones(6), OWNERS)),
    "coverage": lambda rng: RandomCoverage(rng.dirichlet(np.ones(6), OWNERS)),
    "coverage, sure": lambda rng: RandomCoverage(np.vstack([np.eye(6)[0], rng.dirichlet(np.ones(6), OWNERS - 1)])),
    "custom": lambda rng: Custom(shared_root, concave=True, monotone=True),
    "custom, gradient": lambda rng: Custom(shared_root, OWNERS, True, True, gradient=shared_root_gradient),
    "separable": lambda rng: Separable(own_part, others_part, OWNERS, concave=True, monotone=True),
    "separable, slope": lambda rng: Separable(own_part, others_part, OWNERS, True, True, own_slope=own_part_slope),
}
BOUNDED = {"power law": 1.0, "without offset": 2.0, "groups": 1.0, "PAC bound": 0.95, "coverage": 1.0}
every_family = pytest.mark.parametrize("family", MAKERS)
seeds = st.integers(0, 10**6)
modest = settings(max_examples=15, deadline=None)


def drawn(family, seed, most=20.0):
    rng = np.random.default_rng(seed)
    return MAKERS[family](rng), rng.uniform(0.0, most, OWNERS), rng


@every_family
@given(seed=seeds)
@modest
def test_more_data_of_anyone_never_hurts(family, seed):
    accuracy, profile, rng = drawn(family, seed)
    more = profile + rng.uniform(0, 2, OWNERS) * rng.integers(0, 2, OWNERS)
    before, after = accuracy.values(np.stack([profile, more]))
    assert accuracy.monotone
    assert np.all(after >= before - 1e-12)


@pytest.mark.parametrize("family", BOUNDED)
@given(seed=seeds)
@modest
def test_bounded_accuracies_lie_between_zero_and_their_ceiling(family, seed):
    accuracy, profile, _ = drawn(family, seed, most=1000.0)
    values = accuracy.values(np.stack([profile, 0 * profile]))
    assert np.all((values >= 0) & (values <= BOUNDED[family]))


@every_family
@given(seed=seeds)
@modest
def test_concave_in_the_own_contribution_between_kinks(family, seed):
    accuracy, profile, rng = drawn(family, seed)
    kinks = accuracy.kinks(profile)
    low = np.max(np.where(np.isfinite(kinks), kinks, 0.0), axis=1, initial=0.0)
    left, right = low + rng.uniform(0, 5, OWNERS), low + rng.uniform(5, 10, OWNERS)
    curves = accuracy.curves(profile)
    middle = curves.value((left + right) / 2)
    assert accuracy.concave
    assert np.all(middle >= (curves.value(left) + curves.value(right)) / 2 - 1e-12)


@every_family
@given(seed=seeds)
@modest
def test_curves_agree_with_values_and_take_rows(family, seed):
    accuracy, profile, rng = drawn(family, seed)
    curves, trials = accuracy.curves(profile), rng.uniform(0, 30, (OWNERS, 3))
    assert np.allclose(curves.value(profile), accuracy.values(profile[None])[0], rtol=0, atol=1e-12)
    for i in range(OWNERS):
        changed = np.repeat(profile[None], 3, axis=0)
        changed[:, i] = trials[i]
        expected = accuracy.values(changed)[:, i]
        assert np.allclose(curves.value(trials)[i], expected, rtol=0, atol=1e-12)
        assert np.allclose(curves.take([i]).value(trials[[i]])[0], expected, rtol=0, atol=1e-12)
    assert np.array_equal(curves.value(trials)[:, 0], curves.value(trials[:, 0].copy()))


@every_family
@given(seed=seeds)
@modest
def test_slopes_and_marginals_are_derivatives(family, seed):
    accuracy, profile, _ = drawn(family, seed)
    profile = profile + 0.5
    if np.any(np.abs(accuracy.kinks(profile) - profile[:, None]) < 1e-3):
        return
    step = 1e-5 * np.eye(OWNERS)
    difference = (accuracy.values(profile + step) - accuracy.values(profile - step)).T / 2e-5
    marginals = accuracy.marginals(profile)
    assert np.allclose(marginals, difference, rtol=1e-5, atol=1e-7)
    assert np.allclose(accuracy.curves(profile).slope(profile), np.diagonal(marginals), rtol=1e-7, atol=1e-8)


@every_family
@given(seed=seeds)
@modest
def test_owners_left_out_contribute_nothing_and_are_not_counted(family, seed):
    accuracy, profile, rng = drawn(family, seed)
    rows = np.sort(rng.choice(OWNERS, 2, replace=False))
    embedded = np.zeros(OWNERS)
    embedded[rows] = profile[rows]
    if accuracy == MAKERS["custom"](rng):
        embedded = embedded[: rows.max() + 1]
    fewer = accuracy.restrict(rows)
    inside = np.ix_(rows, rows)
    assert np.allclose(fewer.values(profile[rows][None])[0], accuracy.values(embedded[None])[0, rows], atol=1e-12)
    assert np.allclose(fewer.marginals(profile[rows]), accuracy.marginals(embedded)[inside], atol=1e-9)
    assert np.allclose(fewer.kinks(profile[rows]), accuracy.kinks(embedded)[rows])
    trial = np.array([1.0, 2.0])
    assert np.allclose(fewer.curves(profile[rows]).value(trial), accuracy.curves(embedded).take(rows).value(trial))
    assert (fewer.concave, fewer.monotone) == (accuracy.concave, accuracy.monotone)
    alone = fewer.restrict([1])
    assert np.allclose(alone.values([[3.0]]), fewer.values(np.array([[0.0, 3.0]]))[0, 1])


@every_family
def test_equal_by_value_hashable_and_picklable(family):
    one, other = MAKERS[family](np.random.default_rng(1)), MAKERS[family](np.random.default_rng(1))
    again = pickle.loads(pickle.dumps(one))
    assert one == other == again == replace(one)
    assert len({one, other, again, replace(one), one.restrict([0, 1]), other.restrict([0, 1])}) <= 2


def test_arrays_are_kept_apart_from_the_caller():
    q = np.full((2, 3), 0.2)
    coverage, same = RandomCoverage(q), RandomCoverage(q.tolist())
    q[:] = 0.9
    assert coverage == same != RandomCoverage(q)
    with pytest.raises(ValueError, match="read-only"):
        coverage.table[0, 0] = 0.5


def test_table_of_zeros_ignores_signs_and_kinds_of_number():
    assert FrozenArray([0.0, 1.0]) == FrozenArray([-0.0, 1.0]) == FrozenArray([0, 1])
    assert len({FrozenArray([0.0, 1.0]), FrozenArray([-0.0, 1.0]), FrozenArray([0, 1])}) == 1
    assert FrozenArray([[1.0, 2.0]]) != FrozenArray([1.0, 2.0])
    assert FrozenArray([1.0]) != [1.0]


def test_discovery_by_hand():
    accuracy = RandomDiscovery([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    assert np.allclose(accuracy.weight_matrix(2), [[0.5, 0.125], [0.125, 0.625]])  # the diagonal is not 1
    assert np.allclose(accuracy.values(np.array([[2.0, 4.0]])), [[1.5, 2.75]])
    assert np.allclose(accuracy.curves(np.array([2.0, 4.0])).slope(np.array([9.0, 9.0])), [0.5, 0.625])
    assert np.allclose(accuracy.own_weights(2), [0.5, 0.625])


def test_coverage_by_hand():
    accuracy = RandomCoverage([[0.5, 0.5], [0.2, 0.8]])
    assert np.allclose(accuracy.at_zero(2), 0.5)  # rows sum to one
    # Missed: 0.5^2 * 0.8 = 0.2 and 0.5^2 * 0.2 = 0.05.
    assert np.allclose(accuracy.values(np.array([[2.0, 1.0]])), [[1 - 0.5 * 0.125, 1 - 0.5 * 0.08]])
    assert np.allclose(RandomCoverage([[0.5, 0.25]]).at_zero(1), 0.625)


def test_coverage_of_an_instance_that_one_owner_is_sure_to_see():
    accuracy = RandomCoverage([[1.0, 0.0], [0.5, 0.5]])
    tiny = 1e-9
    assert np.allclose(
        accuracy.values(np.array([[0.0, 0.0], [tiny, 0.0], [3.0, 0.0]])), [[0.5, 0.5], [1, 0.75], [1, 0.75]]
    )
    nobody, somebody = accuracy.curves(np.array([0.0, 2.0])), accuracy.curves(np.array([1.0, 2.0]))
    assert np.allclose(nobody.value(np.array([[0.0, tiny], [0.0, 1.0]])), [[0.875, 1.0], [0.5, 0.75]])
    assert np.allclose(somebody.value(np.array([0.0, 0.0])), [0.875, 0.75])
    assert np.all(np.isfinite(accuracy.marginals(np.zeros(2))))


def test_coverage_survives_very_many_samples():
    accuracy = RandomCoverage([[0.3, 0.7], [0.6, 0.4]])
    huge = np.array([1e6, 1e6])
    assert np.array_equal(accuracy.values(huge[None]), [[1.0, 1.0]])
    assert np.array_equal(accuracy.curves(huge).slope(huge), [0.0, 0.0])


def test_group_weighted_by_hand():
    accuracy = GroupWeighted([[1.0, 0.5], [0.0, 2.0]], [0, 1, 1], scale=2.0, offset=2.0)
    # Exposures: 1 + 0.5 * (2 + 4) = 4 for group 0, 2 * 6 = 12 for group 1.
    assert np.allclose(accuracy.values(np.array([[1.0, 2.0, 4.0]])), [[1 - 2 / 6, 1 - 2 / 14, 1 - 2 / 14]])
    assert accuracy == GroupWeighted(np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([0, 1, 1]), 2.0, 1.0, 2.0)


def test_viability_is_the_kink():
    accuracy = PowerLaw(scale=1.0, exponent=1.0, offset=0.0, ceiling=8.0)
    assert accuracy.viable == pytest.approx(1 / 8)
    assert np.allclose(accuracy.kinks(np.array([0.1, 0.02])), [[0.105], [0.025]])
    assert np.array_equal(accuracy.at_zero(2), [0.0, 0.0])
    assert np.allclose(accuracy.curves(np.array([0.1, 0.02])).slope(np.array([0.104, 0.026])), [0.0, 1 / 0.126**2])


def test_separable_best_response_ignores_the_others():
    """Murhekar et al. 2023, Theorem A.1: max log(1 + x) - x/4 is at x = 3, and twice the payoff at x = 7."""
    accuracy = Separable(own_part, others_part, 2, concave=True, own_slope=own_part_slope)
    cost, capacity = stack([Linear(0.25)] * 2), np.array([50.0, 50.0])
    for profile in ([0.0, 0.0], [20.0, 40.0]):
        offers = full_access(accuracy, np.array(profile), nothing(2))
        assert np.allclose(best_response(offers, cost, capacity).contribution, [3.0, 7.0], atol=1e-7)


def test_separable_may_decrease():
    accuracy = Separable(np.negative, others_part, concave=True)
    assert np.allclose(accuracy.values(np.array([[4.0, 9.0]])), [[-1.0, -7.0]])
    assert not accuracy.monotone


def test_others_part_cannot_see_the_own_contribution():
    accuracy = Separable(np.zeros_like, lambda s: s * 1e6)
    assert np.array_equal(accuracy.values(np.array([[4.0, 9.0]])), [[0.0, 0.0]])


@pytest.mark.parametrize(
    ("before", "answer"), [(0.0, 0.53125), (0.4, 0.53125), (0.53125, 0.0), (1.0, 0.0), (0.5, 0.53125), (0.525, 0.0)]
)
def test_best_responses_without_equilibrium(before, answer):
    """Murhekar et al. 2023, Theorem A.2, eps = 1/32: every best response is 0 or 1/2 + eps = 0.53125."""
    offers = full_access(no_equilibrium(), np.full(3, before), nothing(3))
    best = best_response(offers, stack([Linear(0.25)] * 3), np.ones(3), certify=ProofLimits())
    assert np.array_equal(best.contribution, np.full(3, answer))
    assert np.all(best.bound - best.utility < 1e-9)


def test_best_responses_without_equilibrium_run_in_a_cycle_of_six():
    cost, profile, seen = stack([Linear(0.25)] * 3), np.array([0.53125, 0.0, 0.0]), []
    for turn in range(12):
        offers = full_access(no_equilibrium(), profile, nothing(3))
        mover = [2, 0, 1][turn % 3]
        profile = profile.copy()
        profile[mover] = best_response(offers, cost, np.ones(3)).contribution[mover]
        seen.append(tuple(profile))
    assert len(set(seen)) == 6
    assert seen[:6] == seen[6:]


def test_slopes_do_not_look_across_kinks():
    curves = no_equilibrium().curves(np.zeros(3))
    kink, tiny = 0.5 - EPS, 1e-12
    assert np.allclose(curves.slope(np.array([kink - tiny, kink, kink + tiny])), [0.0, 1 / (2 * EPS), 1 / (2 * EPS)])


def test_kinks_for_everyone_per_owner_or_from_the_profile():
    profile = np.array([1.0, 2.0])
    assert np.array_equal(Custom(shared_root, kinks=[3.0]).kinks(profile), [[3.0], [3.0]])
    assert np.array_equal(Custom(shared_root, 2, kinks=[[3.0], [4.0]]).kinks(profile), [[3.0], [4.0]])
    assert np.array_equal(Custom(shared_root, kinks=lambda s: s[:, None] + 1).kinks(profile), [[2.0], [3.0]])
    assert np.array_equal(Custom(shared_root, 2, kinks=[[3.0], [4.0]]).restrict([1]).kinks(profile[1:]), [[4.0]])
    with pytest.raises(InputError, match="3 owners"):
        Custom(shared_root, kinks=[[3.0], [4.0]]).kinks(np.ones(3))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RandomCoverage([[0.5, 1.5]]), "at most 1, got 1.5"),
        (lambda: RandomCoverage([[0.5, -0.5]]), "got -0.5"),
        (lambda: RandomCoverage([[0.5, float("nan")]]), "got nan"),
        (lambda: RandomCoverage([0.5, 0.5]), r"owners x instances, got shape \(2,\)"),
        (lambda: RandomCoverage([[0.5], [0.5, 0.5]]), "rows of equal length"),
        (lambda: RandomDiscovery([["a", "b"]]), "must hold numbers"),
        (lambda: RandomDiscovery([]), "owners x instances"),
        (lambda: RandomDiscovery([[0.5, -0.5]]), "got -0.5"),
        (lambda: RandomDiscovery([[0.5]]).values(np.ones((1, 2))), "2 contributions but 1 owners"),
        (lambda: RandomCoverage([[0.5]]).values(np.ones((1, 2))), "2 contributions but 1 owners"),
        (lambda: RandomCoverage([[0.5]]).curves(np.ones(2)), "2 contributions but 1 owners"),
        (lambda: GroupWeighted([[1.0, 0.5]], [0]), "square table"),
        (lambda: GroupWeighted([[1.0]], [0, 1]), "from 0 to 0"),
        (lambda: GroupWeighted([[1.0]], [0.5]), "whole numbers"),
        (lambda: GroupWeighted([[-1.0]], [0]), "got -1"),
        (lambda: GroupWeighted([[1.0]], []), "at least one owner"),
        (lambda: PowerLaw(scale=0.0), "accuracy scale"),
        (lambda: PowerLaw(exponent=float("nan")), "accuracy exponent"),
        (lambda: Custom("root"), "must be a function of profiles"),
        (lambda: Separable(np.sin, None), "must be a function of profiles"),
        (lambda: Custom(shared_root, kinks=[-1.0]), "kinks must be contributions"),
        (lambda: Custom(shared_root, 3).values(np.ones((1, 2))), "2 contributions but 3 owners"),
        (lambda: Custom(lambda s: s.sum(axis=1)).values(np.ones((1, 2))), r"shape \(1,\), not \(1, 2\)"),
        (lambda: Custom(lambda s: s * np.nan).values(np.ones((1, 2))), "gave nan"),
        (lambda: Custom(shared_root, gradient=np.sin).marginals(np.ones(2)), r"gradient gave shape \(1, 2\)"),
        (lambda: Separable(np.sin, lambda s: s.sum(axis=1)).values(np.ones((1, 2))), r"shape \(2,\), not \(2, 2\)"),
    ],
)
def test_bad_input_is_one_clear_line(build, message):
    with pytest.raises(InputError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_whole_numbers_as_floats_name_groups_too():
    assert GroupWeighted([[1.0, 0.5], [0.0, 1.0]], [0.0, 1.0]) == GroupWeighted([[1.0, 0.5], [0.0, 1.0]], [0, 1])


@pytest.mark.parametrize("instances", [1, 3, 130])
def test_coverage_of_one_owner_or_trial_is_to_the_last_bit_that_of_many(instances, monkeypatch):
    rng = np.random.default_rng(instances)
    curve = RandomCoverage(rng.uniform(0, 1, (5, instances))).curves(rng.random(5))
    x = rng.random((5, 33))
    for ask in ("value", "slope"):
        many = getattr(curve, ask)(x)
        assert np.array_equal(getattr(curve.take([2]), ask)(x[[2]]), many[[2]])
        assert np.array_equal(getattr(curve, ask)(x[:, 7]), many[:, 7])
        with monkeypatch.context() as patch:
            patch.setattr("fedabm.games.accuracy.random_coverage._BLOCK", 1)
            assert np.array_equal(getattr(curve, ask)(x), many)
