"""The PAC accuracy and what owners do alone: Karimireddy et al. 2022, Theorem I and Figure 2."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy.pac_bound import PacBound
from fedabm.games.accuracy.power_law import GroupWeighted, PowerLaw
from fedabm.games.costs import Affine, Linear, PowerCost, Quadratic, stack
from fedabm.games.individual import individual_optimum, viability_cost
from fedabm.games.roots import falling_root

bounds = st.builds(PacBound, st.floats(0.3, 1.0), st.floats(0.01, 2000.0))


@settings(deadline=None, max_examples=40)
@given(bounds)
def test_zero_below_the_viable_total_then_increasing_and_concave(accuracy):
    viable = accuracy.viable
    assert viable > accuracy.complexity
    assert np.all(accuracy.curve(np.linspace(0.0, viable, 50)) == 0)
    m = viable * np.geomspace(1 + 1e-9, 1e4, 200)
    assert np.all(np.diff(accuracy.curve(m)) > 0)
    assert np.all(np.diff(accuracy.curve_slope(m)) < 0)
    assert np.all(accuracy.curve(m) < accuracy.ceiling)


@settings(deadline=None, max_examples=40)
@given(bounds, st.floats(1.01, 1e3))
def test_derivatives_match_differences(accuracy, factor):
    m = np.array([accuracy.viable * factor])
    step = 1e-5 * m
    slope = (accuracy.curve(m + step) - accuracy.curve(m - step)) / (2 * step)
    bend = (accuracy.curve_slope(m + step) - accuracy.curve_slope(m - step)) / (2 * step)
    assert accuracy.curve_slope(m) == pytest.approx(slope, rel=1e-5)
    assert accuracy.curve_curvature(m) == pytest.approx(bend, rel=1e-5)


def test_no_spurious_bump_below_the_complexity():
    k = 1000.0
    m = np.array([k * np.exp(-2)])
    printed = 0.95 - (4 + np.sqrt(2 * k * np.maximum(2 + np.log(m / k), 0))) / np.sqrt(m)
    assert printed > 0
    assert PacBound(0.95, k).curve(m) == 0


def test_published_numbers():
    accuracy = PacBound(0.95, 1)
    assert accuracy.viable == pytest.approx(62.3649, abs=5e-5)
    contribution, utility = individual_optimum(accuracy, Linear(np.array([1e-4, 1e-3])), np.full(2, 1e6))
    assert contribution == pytest.approx([1148.388915, 238.113009], abs=6e-7)
    assert utility == pytest.approx(accuracy.curve(contribution) - np.array([1e-4, 1e-3]) * contribution)
    assert viability_cost(accuracy) == pytest.approx(2.122022e-3, abs=5e-10)


@settings(deadline=None, max_examples=30)
@given(bounds)
def test_owners_alone_contribute_exactly_below_the_viability_cost(accuracy):
    limit = viability_cost(accuracy)
    costs = Linear(limit * np.array([0.5, 1 - 1e-6, 1 + 1e-6, 3.0]))
    contribution, utility = individual_optimum(accuracy, costs, np.full(4, 100 * accuracy.ceiling / limit))
    assert np.all((contribution > 0) == [True, True, False, False])
    assert np.all(utility >= 0)
    assert np.all(np.diff(contribution) <= 0)
    assert np.all(np.diff(utility) <= 0)


@settings(deadline=None, max_examples=30)
@given(bounds, st.floats(0.01, 0.99), st.floats(0.01, 10.0))
def test_nothing_on_a_fine_grid_beats_the_individual_optimum(accuracy, share, room):
    cost = Linear(np.array([share * viability_cost(accuracy)]))
    capacity = np.array([room * accuracy.ceiling / cost.rate[0]])
    _, utility = individual_optimum(accuracy, cost, capacity)
    grid = np.linspace(0, capacity[0], 20001)
    assert np.max(accuracy.curve(grid) - cost.rate * grid) <= utility[0] + 1e-12


def test_general_costs_and_weights():
    contribution, _ = individual_optimum(PowerLaw(), stack([Affine(0.1, 5.0), Quadratic(0.1)]), np.full(2, 100.0))
    assert contribution[0] == pytest.approx(10**0.5 - 1)
    assert 0.2 * contribution[1] == pytest.approx((1 + contribution[1]) ** -2)
    weighted = GroupWeighted([[4.0, 1.0], [1.0, 0.0]], [0, 1])
    contribution, utility = individual_optimum(weighted, Linear(np.array([0.1, 0.1])), np.full(2, 100.0))
    assert 1 + 4 * contribution[0] == pytest.approx(40**0.5)
    assert contribution[1] == utility[1] == 0


def test_a_capacity_below_the_viable_total_leaves_nothing():
    contribution, utility = individual_optimum(PacBound(), PowerCost(np.array([1e-4, 1e-4])), np.array([50.0, 500.0]))
    assert contribution.tolist() == [0.0, 500.0]
    assert utility[0] == 0


def test_viability_of_a_power_law_is_its_first_slope():
    assert viability_cost(PowerLaw(2.0, 0.5, 4.0, 1.0)) == pytest.approx(2.0 * 0.5 * 4.0**-1.5)


def test_restriction_changes_nothing_and_bad_input_is_refused():
    accuracy = PacBound()
    assert accuracy.restrict([0]) is accuracy
    for ceiling, complexity in [(0.0, 1.0), (1.5, 1.0), (0.9, 0.0), (0.9, np.nan)]:
        with pytest.raises(InputError):
            PacBound(ceiling, complexity)


def test_falling_roots_at_the_ends_and_inside():
    level = np.array([-1.0, 0.5, 20.0])
    assert falling_root(lambda x: level - x, np.zeros(3), np.full(3, 10.0)) == pytest.approx([0.0, 0.5, 10.0])
    steep = falling_root(lambda x: 1e-9 - x**9, np.zeros(1), np.full(1, 1e6))
    assert steep == pytest.approx([0.1], rel=1e-12)
