"""A step, its certified gap and its frames take memory in proportion to the number of owners."""

import tracemalloc

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, ProportionalData, ValueShaping
from fedabm.strategies import GradientResponse


def bytes_of_a_step(mechanism, owners):
    people = population(np.linspace(0.1, 0.3, owners), 5.0, GradientResponse(0.1))
    model = Federation(Scenario(people, PowerLaw(), mechanism, steps=1))
    tracemalloc.start()
    try:
        model.step()
        assert np.isfinite(model.gap)
        assert len(model.frames().owners) == owners
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mechanism", [ProportionalData(1.0), ContributionSubsidy(0.1), ValueShaping()], ids=str)
def test_four_times_the_owners_need_four_times_the_memory(mechanism):
    few, many = (bytes_of_a_step(mechanism, owners) for owners in (5_000, 20_000))
    assert many < 4.4 * few
