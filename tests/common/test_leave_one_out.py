"""Sums of everybody else's numbers, few and many."""

import math

import numpy as np
import pytest

from fedabm.common.leave_one_out import _MANY, _TABLE_ROWS, sum_of_others


@pytest.mark.parametrize("owners", [1, 2, 3, 50, _MANY - 1, _MANY, _MANY + 1, _MANY + _TABLE_ROWS - 1])
def test_the_sum_of_the_others_is_that_without_the_own_number(owners):
    rng = np.random.default_rng(owners)
    x = rng.uniform(0.0, 1.0, owners) * 10.0 ** rng.integers(-9, 9, owners)
    found = sum_of_others(x)
    for owner in {0, 1, owners // 2, owners - 2, owners - 1} & set(range(owners)):
        assert found[owner] == pytest.approx(math.fsum(np.delete(x, owner)), rel=1e-13)


@pytest.mark.parametrize("owner", [0, 17, 300, _MANY + 1])
def test_small_numbers_are_not_lost_beside_a_huge_one(owner):
    x = np.full(_MANY + 2, 0.5)
    x[owner] = 1e20
    found = sum_of_others(x)
    assert found[owner] == 0.5 * (_MANY + 1)
    assert np.all(np.delete(found, owner) == 1e20)


def test_runs_in_a_table_are_summed_as_each_alone():
    table = np.random.default_rng(0).random((3, _MANY + 5))
    np.testing.assert_array_equal(sum_of_others(table), [sum_of_others(row) for row in table])
