"""Costs are non-decreasing and convex, and their slopes and curvatures are derivatives."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.costs import Affine, Linear, Power, Quadratic, costs_of, stack

rates, exponents = st.floats(0.0, 5.0), st.floats(1.0, 4.0)
costs = st.one_of(
    st.builds(Linear, rates),
    st.builds(Affine, rates, rates),
    st.builds(Power, rates, exponents),
    st.builds(Quadratic, rates),
)
populations = st.lists(costs, min_size=1, max_size=6)


@given(owners=populations, seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_non_decreasing_and_convex(owners, seed):
    cost, rng = stack(owners), np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(0, 10, (2, len(owners))), axis=0)
    assert np.all(cost.value(high) >= cost.value(low))
    assert np.all(cost.value((low + high) / 2) <= (cost.value(low) + cost.value(high)) / 2 + 1e-9)
    assert np.all(cost.slope(high) >= cost.slope(low))


@given(owners=populations, seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_slope_and_curvature_are_derivatives(owners, seed):
    cost, x, h = stack(owners), np.random.default_rng(seed).uniform(0.5, 5, len(owners)), 1e-5
    assert np.allclose(cost.slope(x), (cost.value(x + h) - cost.value(x - h)) / (2 * h), rtol=1e-6, atol=1e-6)
    assert np.allclose(cost.curvature(x), (cost.slope(x + h) - cost.slope(x - h)) / (2 * h), rtol=1e-6, atol=1e-6)


@given(owners=populations, seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_stack_keeps_every_owner_apart(owners, seed):
    cost, trials = stack(owners), np.random.default_rng(seed).uniform(0, 5, (len(owners), 3))
    for i, single in enumerate(owners):
        assert np.allclose(cost.value(trials)[i], single.value(trials[i]))
        assert np.allclose(cost.slope(trials)[i], single.slope(trials[i]))
        assert np.array_equal(cost.take([i]).value(trials[[i]]), cost.value(trials)[[i]])


def test_by_hand():
    x = np.array([3.0])
    assert Linear(0.5).value(x) == 1.5
    assert Affine(0.5, 2.0).value(x) == 3.5
    assert Affine(0.5, 2.0).value(np.array([0.0])) == 2.0  # the fixed part is paid without data
    assert Quadratic(0.5).value(x) == 4.5
    assert Quadratic(0.5).slope(x) == 3.0
    assert Power(2.0, 3.0).value(x) == 54.0
    assert Power(2.0, 3.0).curvature(x) == 36.0
    assert Linear(0.5).scaled(5.0) == Linear(2.5)
    assert Affine(0.5, 2.0).scaled(2.0) == Affine(1.0, 4.0)


def test_at_zero():
    mixed = stack([Linear(1.0), Quadratic(1.0), Power(1.0, 1.5), Power(0.0, 1.5)])
    assert np.array_equal(mixed.slope(np.zeros(4)), [1.0, 0.0, 0.0, 0.0])
    assert np.array_equal(mixed.curvature(np.zeros(4)), [0.0, 2.0, np.inf, 0.0])


def test_single_costs_are_values():
    assert Linear(0.1) == Linear(0.1) != Linear(0.2)
    assert len({Linear(0.1), Linear(0.1), Power(0.1, 1.0)}) == 1
    assert pickle.loads(pickle.dumps(Affine(0.1, 2.0))) == Affine(0.1, 2.0)
    assert Linear(0.1).linear
    assert not stack([Linear(0.1), Quadratic(0.1)]).linear


def test_costs_of_owners_from_numbers_lists_and_stacks():
    x = np.array([2.0, 2.0])
    for told in ([0.5, 0.5], (0.5, Linear(0.5)), np.array([0.5, 0.5]), 0.5, Linear(0.5), Linear([0.5, 0.5])):
        costs = costs_of(told, 2)
        assert costs.rate.shape == costs.exponent.shape == costs.fixed.shape == (2,)
        assert costs.value(x).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: costs_of([0.1, "much"]), "must be a number or a Cost, got 'much'"),
        (lambda: Linear(-0.1), "cost rate must be zero or a positive number, got -0.1"),
        (lambda: Linear(float("nan")), "got nan"),
        (lambda: Linear([0.1, -0.2]), "got -0.2"),
        (lambda: Affine(0.1, -1.0), "fixed cost"),
        (lambda: Power(0.1, 0.5), "at least 1, got 0.5"),
        (lambda: Power(0.1, float("inf")), "at least 1, got inf"),
        (lambda: stack([]), "no owners"),
    ],
)
def test_bad_input_is_one_clear_line(build, message):
    with pytest.raises(InputError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)
