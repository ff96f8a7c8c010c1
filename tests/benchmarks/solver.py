"""How fast is an equilibrium of Shapley shares with 1,000 owners?  Run with `python -m tests.benchmarks.solver`.

Owners in three groups learn from each other by the MNIST weights of Murhekar et al. 2025, Appendix E, at linear costs
that differ tenfold; capacities are large enough for an interior equilibrium.  Time is counted in evaluations of the
Shapley marginals, d phi_i / d s_i of all owners, measured in between.  Beside it the papers' projected gradient
dynamics get a budget of evaluations: with the step and start of their experiments (10, from 1), with the step of their
Theorem 3.2, and with the longest step that cannot overshoot, from the solver's own start.

The last rows are ten games that take long (see `slow_games`), each with a time limit of ten seconds.

Everything runs on one thread: an evaluation of the marginals uses only one, so that the ratio does not depend on how
many cores the linear algebra of the solver finds idle.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

from fedabm.games.accuracy import GroupWeighted
from fedabm.mechanisms.shapley_share import ShapleyShare
from fedabm.shapley import shapley_marginals
from fedabm.solving.dynamics import curvature, direction, iteration_bound, projected_gradient, step_size
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.solving.opening import opening
from fedabm.solving.table import OneGame
from tests.benchmarks.slow_games import keeps_limit

WEIGHTS = ((3.1e-3, 4.7e-4, 4.4e-4), (6.7e-4, 1.9e-3, 6.5e-4), (9.3e-4, 8.3e-4, 2.1e-3))
GAP, EVALUATIONS = 1e-8, 60


def game_of(owners: int, seed: int = 0) -> Game:
    """Owners in three groups with costs between 0.0002 and 0.002 per batch."""
    rng = np.random.default_rng(seed)
    accuracy = GroupWeighted(WEIGHTS, rng.integers(0, 3, owners))
    return Game(accuracy, rng.uniform(2e-4, 2e-3, owners), 1e5, ShapleyShare())


def seconds_of(work: Callable[[], object]) -> float:
    """How long a piece of work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(game: Game, profile: np.ndarray, repeats: int) -> tuple[float, float]:
    """Median seconds of one evaluation of the marginals and of one solution, measured in turn."""
    units, times = [], []
    for _ in range(repeats):
        units += [seconds_of(lambda: shapley_marginals(game.accuracy, profile)) for _ in range(3)]
        times.append(seconds_of(lambda: solve(game)))
    return statistics.median(units), statistics.median(times)


def gradient_runs(game: Game, found: Equilibrium, budget: int) -> Iterator[tuple[str, float]]:
    """The certified gaps of the papers' dynamics after `budget` evaluations."""
    strength, bound = curvature(game, found.profile)
    near, ones = opening(OneGame(game))[0], np.ones(game.owners)
    proven = step_size(strength, bound, game.owners)
    longest = 1.0 / float(np.max(np.abs(game.jacobian(near)).sum(axis=1)))
    runs = (("step 10, start 1", ones, 10.0), ("step of Theorem 3.2", near, proven), ("longest step", near, longest))
    for name, start, step in runs:
        last = next(islice(projected_gradient(game, start, step), budget, None))
        yield f"projected gradient, {name}", game.gap(last)


def needed(game: Game, found: Equilibrium) -> int:
    """The iterations that Theorem 3.2 asks for, with its constants taken at the equilibrium alone."""
    strength, bound = curvature(game, found.profile)
    start = opening(OneGame(game))[0]
    norm = float(np.linalg.norm(direction(game, start, step_size(strength, bound, game.owners))))
    return iteration_bound(strength, bound, game.owners, norm, 1e-3 * norm)


def main() -> int:
    """Print a small table and whether the targets are met; 0 if they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--owners", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=int, default=300, help="evaluations that each gradient dynamic may use")
    options = parser.parse_args()
    game = game_of(options.owners)
    found = solve(game)
    unit, seconds = measure(game, found.profile, options.repeats)
    low, high = found.profile.min(), found.profile.max()
    print(f"M^Shap, {game.owners} owners in three groups: equilibrium contributions from {low:.2f} to {high:.2f}")
    print(f"one evaluation of the Shapley marginals: {1e3 * unit:.1f} ms; solved in {seconds:.2f} s\n")
    print(f"{'method':<44}{'evaluations':>12}{'certified gap':>16}")
    print(f"{f'solve: {found.method}, {found.iterations} iterations':<44}{seconds / unit:>12.1f}{found.gap:>16.1e}")
    slow = []
    for name, gap in gradient_runs(game, found, options.budget):
        slow.append(gap)
        print(f"{name:<44}{options.budget:>12}{gap:>16.1e}")
    print(f"Theorem 3.2 asks for {needed(game, found):.1e} iterations to shorten the gradient a thousandfold\n")
    quick = judge(game, found, seconds / unit, slow)
    return 0 if keeps_limit() and not quick else 1


def judge(game: Game, found: Equilibrium, evaluations: float, slow: list[float]) -> int:
    """Whether the targets are met."""
    targets = {
        "the equilibrium is interior": bool(np.all((found.profile > 0) & (found.profile < game.capacities))),
        f"certified gap below {GAP:g}": found.gap < GAP,
        f"in the time of at most {EVALUATIONS} evaluations": evaluations <= EVALUATIONS,
        "the papers' dynamics need far more": min(slow) > GAP,
    }
    for target, met in targets.items():
        print(f"{'met' if met else 'MISSED':<8}{target}")
    return 0 if all(targets.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
