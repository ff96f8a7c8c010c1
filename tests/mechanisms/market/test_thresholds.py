"""Gains and thresholds: closed form and bisection agree, limits are right, awkward prices are handled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.mechanisms.market import (
    Gain,
    LogarithmicGain,
    SquareRootGain,
    limits,
    market_reports,
    prices,
    thresholds,
)
from tests.mechanisms.market.markets import GAIN, MARKET

POSITIVE = st.floats(1e-6, 1e6)


def threshold(eagerness: float, own: float, giver: float, price: float, gain: Gain = GAIN) -> float:
    reports = market_reports(np.array([own, giver]), 0.0, eagerness)
    return float(thresholds(gain, reports, np.full((2, 2), price))[0, 1])


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE)
def test_the_threshold_solves_its_equation(eagerness, own, giver, price):
    total = float(GAIN.room(np.array(giver), np.array(eagerness), np.array(price)))
    worth = float(GAIN.added(np.array(total), np.array(giver), np.array(eagerness)))
    assert worth == pytest.approx(price, rel=1e-9)


@given(POSITIVE, POSITIVE, st.floats(1e-6, 1e3))
def test_closed_form_and_bisection_agree(eagerness, giver, price):
    arguments = np.array(giver), np.array(eagerness), np.array(price)
    assert float(GAIN.room(*arguments)) == pytest.approx(float(Gain.room(GAIN, *arguments)), rel=1e-9)


def test_the_threshold_of_the_errata():
    assert threshold(100.0, 200.0, 100.0, 0.05) == pytest.approx(316.399193, abs=5e-7)


def test_another_concave_gain_needs_no_more_than_its_value():
    # K log((a + N) / a) = p at a = N / (exp(p / K) - 1), the total before the import.
    assert threshold(2.0, 30.0, 50.0, 0.4, LogarithmicGain()) == pytest.approx(50 / np.expm1(0.2) + 50 - 30, rel=1e-12)


@given(POSITIVE, POSITIVE, POSITIVE)
def test_a_gain_grows_and_its_increments_fall(total, more, eagerness):
    for gain in (SquareRootGain(), LogarithmicGain()):
        first, second = gain.added(np.array([total, total + more]), np.array(more), np.array(eagerness))
        assert first >= second > 0
        assert first == pytest.approx(float(Gain.added(gain, total, more, eagerness)), rel=1e-6, abs=1e-9 * eagerness)


def test_what_costs_nothing_is_worth_importing_without_limit():
    assert threshold(100.0, 200.0, 100.0, 0.0) == np.inf


@pytest.mark.parametrize(("eagerness", "price"), [(0.0, 0.0), (0.0, 1.0), (0.0, np.inf), (100.0, np.inf)])
def test_without_eagerness_or_at_an_infinite_price_nothing_is(eagerness, price):
    assert threshold(eagerness, 200.0, 100.0, price) == -np.inf


def test_extreme_numbers_leave_no_warning_and_the_right_order():
    reports = market_reports([1e-150, 1e150, 1.0], [0.0, 1e300, 1e-300], [1e-300, 1e300, 1.0])
    price = prices(reports, np.ones((3, 3)), 1.0)
    found = limits(GAIN, reports, price)
    assert not np.any(np.isnan(found))
    assert found[2, 1] <= 0.0 < found[1, 2]


def test_models_without_a_finite_distance_have_no_price_that_anyone_would_pay():
    reports = market_reports(np.array([100.0, 100.0, 100.0]), 0.0, 400.0)
    broken = np.array([[0.0, np.nan, 0.5], [np.nan, np.nan, np.inf], [0.5, np.inf, 0.0]])
    for weight in (0.0, 1.0):
        price = prices(reports, broken, weight)
        assert np.all(np.isposinf(price[[0, 2], 1]))
        assert price[0, 2] == 0.5 * weight


@pytest.mark.parametrize(
    ("size", "cost", "eagerness"),
    [([1.0, 0.0], 1.0, 1.0), ([1.0, np.nan], 1.0, 1.0), ([1.0, 1.0], [-1.0, 1.0], 1.0), ([1.0, 1.0], [1.0] * 3, 1.0)],
)
def test_wrong_reports_are_refused_in_one_line(size, cost, eagerness):
    with pytest.raises(InputError) as error:
        market_reports(np.array(size), np.array(cost), np.array(eagerness))
    assert "\n" not in str(error.value)


def test_wrong_distances_are_refused_in_one_line():
    reports = market_reports(np.array([1.0, 2.0]), 1.0, 1.0)
    for distances in (np.zeros((3, 3)), -np.ones((2, 2))):
        with pytest.raises(InputError):
            MARKET.clear(reports, distances)
