"""The utilities of iPFL 2025, Table 1, which follow from sizes alone: 50 rounds, unit costs."""

import numpy as np
import pytest

from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import cluster_distances, market_reports, utilities
from fedabm.views import Reports
from tests.mechanisms.market.markets import GAIN

ROUNDS = 50
FINANCE = market_reports(np.full(6, 200.0), 1.0, 2e4)
CODE_AND_FINANCE = market_reports(np.array([500.0] * 5 + [200.0] * 3), 1.0, 5e4)


def everyone_imports_everyone(truth: Reports) -> np.ndarray:
    """What the baselines come to: all models mixed, nobody pays."""
    return mixed(truth, ~np.eye(len(truth.size), dtype=bool))


def mixed(truth: Reports, adjacency: np.ndarray) -> np.ndarray:
    """Imports without payments."""
    return ROUNDS * utilities(GAIN, truth, adjacency, np.zeros(adjacency.shape))


def market(truth: Reports, distances: np.ndarray, weight: float) -> np.ndarray:
    return ROUNDS * utilities(GAIN, truth, *ModelMarket(weight).clear(truth, distances))


def test_finance_averaging():
    utility = everyone_imports_everyone(FINANCE)
    assert utility.mean() == pytest.approx(45.88, abs=0.005)
    assert np.ptp(utility) == 0.0


def test_finance_market_of_pairs_with_the_same_data_set():
    utility = market(FINANCE, cluster_distances([0, 0, 1, 1, 2, 2], 0.0, 1.0), 5.0)
    assert utility == pytest.approx(np.full(6, 96.45), abs=0.005)


def test_code_and_finance_averaging():
    utility = everyone_imports_everyone(CODE_AND_FINANCE)
    assert utility.mean() == pytest.approx(58.16, abs=0.005)
    assert utility.std(ddof=1) == pytest.approx(150.38, abs=0.005)
    assert utility.min() < 0.0


def test_code_and_finance_market_of_models_that_are_alike():
    utility = market(CODE_AND_FINANCE, np.zeros((8, 8)), 5.0)
    assert utility.mean() == pytest.approx(208.1, abs=0.05)
    assert utility.std(ddof=1) == pytest.approx(131.9, abs=0.05)
    assert utility.min() > 0.0


def test_code_and_finance_where_code_owners_mix_code_only():
    """pFedGraph's 137.7 +- 291.6: finance owners import from everybody."""
    adjacency = ~np.eye(8, dtype=bool)
    adjacency[:5, 5:] = False
    utility = mixed(CODE_AND_FINANCE, adjacency)
    assert utility.mean() == pytest.approx(137.66, abs=0.005)
    assert utility.std(ddof=1) == pytest.approx(291.57, abs=0.005)
