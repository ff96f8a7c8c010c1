"""Value shaping under verifiable costs: Karimireddy et al. 2022, Section 4."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.power_law import GroupWeighted, PowerLaw
from fedabm.games.accuracy.random_coverage import RandomCoverage
from fedabm.games.best import best_response
from fedabm.games.costs import Linear, PowerCost, Quadratic, stack
from fedabm.games.individual import individual_optimum, viability_cost
from fedabm.mechanisms.value_shaping import ValueShaping, shaped_equilibrium
from fedabm.papers.karimireddy2022.shaping import value_of_tokens
from fedabm.shapley import shapley
from fedabm.views import Reports, ServerView

totals = st.one_of(
    st.builds(PowerLaw, st.floats(0.3, 3.0), st.floats(0.2, 2.0), st.floats(0.5, 2.0)),
    st.builds(PacBound, st.floats(0.5, 1.0), st.floats(0.5, 20.0)),
)
shares = st.lists(st.floats(0.02, 5.0), min_size=2, max_size=5)


def owners(accuracy, relative):
    """Costs as multiples of the viability cost, so that some owners contribute alone and some do not."""
    cost = stack([Linear(share * viability_cost(accuracy)) for share in relative])
    return cost, 3 * accuracy.ceiling / cost.rate


def gap(offers, cost, capacity, profile):
    return best_response(offers, cost, capacity).bound - (offers.benefit.value(profile) - cost.value(profile))


@settings(deadline=None, max_examples=35)
@given(totals, shares, st.data())
def test_feasible_rational_and_non_decreasing_everywhere(accuracy, relative, data):
    cost, capacity = owners(accuracy, relative)
    share = st.lists(st.one_of(st.just(0.0), st.floats(0, 1)), min_size=len(relative), max_size=len(relative))
    profile = capacity * np.array(data.draw(share)) ** 3
    slack = data.draw(st.sampled_from([0.0, 0.01])) * float(cost.rate.min())
    offers = ValueShaping(slack).offers(accuracy, Reports(profile, capacity, cost))
    x = capacity[:, None] * np.linspace(0, 1, 301) ** 2
    received = offers.received.value(x)
    assert np.all(received <= offers.accuracy.value(x))
    assert np.all(received >= accuracy.curve(x) - 1e-12)
    assert np.all(np.diff(received, axis=1) >= -1e-12)
    assert np.all(offers.payment.value(x) == 0)


@settings(deadline=None, max_examples=35)
@given(totals, shares)
def test_equilibrium_leaves_utility_unchanged_and_is_certified(accuracy, relative):
    cost, capacity = owners(accuracy, relative)
    alone, utility = individual_optimum(accuracy, cost, capacity)
    profile = shaped_equilibrium(accuracy, cost)
    assert np.all(profile >= alone * (1 - 1e-12))
    reached = accuracy.curve(profile.sum()) - cost.value(profile)
    assert reached == pytest.approx(utility, abs=1e-9)
    offers = ValueShaping().offers(accuracy, Reports(profile, capacity, cost))
    assert np.max(gap(offers, cost, capacity, profile)) < 1e-8
    if np.any(profile > 0):
        assert offers.received.value(profile) == pytest.approx(float(accuracy.curve(profile.sum())), abs=1e-8)


@settings(deadline=None, max_examples=30)
@given(totals, shares, st.floats(0.05, 1.0))
def test_equilibrium_with_binding_capacities_is_certified(accuracy, relative, room):
    cost, capacity = owners(accuracy, relative)
    capacity = capacity * room * np.linspace(0.1, 1.0, len(capacity))
    profile = shaped_equilibrium(accuracy, cost, capacity)
    assert np.all(profile <= capacity)
    offers = ValueShaping().offers(accuracy, Reports(profile, capacity, cost))
    assert np.max(gap(offers, cost, capacity, profile)) < 1e-8


def test_example_7_from_best_responses():
    accuracy, cost, capacity = PowerLaw(), stack([Linear(0.1), Linear(0.25)]), np.full(2, 100.0)
    profile = np.zeros(2)
    for _ in range(60):
        offers = ValueShaping().offers(accuracy, Reports(profile, capacity, cost))
        profile = best_response(offers, cost, capacity).contribution
    assert profile == pytest.approx([3.98115436, 2.46263961], abs=6e-9)
    assert profile == pytest.approx(shaped_equilibrium(accuracy, cost), abs=1e-8)
    shared = np.asarray(shapley(accuracy, profile))
    assert shared == pytest.approx([0.95370025, 0.77761956], abs=1e-8)
    assert np.min(offers.received.value(profile) / shared) == pytest.approx(0.9076855, abs=5e-8)
    settled = ValueShaping().settle(ServerView(0, Reports(profile, capacity, cost), accuracy))
    assert settled.access == pytest.approx([1.0, 1.0])
    assert len(settled.transfers) == 0


@pytest.mark.parametrize(("complexity", "total", "smallest"), [(1, 91972.16, 48), (100, 78735.42, 1084)])
def test_figure_4(complexity, total, smallest):
    accuracy = PacBound(0.95, complexity)

    def collected(n):
        return shaped_equilibrium(accuracy, Linear(np.full(n, 0.1))).sum()

    assert collected(10_000) == pytest.approx(total, abs=0.005)
    assert collected(smallest - 1) == 0 < collected(smallest)
    assert individual_optimum(accuracy, Linear(np.array([0.1])), np.array([1e5]))[0] == 0


def test_figure_4_is_viable_for_complexities_below_1120():
    def collected(k):
        return shaped_equilibrium(PacBound(0.95, k), Linear(np.full(10_000, 0.1))).sum()

    assert collected(1119) > 0 == collected(1121)


@pytest.mark.parametrize(("exponent", "smallest"), [(0.95, 224), (0.095, 1618)])
def test_gpt3_needs_a_thousand_companies_with_the_corrected_exponent(exponent, smallest):
    accuracy = PowerLaw(1e9 * 5.4e13**exponent, exponent, 0.0, 1e9)
    collected = [shaped_equilibrium(accuracy, Linear(np.full(n, 1e-3))).sum() for n in (smallest - 1, smallest)]
    assert collected[0] == 0 < collected[1]


def test_the_printed_line_is_capped_where_the_data_are_not_viable():
    accuracy, cost = PacBound(), stack([Linear(0.1), Linear(0.1)])
    offers = ValueShaping().offers(accuracy, Reports(np.array([5.0, 10.0]), np.full(2, 100.0), cost))
    assert offers.kinks.shape == (2, 4)
    assert np.all(offers.received.value(np.array([5.0, 5.0])) == 0)
    assert best_response(offers, cost, np.full(2, 100.0)).contribution.tolist() == [0.0, 0.0]


def test_slack_pays_more_than_the_cost_of_each_unit():
    accuracy, cost = PowerLaw(), stack([Linear(0.1), Linear(0.25)])
    told = Reports(np.array([3.0, 2.0]), np.full(2, 100.0), cost)
    alone, utility = individual_optimum(accuracy, cost, told.size)
    offers = ValueShaping(slack=0.01).offers(accuracy, told)
    x = alone + 0.5
    assert offers.received.value(x) - cost.value(x) == pytest.approx(utility + 0.5 * 0.01)
    assert offers.received.slope(x) == pytest.approx(cost.rate + 0.01)


@pytest.mark.parametrize(
    "accuracy",
    [
        GroupWeighted([[1.0, 0.3], [0.5, 1.0]], [0, 1, 1]),
        GroupWeighted([[1.0, 0.3], [0.5, 0.0]], [0, 1, 1], scale=1.5),
        RandomCoverage([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]]),
    ],
)
def test_owners_with_different_accuracies_are_treated_by_their_own(accuracy):
    cost, capacity = stack([Linear(0.1), Linear(0.05), Linear(0.02)]), np.full(3, 60.0)
    profile, nobody = np.array([2.0, 3.0, 4.0]), np.zeros(3)
    offers = ValueShaping().offers(accuracy, Reports(profile, capacity, cost))
    x = capacity[:, None] * np.linspace(0, 1, 2001)
    received = offers.received.value(x)
    assert np.all(received <= offers.accuracy.value(x))
    assert np.all(received >= accuracy.curves(nobody).value(x) - 1e-12)
    best = best_response(offers, cost, capacity)
    assert np.all(received - cost.value(x) <= best.bound[:, None] + 1e-12)
    most = offers.kinks[:, -1]
    assert best.contribution == pytest.approx(most, rel=1e-9)
    assert offers.take([2]).received.value(x[2:]) == pytest.approx(received[2:])


def test_bad_input_is_refused():
    told = Reports(np.ones(2), np.full(2, 10.0), None)
    for mechanism, cost in [(ValueShaping(), None), (ValueShaping(), stack([Quadratic(0.1)] * 2))]:
        with pytest.raises(InputError):
            mechanism.offers(PowerLaw(), Reports(told.contribution, told.size, cost))
    with pytest.raises(InputError):
        ValueShaping(slack=-1.0)
    with pytest.raises(InputError):
        shaped_equilibrium(PowerLaw(), PowerCost(np.array([0.1, 0.0])))


@pytest.mark.filterwarnings("error")
def test_too_few_owners_to_begin_contribute_what_they_would_alone():
    """Newton's method then passes below nothing, where a power law has no value."""
    law = value_of_tokens(0.095, 1e9, 5.4e13)
    assert shaped_equilibrium(law, Linear(np.full(3000, 0.05))).sum() == 0
