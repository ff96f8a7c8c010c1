"""Proportional rules: Karimireddy et al. 2022, Appendix C.2, with Theorem VI corrected."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy.custom import Custom
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.power_law import GroupWeighted, PowerLaw
from fedabm.games.accuracy.random_coverage import RandomCoverage
from fedabm.games.best import best_response
from fedabm.games.costs import Linear, stack
from fedabm.games.individual import individual_optimum
from fedabm.games.intervals import ProofLimits
from fedabm.mechanisms import proportional_shapley
from fedabm.mechanisms.mixed_merits import MixedMerits
from fedabm.mechanisms.no_payments import NoPayments
from fedabm.mechanisms.proportional import ProportionalData, ProportionalValue
from fedabm.mechanisms.proportional_shapley import ProportionalShapley, RecomputedShapley
from fedabm.views import Reports, ServerView

RULES = [ProportionalData, ProportionalValue, ProportionalShapley]
accuracies = st.one_of(
    st.builds(PowerLaw, st.floats(0.3, 3.0), st.floats(0.2, 2.0), st.floats(0.5, 2.0)),
    st.builds(PacBound, st.floats(0.5, 1.0), st.floats(0.1, 2.0)),
)
profiles = st.lists(st.one_of(st.sampled_from([0.0, 20.0, 90.0]), st.floats(0, 200)), min_size=1, max_size=5)


def told(profile, size=400.0):
    profile = np.asarray(profile, dtype=float)
    return Reports(profile, np.full(len(profile), size))


def shapley_values(accuracy, profile):
    """Shapley values of v(total), by the definition."""
    n, values = len(profile), np.zeros(len(profile))
    for i in range(n):
        for size in range(n):
            for others in combinations(np.delete(profile, i), size):
                before = np.array([sum(others), sum(others) + profile[i]])
                values[i] += np.diff(accuracy.curve(before))[0] / (n * comb(n - 1, size))
    return values


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, max_examples=30)
@given(accuracy=accuracies, profile=profiles, p=st.floats(0.0, 1.0))
def test_access_is_a_share_and_grows_with_the_contribution(rule, accuracy, profile, p):
    reports = told(profile)
    offers = rule(p).offers(accuracy, reports)
    x = np.broadcast_to(np.linspace(0, 400, 101), (len(profile), 101))
    received, full = offers.received.value(x), offers.accuracy.value(x)
    assert np.all((received >= 0) & (received <= full))
    assert np.all(np.diff(received, axis=1) >= -1e-12)
    settled = rule(p).settle(ServerView(0, reports, accuracy))
    assert np.all((settled.access >= 0) & (settled.access <= 1))
    assert np.all(settled.payments == 0)
    leader = int(np.argmax(profile))
    assert settled.access[leader] == 1
    assert offers.take([leader]).received.value(x[[leader]]) == pytest.approx(received[[leader]])


@pytest.mark.parametrize("rule", RULES)
def test_exponent_zero_is_no_payments(rule):
    reports = told([1.0, 0.0, 7.0])
    ours, standard = (mechanism.offers(PowerLaw(), reports) for mechanism in (rule(0.0), NoPayments()))
    x = np.broadcast_to(np.linspace(0, 9, 10), (3, 10))
    assert np.array_equal(ours.received.value(x), standard.received.value(x))
    assert ours.shape == standard.shape == "concave"


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, max_examples=25)
@given(accuracy=accuracies, p=st.floats(0.1, 1.0), data=st.data())
def test_slopes_match_differences(rule, accuracy, p, data):
    profile = np.array(data.draw(st.lists(st.floats(70, 200), min_size=2, max_size=4)))
    offers = rule(p).offers(accuracy, told(profile))
    x = np.array(data.draw(st.lists(st.floats(70, 300), min_size=len(profile), max_size=len(profile))))
    if np.any(np.abs(x[:, None] - np.hstack([offers.kinks, np.tile(profile, (len(x), 1))])) < 1e-2):
        return
    step = 1e-5 * x
    difference = (offers.received.value(x + step) - offers.received.value(x - step)) / (2 * step)
    assert offers.received.slope(x) == pytest.approx(difference, rel=1e-5, abs=1e-9)


def test_the_three_rules_by_hand():
    accuracy, profile = PowerLaw(), np.array([1.0, 4.0])
    full = 1 - 1 / 6
    data, value, shared = (rule(0.5).offers(accuracy, told(profile)).received.value(profile) for rule in RULES)
    assert data == pytest.approx([full * 0.5, full])
    assert value == pytest.approx([full * np.sqrt(0.5 / 0.8), full])
    first, second = (0.5 + full - 0.8) / 2, (0.8 + full - 0.5) / 2
    assert shared == pytest.approx([full * np.sqrt(first / second), full])


def test_nobody_with_merit_means_full_access():
    for rule in RULES:
        offers = rule(1.0).offers(PowerLaw(), told([0.0, 0.0]))
        assert offers.received.value(np.array([0.0, 3.0])) == pytest.approx([0.0, 0.75])
    offers = ProportionalData(0.5).offers(PowerLaw(), told([0.0, 3.0]))
    assert np.isposinf(offers.received.slope(np.zeros(2))[0])


@settings(deadline=None, max_examples=25)
@given(accuracies, st.lists(st.sampled_from([0.0, 15.0, 40.0, 90.0]), min_size=2, max_size=5), st.data())
def test_shapley_merits_are_exact_at_the_deviated_profile(accuracy, profile, data):
    trial = np.array(data.draw(st.lists(st.floats(0, 150), min_size=len(profile), max_size=len(profile))))
    merits, _ = ProportionalShapley(1.0).merits(accuracy, told(profile))
    own, rival = merits.value(trial)
    for i in range(len(profile)):
        moved = np.where(np.arange(len(profile)) == i, trial[i], profile)
        values = shapley_values(accuracy, moved)
        assert own[i] == pytest.approx(values[i], abs=1e-13)
        assert rival[i] == pytest.approx(np.max(np.delete(values, i)), abs=1e-13)


def test_counted_and_asked_shapley_merits_agree():
    accuracy, profile = PowerLaw(), np.array([1.0, 2.0, 2.0, 5.0])
    trial = np.array([[0.5, 3.0], [0.0, 2.0], [2.0, 9.0], [1.0, 6.0]])
    counted, _ = ProportionalShapley(1.0).merits(accuracy, told(profile))
    asked = RecomputedShapley(accuracy, profile, np.arange(4))
    (own, rival), (own_asked, rival_asked) = counted.value(trial), asked.value(trial)
    assert own / rival == pytest.approx(own_asked / rival_asked, rel=1e-10)
    # The general values share out the sum of the four owners' accuracies.
    for part, part_asked in zip(counted.slope(trial + 0.1), asked.slope(trial + 0.1), strict=True):
        assert 4 * part == pytest.approx(part_asked, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    "accuracy",
    [
        PowerLaw(exponent=0.5),
        PowerLaw(scale=0.8, exponent=1.3, offset=2.0),
        GroupWeighted([[1.0, 0.4], [0.2, 1.0]], [0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1]),
        RandomCoverage(np.random.default_rng(4).uniform(0.0, 0.2, (11, 5))),
    ],
)
def test_shapley_merits_by_quadrature_are_those_asked_for_one_by_one(accuracy):
    rng = np.random.default_rng(1)
    profile = np.append(rng.uniform(0.0, 5.0, 10), 0.0)
    trial = np.column_stack([profile, np.zeros(11), rng.uniform(0.0, 9.0, 11)])
    merits, _ = ProportionalShapley(1.0).merits(accuracy, told(profile, 9.0))
    asked = RecomputedShapley(accuracy, profile, np.arange(11))
    assert isinstance(merits, MixedMerits)
    for ours, theirs in zip(merits.value(trial), asked.value(trial), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    for ours, theirs in zip(merits.slope(trial + 0.1), asked.slope(trial + 0.1), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
    some = [3, 7]
    np.testing.assert_array_equal(merits.take(some).value(trial[some])[0], merits.value(trial)[0][some])


def test_drawn_coalitions_stand_for_those_that_are_too_many_to_count(monkeypatch):
    rng, accuracy = np.random.default_rng(3), PacBound(0.95, 0.3)
    profile = np.round(rng.uniform(0, 40, 24), 0)[rng.integers(0, 6, 24)]
    x = np.linspace(0, 60, 7) * np.ones((24, 1))
    rule, reports = ProportionalShapley(1.0), told(profile, 60.0)
    counted = rule.offers(accuracy, reports).received.value(x)
    monkeypatch.setattr(proportional_shapley, "_TABLE", 1)
    drawn = rule.offers(accuracy, reports).received.value(x)
    assert not np.array_equal(drawn, counted)
    assert drawn == pytest.approx(counted, rel=0.05, abs=0.01)


def test_thirty_different_contributions_with_minimum_viability_are_rationed_in_order():
    profile = np.random.default_rng(0).uniform(0, 90, 30)
    profile[7] = profile[3]
    offers = ProportionalShapley(0.7).offers(PacBound(), told(profile))
    received, order = offers.received.value(profile), np.argsort(profile)
    assert np.all(np.diff(received[order]) >= 0)
    assert received[7] == received[3]
    assert received.max() == offers.accuracy.value(profile).max()
    assert np.all(np.diff(offers.received.value(np.linspace(0, 400, 60) * np.ones((30, 1))), axis=1) >= -1e-12)


def test_closed_form_of_equal_others_with_the_sum_from_zero():
    accuracy, n, m, x = PacBound(), 1000, 9.0, 4.0
    merits, _ = ProportionalShapley(0.5).merits(accuracy, told(np.full(n, m)))
    k = np.arange(n)
    own = np.sum(accuracy.curve(k * m + x) - accuracy.curve(k * m)) / n
    rest = (accuracy.curve(np.array((n - 1) * m + x)) - own) / (n - 1)
    assert merits.take([3]).value(np.array([x])) == (pytest.approx([own]), pytest.approx([rest]))


@pytest.mark.parametrize(
    "accuracy",
    [GroupWeighted([[1.0, 0.4], [0.2, 1.0]], [0, 1, 1]), Custom(lambda s: np.sqrt(s).sum(1, keepdims=True) + 0 * s)],
)
def test_other_accuracies_use_the_general_shapley_values(accuracy):
    profile = np.array([1.0, 2.0, 3.0])
    merits, _ = ProportionalShapley(0.5).merits(accuracy, told(profile))
    assert isinstance(merits, RecomputedShapley)
    assert merits.exact
    offers = ProportionalShapley(0.5).offers(accuracy, told(profile))
    received, full = offers.received.value(profile), offers.accuracy.value(profile)
    assert np.all(received <= full * (1 + 1e-12))
    assert np.sum(received == full) == 1
    assert offers.take([1]).received.value(profile[1:2]) == pytest.approx(received[1:2])


def gap(mechanism, accuracy, cost, n, m, size):
    """The certified largest gain of any of n equal owners that contribute m each."""
    reports = told(np.full(n, m), size)
    offers = mechanism.offers(accuracy, reports).take([0])
    best = best_response(offers, stack([Linear(cost)]), reports.size[:1], certify=ProofLimits())
    here = np.array([m])
    return float((best.bound - offers.received.value(here) + cost * here)[0])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("p", [0.6, 1.0])
def test_theorem_vi_a_whole_interval_of_symmetric_equilibria(rule, p):
    accuracy, cost, n, size = PowerLaw(), 0.1, 4, 20.0
    alone = individual_optimum(accuracy, Linear(np.array([cost])), np.array([size]))[0][0]
    assert alone == pytest.approx(10**0.5 - 1)
    for factor in (1.0, 1.1, 1.5, 2.0, 3.0):
        assert gap(rule(p), accuracy, cost, n, factor * alone / n, size) < 1e-9
    assert gap(rule(p), accuracy, cost, n, 0.9 * alone / n, size) > 1e-4
    assert gap(rule(p), accuracy, cost, n, 30 * alone / n, size) > 1e-4


def test_theorem_vi_the_least_data_are_not_the_most_utility():
    accuracy, cost, n = PowerLaw(), 0.1, 4
    least = (10**0.5 - 1) / n

    def utility(m):
        return accuracy.curve(np.array(n * m)) - cost * m

    assert utility(2 * least) > utility(least) + 0.05


def test_bad_input_is_refused():
    for rule in RULES:
        for p in (-0.1, 1.1, np.nan):
            with pytest.raises(InputError):
                rule(p)
