"""Markets for the tests: random ones, small ones with known answers, Algorithm 2 as printed, federations of models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedabm import Federation, Scenario
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import Distance, GivenModels, ImportGain, SquareRootGain, market_reports, thresholds
from fedabm.simulation.roles import market_owners
from fedabm.strategies import Strategy
from fedabm.testing.models import PlainModels
from fedabm.views import Reports

Market = tuple[Reports, np.ndarray]

GAIN = SquareRootGain()
MARKET = ModelMarket(1.0)
SEEDS = st.integers(0, 2**32 - 1)


def random_market(seed: int, owners: int | None = None, spread: float = 1.0, closest: float = 0.0) -> Market:
    """Owners of unequal sizes, some only buying, only selling, or giving models away, and how far apart these are."""
    rng = np.random.default_rng(seed)
    n = owners or int(rng.integers(2, 13))
    size, cost = np.exp(rng.normal(6.0, spread, n)), rng.uniform(0.0, 2.0, n)
    cost[rng.random(n) < 0.1] = np.inf
    cost[rng.random(n) < 0.1] = 0.0
    eagerness = np.where(rng.random(n) < 0.1, 0.0, 5e4 * rng.uniform(0.2, 1.0, n))
    return market_reports(size, cost, eagerness), random_distances(rng, n, closest)


def random_distances(rng: np.random.Generator, owners: int, closest: float = 0.0) -> np.ndarray:
    half = np.triu(rng.uniform(closest, 1.0, (owners, owners)), 1)
    return half + half.T


def one_buyer(sellers: list[float], costs: list[float]) -> Market:
    """A buyer with 100 samples and K = 400 meets sellers of these sizes and costs; all models are alike."""
    size, cost = np.array([100.0, *sellers]), np.array([np.inf, *costs])
    eagerness = np.where(np.arange(len(size)) == 0, 400.0, 0.0)
    return market_reports(size, cost, eagerness), np.zeros((len(size), len(size)))


def algorithm_2(reports: Reports, price: np.ndarray, *, stop: bool) -> np.ndarray:
    """The loops of the paper, one importer after the other; with `stop`, `break` instead of `continue`."""
    threshold, sizes = thresholds(GAIN, reports, price), reports.size
    adjacency = np.zeros(price.shape, dtype=bool)
    for i in range(len(sizes)):
        imported, left = 0.0, [j for j in range(len(sizes)) if j != i]
        while left:
            k = max(left, key=lambda j: (threshold[i, j], -j))
            left.remove(k)
            if imported + sizes[k] < threshold[i, k]:
                adjacency[i, k] = True
                imported += sizes[k]
            elif stop:
                break
    return adjacency


def at(models: np.ndarray, initial: np.ndarray) -> PlainModels:
    """Models at these places; those that are not finite are not usable."""
    told = market_reports(np.full(len(models), 100.0), 0.0, 4e4)
    start = np.tile(initial, (len(models), 1))
    return PlainModels(told, np.isfinite(models).all(axis=1), models, start, initial, start)


def centres_of(
    models: np.ndarray, initial: np.ndarray, distance: Distance, weights: np.ndarray, step: float
) -> np.ndarray:
    """One gradient step on the weighted distances."""
    return at(models, initial).pulled(lambda products: step * distance.pull(products, weights))


def truth(owners: int = 6, seed: int = 3) -> Reports:
    rng = np.random.default_rng(seed)
    return market_reports(np.rint(rng.uniform(100.0, 900.0, owners)), rng.uniform(0.1, 1.0, owners), 5e4)


def apart(owners: int = 6, seed: int = 3) -> np.ndarray:
    return random_distances(np.random.default_rng(seed), owners, closest=0.05)


def federation(
    told: Reports, distances: np.ndarray, strategies: dict[int, Strategy] | None = None, **changes: object
) -> Scenario:
    owners = market_owners(["trader"] * len(told.size), told, strategies)
    steps = changes.pop("steps", 3)
    base = Scenario(owners, GivenModels(distances), MARKET, steps=steps, valuation=ImportGain(GAIN))  # type: ignore[arg-type]
    return replace(base, **changes)  # type: ignore[arg-type]


def utility(model: Federation) -> np.ndarray:
    """(steps, owners)."""
    return model.frames().owners.pivot(index="step", columns="owner", values="utility").to_numpy()
