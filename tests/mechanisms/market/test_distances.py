"""Distances of models and proximal centres."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from fedabm.common.errors import InputError
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import CosineDistance, EuclideanDistance, market_reports
from fedabm.mechanisms.market.distances import import_weights
from tests.mechanisms.market.markets import SEEDS, at, centres_of

INITIAL = np.array([1.0, 1.0])


def test_cosine_is_taken_relative_to_the_initial_model():
    models = INITIAL + np.array([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0], [0.0, 0.0]])
    found = at(models, INITIAL).distances(CosineDistance().between)
    assert found == pytest.approx(np.array([[0, 1, 2, 1], [1, 0, 1, 1], [2, 1, 0, 1], [1, 1, 1, 0]]))


def test_squared_distance_by_hand():
    assert at(np.array([[0.0, 0.0], [3.0, 4.0]]), INITIAL).distances(EuclideanDistance().between) == pytest.approx(
        np.array([[0, 25.0], [25.0, 0]])
    )


@given(SEEDS)
def test_the_centre_is_a_gradient_step_on_the_weighted_distances(seed):
    rng = np.random.default_rng(seed)
    models, initial, weights = rng.normal(size=(4, 6)), rng.normal(size=6), rng.uniform(0, 2, (4, 4))
    np.fill_diagonal(weights, 0.0)
    for distance in (CosineDistance(), EuclideanDistance()):
        centres = centres_of(models, initial, distance, weights, 0.1)
        for i, k in ((0, 2), (3, 5)):
            ends = []
            for shift in (1e-5, -1e-5):
                moved = models.copy()
                moved[i, k] += shift
                ends.append(weights[i] @ at(moved, initial).distances(distance.between)[i])
            slope = (ends[0] - ends[1]) / 2e-5
            assert centres[i, k] == pytest.approx(models[i, k] - 0.1 * slope, abs=1e-6)


def test_who_imports_nothing_keeps_its_model_and_an_unusable_model_reaches_nobody():
    rng = np.random.default_rng(0)
    models = rng.normal(size=(3, 5))
    models[2, 1] = np.nan
    reports = market_reports([100.0, 100.0, 100.0], 0.0, [4e4, 0.0, 4e4])
    sent = replace(at(models, np.zeros(5)), reports=reports)
    done = ModelMarket(0.1, step=0.5).exchange(sent)
    adjacency, centres = done.imports != 0, done.task.pull
    assert adjacency.tolist() == [[False, True, False], [False, False, False], [False, False, False]]
    assert np.all(np.isfinite(centres[:2]))
    assert np.array_equal(centres[1], models[1])
    assert not np.array_equal(centres[0], models[0])


def test_importing_an_unusable_model_by_hand_is_refused():
    models = np.array([[1.0, 0.0], [np.inf, 0.0]])
    weights = import_weights(np.array([[False, True], [False, False]]), np.array([1.0, 2.0]))
    assert weights[0, 1] == 2.0
    with pytest.raises(InputError, match="not usable"):
        centres_of(models, INITIAL, EuclideanDistance(), weights, 1.0)
