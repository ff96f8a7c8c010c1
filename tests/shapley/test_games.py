"""Games given by the values of their coalitions: exact values, truncated orders, and tables that are completed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import InputError
from fedabm.shapley import Truncation, coalitions_of, shapley_of_values
from fedabm.shapley.completed import completed
from fedabm.shapley.truncated import truncated_shapley


def majority(members):
    """Three or more of five win."""
    return (members.sum(axis=1) >= 3).astype(float)


def airport(members):
    """A runway is as long as the longest that anybody needs; Littlechild and Owen 1973."""
    return np.where(members, np.arange(1.0, members.shape[1] + 1), 0.0).max(axis=1)


def test_values_of_games_that_are_known():
    assert shapley_of_values(majority(coalitions_of(5))) == pytest.approx(np.full(5, 0.2))
    # Each step of the runway is paid by all who need it.
    assert shapley_of_values(airport(coalitions_of(4))) == pytest.approx(
        [1 / 4, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3 + 1 / 2, 1 / 4 + 1 / 3 + 1 / 2 + 1]
    )
    with pytest.raises(InputError, match="6 values"):
        shapley_of_values(np.zeros(6))


@settings(max_examples=20)
@given(st.integers(2, 7), st.integers(0, 1000))
def test_orders_without_truncation_share_out_everything_and_come_close(players, seed):
    values = np.random.default_rng(seed).uniform(0, 1, 2**players)
    values[0] = 0.0
    codes = 1 << np.arange(players)
    rule = Truncation(between=0.0, within=0.0, least=400, change=0.0, most=400)
    found = truncated_shapley(lambda members: values[members @ codes], players, np.random.default_rng(0), rule)
    assert found.values.sum() == pytest.approx(values[-1])
    assert found.values == pytest.approx(shapley_of_values(values), abs=0.15)
    assert found.evaluations <= 2**players


def test_a_round_that_brings_nothing_costs_two_models_and_a_satisfied_order_ends():
    asked = []

    def value(members):
        asked.append(len(members))
        return np.minimum(members.sum(axis=1), 2) * 1.0

    none = truncated_shapley(lambda members: np.zeros(len(members)), 6, np.random.default_rng(0))
    assert (none.values.tolist(), none.evaluations) == ([0.0] * 6, 2)
    found = truncated_shapley(value, 6, np.random.default_rng(0))
    assert found.evaluations == 2 + 6 + 15  # nobody looks at coalitions of three
    assert found.values.sum() == pytest.approx(2.0)
    assert max(asked) <= 30


def test_leading_places_are_dealt_evenly():
    """Whoever comes first takes all: each of the guided orders of a batch has another one first."""
    found = truncated_shapley(lambda members: members.any(axis=1) * 1.0, 5, np.random.default_rng(3))
    assert found.values == pytest.approx(np.full(5, 0.2), abs=1e-12)


def test_a_table_of_one_pattern_is_completed_exactly():
    rng = np.random.default_rng(0)
    table = np.outer(rng.uniform(1, 2, 6), rng.uniform(-1, 1, 16))
    seen = rng.uniform(size=table.shape) < 0.5
    seen[0] = seen[:, 0] = True
    found = completed(np.where(seen, table, np.nan), rank=1, weight=1e-9)
    np.testing.assert_allclose(found, table, atol=1e-5)
    np.testing.assert_array_equal(found[seen], table[seen])
    with pytest.raises(InputError, match="0 entries"):
        completed(np.full((2, 2), np.nan))
