"""The comparison with older commits still finds what it measures, by the names of today."""

import pytest

from tests.benchmarks.against_cases import CASES


@pytest.mark.parametrize("name", [name for name in CASES if "million" not in name])
def test_cases_can_be_made(name):
    make, turns = CASES[name]
    assert callable(make())
    assert turns > 1
