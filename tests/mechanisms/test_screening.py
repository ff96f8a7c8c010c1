"""Screening under unverifiable costs: Karimireddy et al. 2022, Appendix D, with eq. (16) corrected."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.power_law import PowerLaw
from fedabm.games.best import best_response
from fedabm.games.costs import Linear, stack
from fedabm.games.individual import individual_optimum, viability_cost
from fedabm.mechanisms.screening import Screening
from fedabm.mechanisms.value_shaping import ValueShaping
from fedabm.views import Reports

accuracies = st.one_of(
    st.builds(PowerLaw, st.floats(0.3, 3.0), st.floats(0.2, 2.0), st.floats(0.5, 2.0)),
    st.builds(PacBound, st.floats(0.5, 1.0), st.floats(0.5, 20.0)),
)


@st.composite
def situations(draw):
    """A mechanism, an accuracy and two owners' reports, in units of a high-cost owner's optimum alone."""
    accuracy = draw(accuracies)
    high = draw(st.floats(0.05, 0.9)) * viability_cost(accuracy)
    mechanism = Screening(high * draw(st.floats(0.2, 0.95)), high, draw(st.floats(0, 1)))
    size = np.full(2, 3 * accuracy.ceiling / mechanism.low)
    unit = individual_optimum(accuracy, Linear(np.full(2, high)), size)[0][0]
    profile = unit * np.array([draw(st.floats(0, 2)), draw(st.floats(0, 2))])
    return mechanism, accuracy, Reports(profile, size)


def types(mechanism):
    """Owner costs if all are low or all are high."""
    return (stack([Linear(cost)] * 2) for cost in (mechanism.low, mechanism.high))


@settings(deadline=None, max_examples=25)
@given(situations())
def test_feasible_and_rational_with_corners_in_order(situation):
    mechanism, accuracy, told = situation
    offers, menu = mechanism.offers(accuracy, told), mechanism.menu(accuracy, told)
    x = told.size[:, None] * np.linspace(0, 1, 401) ** 2
    received = offers.received.value(x)
    assert np.all(received <= offers.accuracy.value(x))
    assert np.all(received >= accuracy.curve(x) - 1e-12)
    assert np.all(np.diff(received, axis=1) >= -1e-12)
    corners = np.array([menu.high_alone, menu.up, menu.high_most, menu.down, menu.low_most])
    assert np.all(np.diff(corners, axis=0) >= -1e-6 * told.size)


@settings(deadline=None, max_examples=25)
@given(situations())
def test_each_type_chooses_its_corner_and_over_stating_the_cost_never_pays(situation):
    mechanism, accuracy, told = situation
    offers, menu = mechanism.offers(accuracy, told), mechanism.menu(accuracy, told)
    for cost, corner, other in zip(types(mechanism), (menu.down, menu.up), (menu.up, menu.down), strict=True):
        best = best_response(offers, cost, told.size)
        at_corner = offers.received.value(corner) - cost.value(corner)
        assert np.max(best.bound - at_corner) < 1e-9
        assert np.all(offers.received.value(other) - cost.value(other) <= at_corner + 1e-9)


@settings(deadline=None, max_examples=25)
@given(situations())
def test_utilities_and_information_rent(situation):
    mechanism, accuracy, told = situation
    offers, menu = mechanism.offers(accuracy, told), mechanism.menu(accuracy, told)
    low, high = types(mechanism)
    rent = mechanism.information_rent(accuracy, told)
    assert np.all(rent >= -1e-9)
    _, alone = individual_optimum(accuracy, high, told.size)
    assert offers.received.value(menu.up) - high.value(menu.up) == pytest.approx(alone, abs=1e-9)
    _, alone = individual_optimum(accuracy, low, told.size)
    assert offers.received.value(menu.down) - low.value(menu.down) == pytest.approx(alone + rent, abs=1e-9)


def expected_data(mechanism, accuracy, told, down):
    """(1 - p) up + p down: `up` leaves a high-cost owner its utility alone, is no better than `down` for a low-cost one
    and asks for no more than a known high cost would."""
    high = stack([Linear(mechanism.high)] * 2)
    _, alone = individual_optimum(accuracy, high, told.size)
    full = accuracy.curves(told.contribution).value(down)
    up = (full - mechanism.low * down - alone[:, None]) / (mechanism.high - mechanism.low)
    up = np.minimum(up, mechanism.menu(accuracy, told).high_most[:, None])
    return (1 - mechanism.probability_low) * up + mechanism.probability_low * down


@settings(deadline=None, max_examples=25)
@given(situations())
def test_no_other_menu_expects_more_data(situation):
    mechanism, accuracy, told = situation
    menu, printed = (Screening(*_terms(mechanism), printed=p).menu(accuracy, told) for p in (False, True))
    share = np.linspace(0, 1, 501)
    down = menu.high_most[:, None] * (1 - share) + menu.low_most[:, None] * share
    best = np.max(expected_data(mechanism, accuracy, told, down), axis=1)
    chosen = expected_data(mechanism, accuracy, told, menu.down[:, None])[:, 0]
    assert np.all(chosen >= best - 1e-8 * told.size)
    as_printed = expected_data(mechanism, accuracy, told, printed.down[:, None])[:, 0]
    assert np.all(as_printed <= chosen + 1e-8 * told.size)


def _terms(mechanism):
    return mechanism.low, mechanism.high, mechanism.probability_low


def test_the_printed_formula_collects_less():
    accuracy, told = PowerLaw(), Reports(np.array([1.0, 2.0]), np.full(2, 50.0))
    mechanism = Screening(0.1, 0.2, 0.4)
    menu, printed = (Screening(0.1, 0.2, 0.4, printed=p).menu(accuracy, told) for p in (False, True))
    down = np.stack([menu.down, printed.down], axis=1)
    corrected, as_printed = expected_data(mechanism, accuracy, told, down)[0]
    assert corrected == pytest.approx(2.57532768, abs=1e-7)
    assert as_printed == pytest.approx(2.51929764, abs=1e-7)
    assert accuracy.curve_slope(menu.down[1] + 1.0) == pytest.approx(0.1 - 0.4 / 0.6 * 0.1)


@pytest.mark.parametrize(("probability", "all_of_it"), [(0.49999, False), (0.5, True), (0.8, True), (1.0, True)])
def test_low_costs_give_everything_from_the_corrected_threshold_on(probability, all_of_it):
    accuracy, told = PowerLaw(1.0, 0.1), Reports(np.full(2, 1e15), np.full(2, 1e16))
    menu = Screening(1e-12, 2e-12, probability).menu(accuracy, told)
    assert np.all((menu.down == menu.low_most) == all_of_it)


def test_with_known_low_costs_it_is_value_shaping():
    accuracy, profile, size = PowerLaw(), np.array([1.0, 2.0]), np.full(2, 50.0)
    menu = Screening(0.1, 0.2, 1.0).menu(accuracy, Reports(profile, size))
    shaped = ValueShaping().offers(accuracy, Reports(profile, size, stack([Linear(0.1)] * 2)))
    assert menu.down == pytest.approx(shaped.kinks[:, -1])


def test_equal_owners_reach_an_equilibrium_by_best_responses():
    accuracy, mechanism, size = PowerLaw(), Screening(0.1, 0.2, 0.3), np.full(3, 50.0)
    cost, profile = stack([Linear(0.1), Linear(0.2), Linear(0.2)]), np.zeros(3)
    for _ in range(80):
        offers = mechanism.offers(accuracy, Reports(profile, size))
        profile = best_response(offers, cost, size).contribution
    offers = mechanism.offers(accuracy, Reports(profile, size))
    gap = best_response(offers, cost, size).bound - (offers.received.value(profile) - cost.value(profile))
    assert np.max(gap) < 1e-9
    assert profile[1] == pytest.approx(profile[2])
    assert offers.take([1]).received.value(profile[1:2]) == pytest.approx(offers.received.value(profile)[1:2])


def test_promises_are_capped_where_the_data_are_not_viable():
    told = Reports(np.array([5.0, 10.0]), np.full(2, 100.0))
    offers = Screening(0.05, 0.1, 0.5).offers(PacBound(), told)
    assert np.all(offers.received.value(np.array([5.0, 5.0])) == 0)


def test_bad_input_is_refused():
    for terms in [(0.2, 0.1, 0.5), (0.1, 0.1, 0.5), (0.0, 0.1, 0.5), (0.1, 0.2, 1.5), (0.1, 0.2, np.nan)]:
        with pytest.raises(InputError):
            Screening(*terms)
    with pytest.raises(InputError, match="high unit cost must be a single number up to 1e"):
        Screening(0.1, 1.7e308, 0.5)  # whose products overflow


def test_a_prior_per_owner_gives_each_the_menu_of_its_own_prior():
    claims = np.array([10.0, 20.0, 30.0])
    told = Reports(claims, np.full(3, 400.0))
    each = Screening(0.01, 0.02, (0.1, 0.4, 1.0)).menu(PacBound(), told)
    for owner, chance in enumerate((0.1, 0.4, 1.0)):
        one = Screening(0.01, 0.02, chance).menu(PacBound(), told)
        assert (each.up[owner], each.down[owner]) == (one.up[owner], one.down[owner])
    rule = Screening(0.01, 0.02, [0.1, 0.4, 1.0])
    assert rule == Screening(0.01, 0.02, (0.1, 0.4, 1.0))
    assert not rule.traits.equal_treatment
    assert Screening(0.01, 0.02, 0.4).traits.equal_treatment
    with pytest.raises(InputError, match="3 probabilities of low cost but more owners"):
        rule.menu(PacBound(), Reports(np.ones(4), np.full(4, 9.0)))
    with pytest.raises(InputError, match="probability of low cost"):
        Screening(0.01, 0.02, [0.1, 1.4])
