"""Measures of collaboration, by hand."""

import numpy as np
import pytest

from fedabm import InputError
from fedabm.games import collaborative_fairness, share_as_well_as_alone

ALONE = np.array([0.5, 0.6, 0.8])


def test_who_brings_more_receives_more():
    assert collaborative_fairness(ALONE, 0.5 + 0.5 * ALONE) == pytest.approx(1.0)
    assert collaborative_fairness(ALONE, -ALONE) == pytest.approx(-1.0)
    assert np.isnan(collaborative_fairness(ALONE, np.full(3, 0.9)))


def test_as_well_as_alone():
    received = np.array([0.6, 0.59, 0.8])
    assert share_as_well_as_alone(ALONE, received) == pytest.approx(2 / 3)
    assert share_as_well_as_alone(ALONE, received, tolerance=0.02) == 1.0
    with pytest.raises(InputError, match="one of each per owner"):
        share_as_well_as_alone(ALONE, received[:2])
