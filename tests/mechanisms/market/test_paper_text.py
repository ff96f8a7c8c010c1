"""The market against the text of iPFL 2025 (as corrected), written out in plain Python without any of its code.

Sizes, costs, eagerness and distances go in; graph, payments, utilities and condition (9) come out by formulas alone.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq

from fedabm import Federation, Scenario
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import (
    GivenModels,
    ImportGain,
    SquareRootGain,
    eagerness_of,
    social_welfare,
    unit_costs_of,
    utilities,
)
from fedabm.mechanisms.market.distances import CosineDistance, EuclideanDistance
from fedabm.results.market_graphs import import_table
from fedabm.simulation.roles import market_owners
from fedabm.views import Reports
from tests.mechanisms.market.markets import at, centres_of, random_market

Numbers = list[float]


class Text:
    """One market by the paper's letters: N, c, K, d and lambda."""

    def __init__(self, said: Reports, distances: np.ndarray, weight: float) -> None:
        self.N = said.size.tolist()
        self.c, self.K = unit_costs_of(said).tolist(), eagerness_of(said).tolist()
        self.d, self.weight, self.m = distances.tolist(), weight, len(distances)

    def g(self, i: int, x: float) -> float:
        """Eq. (2)."""
        return sqrt(self.K[i] / self.N[i]) - sqrt(self.K[i] / (self.N[i] + x))

    def G(self, i: int, imports: set[int]) -> float:
        return self.g(i, sum(self.N[j] for j in imports))

    def difference(self, i: int, j: int) -> float:
        return self.weight * self.N[j] / self.N[i] * self.d[i][j]

    def threshold(self, i: int, j: int) -> float:
        """g_i(T) - g_i(T - N_j) = price; the least T is N_j, at which nothing has been imported before."""
        price = self.c[j] + self.difference(i, j)
        if price == 0.0:
            return inf if self.K[i] else -inf

        def left(total: float) -> float:
            return self.g(i, total) - self.g(i, total - self.N[j]) - price

        if not left(self.N[j]) > 0:
            return -inf  # "no solution" among possible totals
        return float(brentq(left, self.N[j], 1e18, xtol=1e-9, rtol=1e-14))

    def algorithm_2(self, i: int) -> set[int]:
        """With `continue`."""
        chosen: set[int] = set()
        bounds = {j: self.threshold(i, j) for j in range(self.m) if j != i}
        for j in sorted(bounds, key=lambda j: (-bounds[j], j)):
            if sum(self.N[k] for k in chosen) + self.N[j] < bounds[j]:
                chosen.add(j)
        return chosen

    def remittance(self, i: int, j: int, graph: list[set[int]]) -> float:
        """The formula above eq. (10)."""
        if j not in graph[i]:
            return 0.0
        return self.G(i, graph[i]) - self.G(i, graph[i] - {j}) - self.difference(i, j)

    def utility(self, i: int, graph: list[set[int]]) -> float:
        """Eq. (1)."""
        others = range(self.m)
        paid = sum(self.remittance(i, j, graph) - self.remittance(j, i, graph) for j in others)
        shared = sum(i in graph[j] for j in others)
        return self.G(i, graph[i]) - (self.c[i] * shared if shared else 0.0) - paid

    def phi(self, i: int, imports: set[int]) -> float:
        """Eq. (8)."""
        return sum(self.difference(i, j) + self.c[j] for j in imports) - self.G(i, imports)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0])
def test_graph_payments_and_utilities_are_those_of_the_text(seed, weight):
    reports, distances = random_market(seed)
    text = Text(reports, distances, weight)
    adjacency, remittances = ModelMarket(weight).clear(reports, distances)
    graph = [text.algorithm_2(i) for i in range(text.m)]
    assert [set(np.flatnonzero(row).tolist()) for row in adjacency] == graph
    paid = [[text.remittance(i, j, graph) for j in range(text.m)] for i in range(text.m)]
    np.testing.assert_allclose(remittances, paid, rtol=1e-7, atol=1e-9)
    expected = [text.utility(i, graph) for i in range(text.m)]
    found = utilities(SquareRootGain(), reports, adjacency, remittances)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert min(expected) >= -1e-9  # Theorem 1
    assert social_welfare(SquareRootGain(), reports, adjacency) == pytest.approx(sum(expected), abs=1e-8)


@pytest.mark.parametrize("seed", range(60))
def test_condition_9_by_trying_every_single_change(seed):
    reports, distances = random_market(seed)
    text = Text(reports, distances, 1.0)
    for i, row in enumerate(ModelMarket(1.0).clear(reports, distances)[0]):
        chosen = set(np.flatnonzero(row).tolist())
        for j in set(range(text.m)) - {i}:
            other = text.phi(i, chosen ^ {j})
            assert other > text.phi(i, chosen) - 1e-12 if j in chosen else other >= text.phi(i, chosen) - 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_the_frame_of_transfers_tells_who_imports_whose_model(seed):
    reports, distances = random_market(seed, owners=8)
    finite = market_owners(["trader"] * 8, reports)
    scenario = Scenario(finite, GivenModels(distances), ModelMarket(1.0), steps=2, valuation=ImportGain())
    frames = Federation(scenario).run().frames()
    graph = [Text(reports, distances, 1.0).algorithm_2(i) for i in range(8)]
    for step in (1, 2):
        table = import_table(frames.transfers, 8, step)
        assert [set(np.flatnonzero(row).tolist()) for row in table] == graph
        assert set(np.unique(table)) <= {0.0, 1.0}
    np.testing.assert_array_equal(import_table(frames.transfers, 8), 2 * import_table(frames.transfers, 8, 1))


@pytest.mark.parametrize("distance", [CosineDistance(), EuclideanDistance()])
def test_the_proximal_centre_is_a_gradient_step_by_finite_differences(distance):
    """Eq. (6), with the derivative of d measured, not derived."""
    rng = np.random.default_rng(4)
    initial, models, sizes = rng.normal(size=5), rng.normal(size=(4, 5)), rng.uniform(50, 400, 4)
    imports = rng.random((4, 4)) < 0.6
    np.fill_diagonal(imports, False)
    weights = imports * sizes / sizes[:, None]

    def d(x: np.ndarray, y: np.ndarray) -> float:
        x, y = x - initial, y - initial
        if isinstance(distance, EuclideanDistance):
            return float(np.sum((x - y) ** 2))
        return 1.0 - float(x @ y) / sqrt(float(x @ x) * float(y @ y))

    expected = models.copy()
    for i in range(4):
        for j in np.flatnonzero(imports[i]):
            nudges = 1e-6 * np.eye(5)
            slope = [(d(models[i] + e, models[j]) - d(models[i] - e, models[j])) / 2e-6 for e in nudges]
            expected[i] -= 0.7 * sizes[j] / sizes[i] * np.array(slope)
    np.testing.assert_allclose(centres_of(models, initial, distance, weights, 0.7), expected, atol=1e-7)
    found = at(models, initial).distances(distance.between)
    np.testing.assert_allclose(found, [[d(x, y) if x is not y else 0.0 for y in models] for x in models], atol=1e-12)
