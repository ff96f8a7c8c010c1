"""What does a round of the model-sharing market cost without training?  `python -m tests.benchmarks.market`

Graph learning and payments of `ModelMarket.clear` beside matrix products of 1,000 x 1,000, in turn, so that whatever
else the machine does hits both alike, and their growth with the number of owners.  One market trades little, in the
other most pairs trade.  Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from fedabm.common.random import generator
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import market_reports
from fedabm.views import Reports

PRODUCT, MOST_PRODUCTS = 1000, 20.0
SIZES = (100, 300, 1000, 3000)
#: the similarity weights and costs of a sparse and of a dense market
MARKETS = {"sparse": (0.01, 0.5), "dense": (1e-6, 1e-5)}


def market(owners: int, cost: float) -> tuple[Reports, np.ndarray]:
    """Owners of unequal sizes at random distances."""
    rng = generator(0, "population", owners)
    size, eagerness = np.exp(rng.normal(6.0, 1.0, owners)), 5e4 * rng.uniform(0.5, 1.0, owners)
    return market_reports(size, rng.uniform(0.0, cost, owners), eagerness), rng.uniform(size=(owners, owners))


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The time of one call."""
    began = clock()
    work()
    return clock() - began


def against_products(weight: float, cost: float, turns: int) -> tuple[float, float, float]:
    """Seconds of settling 1,000 owners, of one matrix product, and the share of pairs that trade."""
    rule = ModelMarket(weight)
    reports, distances = market(PRODUCT, cost)
    matrix = generator(0, "data").normal(size=(PRODUCT, PRODUCT))
    traded = rule.clear(reports, distances)[0].mean()
    times = [(seconds(lambda: rule.clear(reports, distances)), seconds(lambda: matrix @ matrix)) for _ in range(turns)]
    settle, product = np.min(times, axis=0)
    return float(settle), float(product), float(traded)


def growth(weight: float, cost: float, turns: int) -> np.ndarray:
    """Processor seconds of settling each number of owners; short calls dodge other processes, long ones cannot."""
    rule, views = ModelMarket(weight), [market(owners, cost) for owners in SIZES]
    return np.min(
        [[seconds(partial(rule.clear, *view), time.process_time) for view in views] for _ in range(turns)], axis=0
    )


def verdict(met: bool, target: str) -> str:
    """Whether a target is met, in words."""
    return f"{'met' if met else 'MISSED'}: {target}"


def report(name: str, weight: float, cost: float, turns: int) -> bool:
    """Print both measurements of one market; return whether the targets are met."""
    settle, product, traded = against_products(weight, cost, turns)
    cheap = settle <= MOST_PRODUCTS * product
    print(f"{name} market, {PRODUCT} owners, {traded:.1%} of pairs trade: {1e3 * settle:.0f} ms")
    print(
        f"  {settle / product:.1f} products of {1e3 * product:.0f} ms  {verdict(cheap, f'at most {MOST_PRODUCTS:g}')}"
    )
    times, sizes = growth(weight, cost, turns), np.array(SIZES)
    work = sizes**2 * np.log(sizes)
    for owners, took, factor in zip(SIZES, times, times / times[0], strict=True):
        print(f"  {owners:>6,} owners {1e3 * took:>10.1f} ms   x {factor:>8.1f}")
    ratio = times[-1] / times[0] / (work[-1] / work[0])
    print(f"  growth is {ratio:.2f} of quadratic x log  {verdict(bool(ratio <= 1.0), 'at most 1')}")
    return bool(cheap and ratio <= 1.0)


def main() -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="the best of this many (default 5)")
    turns = parser.parse_args().turns
    met = [report(name, *settings, turns) for name, settings in MARKETS.items()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
