"""What is computed faster for many owners is the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm.common.arrays import select_rows
from fedabm.common.random import generator
from fedabm.games.accuracy import PowerLaw
from fedabm.games.certificate import weigh
from fedabm.games.costs import PowerCost
from fedabm.games.intervals import ProofLimits
from fedabm.mechanisms import ProportionalData, ValueShaping
from fedabm.mechanisms.proportional import best_other
from fedabm.mechanisms.value_shaping import last_crossing, last_crossings
from fedabm.views import Reports


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_bound_for_thousands_is_beaten_by_nobody_and_as_tight_as_promised(share):
    """ProportionalData is not concave: a proof from the ends of pieces, beside a search of everybody's whole range."""
    rng, owners = generator(0, "population"), 3000
    cost, capacity = PowerCost(rng.uniform(1e-3, 0.3, owners)), rng.uniform(1.0, 10.0, owners)
    profile = share * capacity * rng.random(owners)
    offers = ProportionalData(0.5).offers(PowerLaw(), Reports(profile, capacity))
    found, bound = weigh(offers, cost, capacity, profile, ProofLimits())
    few = [np.arange(first, first + 1000) for first in range(0, owners, 1000)]  # so few are searched in full
    parts = [weigh(offers.take(rows), cost.take(rows), capacity[rows], profile[rows], ProofLimits()) for rows in few]
    searched = np.concatenate([part.found for part in parts])
    assert np.all(bound >= searched - 1e-12)
    assert np.all(bound <= searched + 0.011 * searched.max() + 1e-9)
    assert found.max() == pytest.approx(searched.max(), rel=1e-9)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0]), min_size=2, max_size=6))
def test_the_best_of_the_others_is_the_largest_of_the_rest(merits):
    merits = np.array(merits)
    wanted = [np.max(np.delete(merits, i)) for i in range(len(merits))]
    assert best_other(merits).tolist() == wanted
    assert best_other(np.stack([merits, merits[::-1]])).tolist() == [wanted, wanted[::-1]]


def test_crossings_are_those_of_a_search():
    """Some owners meet the full model before their data end, some never do, and some are above it from the start."""
    rng, owners = generator(1, "population"), 200
    cost, size = PowerCost(10 ** rng.uniform(-4, -0.3, owners)), 10 ** rng.uniform(-1, 3, owners)
    accuracy = PowerLaw(scale=2.0)
    for level in (0.0, 1e-3, 0.2):
        claimed = level * size
        reports = Reports(claimed, size, cost)
        offers = ValueShaping().offers(accuracy, reports)
        ramp = ValueShaping().terms(accuracy, reports.types)
        np.testing.assert_array_equal(last_crossings(offers, ramp, size), last_crossing(offers, ramp, size))


def test_rows_are_taken_as_by_brackets():
    table, one = np.arange(12.0).reshape(4, 3), np.broadcast_to(2.0, 4)
    for rows in (np.array([2, 0]), [1], [], np.array([True, False, True, True]), slice(1, 3)):
        np.testing.assert_array_equal(select_rows(table, rows), table[rows])
        np.testing.assert_array_equal(select_rows(one, rows), one[rows])
