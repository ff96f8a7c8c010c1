"""Whether 95% intervals of Sobol indices hold the true ones as often as they say, and whether Morris ranks alike.

    python -m tests.factors.coverage [--repetitions 100] [--n 2048] [--trajectories 20000]

Of the Ishigami function and of a game in closed form, repetition by repetition with another seed: in how many of them
each index lies in its own interval, and the widest half-width.  Exit code 1 if an index is held in fewer than 88 or
more than 99 of 100, a half-width exceeds 0.1, or Morris ranks inputs in another order than the first-order indices.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

from fedabm.factors.methods import METHODS, Method, SobolIndices
from tests.factors.closed_forms import Known, game, ishigami

GAMES = {"Ishigami": ishigami, "game": game}


@dataclass(frozen=True)
class Held:
    """In how many of 100 repetitions each index was held, and the widest half-width of each."""

    held: np.ndarray
    widest: np.ndarray

    @property
    def good(self) -> bool:
        return bool(np.all((self.held >= 88) & (self.held <= 99)) and self.widest.max() <= 0.1)


def estimated(method: Method, known: Known, count: int, seed: int) -> list[tuple[str, float, float]]:
    """The indices of one repetition with their half-widths."""
    points = method.points(known.dimensions, count, seed)
    found = method.indices(points, known.values(points), seed, method.sequences(count))
    return [(one.kind, one.value, one.half) for one in found]


def coverage(known: Known, repetitions: int, count: int, first_seed: int = 0) -> Held:
    """Repeat it, and count."""
    rows = [estimated(SobolIndices(), known, count, first_seed + seed) for seed in range(repetitions)]
    values, halves = (np.array([[one[place] for one in row] for row in rows]) for place in (1, 2))
    held = np.abs(values - known.all) <= halves
    return Held(100 * held.mean(axis=0), halves.max(axis=0))


def morris_order(known: Known, trajectories: int, seed: int = 0) -> list[int]:
    """Inputs by their mean effect, the largest first."""
    found = estimated(METHODS["morris"](), known, trajectories, seed)
    return order(np.array([value for kind, value, _ in found if kind == "mean effect"]))


def order(values: np.ndarray) -> list[int]:
    return np.argsort(-values, kind="stable").tolist()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--n", type=int, default=2048)
    parser.add_argument("--trajectories", type=int, default=20_000)
    options = parser.parse_args(arguments)
    good = True
    for name, make in GAMES.items():
        known = make()
        found = coverage(known, options.repetitions, options.n)
        ranked = morris_order(known, options.trajectories)
        print(f"{name}: true indices {known.all.round(3).tolist()}")
        print(f"  held in % of {options.repetitions}: {found.held.round(1).tolist()}")
        print(f"  widest half-widths: {found.widest.round(3).tolist()}")
        print(f"  order: first {order(known.first)}, total {order(known.total)}, Morris {ranked}")
        good = good and found.good and ranked == order(known.first)
    print("good" if good else "NOT GOOD")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
