"""How much faster are many games at once than one by one?  Run with `python -m tests.benchmarks.many`.

Games of one kind with costs and capacities of their own, by `solve_many` and by `solve`, in turn, in processor time of
one thread.  Every result of either must be certified, and the profiles must agree.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from fedabm import Game, solve, solve_many
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments

#: how many times faster it must be
WANTED = 5.0
ROWS: dict[str, tuple[Mechanism, float]] = {
    "no payments, linear costs": (NoPayments(), 1.0),
    "no payments, costs s^1.5": (NoPayments(), 1.5),
    "subsidy, linear costs": (ContributionSubsidy(0.002), 1.0),
    "subsidy, costs s^1.5": (ContributionSubsidy(0.002), 1.5),
}


def games_of(rule: Mechanism, exponent: float, games: int, owners: int) -> list[Game]:
    """Games that differ in costs and capacities."""
    rng = np.random.default_rng(0)
    rates, rooms = rng.uniform(1e-3, 0.1, (games, owners)), rng.uniform(10.0, 100.0, (games, owners))
    costs = [PowerCost(rate, np.full(owners, exponent), np.zeros(owners)) for rate in rates]
    return [Game(PowerLaw(exponent=0.5), cost, room, rule) for cost, room in zip(costs, rooms, strict=True)]


def measure(games: list[Game]) -> tuple[float, float, float]:
    """Seconds at once, seconds one by one, and by how much contributions differ at most."""
    begun = time.process_time()
    together: list[Any] = solve_many(games)
    between = time.process_time()
    alone = [solve(game) for game in games]
    ended = time.process_time()
    if not all(found.converged for found in [*together, *alone]):
        raise SystemExit("an equilibrium is not certified")
    apart = max(float(np.max(np.abs(a.profile - b.profile))) for a, b in zip(together, alone, strict=True))
    return between - begun, ended - between, apart


def main() -> None:
    """One line per kind of game."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--owners", type=int, default=20)
    options = parser.parse_args()
    least = np.inf
    for name, (rule, exponent) in ROWS.items():
        once, single, apart = measure(games_of(rule, exponent, options.games, options.owners))
        least = min(least, single / once)
        print(f"{name:28} at once {once:6.2f} s  one by one {single:6.2f} s  {single / once:5.1f}x  apart {apart:.1e}")
    print(f"{options.games} games of {options.owners} owners: at least {least:.1f} times faster; wanted {WANTED:g}")
    if least < WANTED:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
