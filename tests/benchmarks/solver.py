"""How fast is an equilibrium of Shapley shares with 1,000 owners?  Run with `python -m tests.benchmarks.solver`.

Owners in three groups learn from each other by the MNIST weights of Murhekar et al. 2025, Appendix E, scaled so that the
equilibrium is interior, at unequal linear costs.  Time is counted in evaluations of the Shapley marginals, d phi_i / d s_i
for all owners, measured in between; the papers' projected gradient dynamics run beside it for a fixed budget.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import islice

import numpy as np

from fedabm.accuracy import GroupWeighted
from fedabm.dynamics import projected_gradient
from fedabm.equilibrium import Equilibrium, solve
from fedabm.game import Game
from fedabm.mechanisms.shapley_share import ShapleyShare
from fedabm.search import opening
from fedabm.shapley import shapley_marginals

WEIGHTS = 100 * np.array([[3.1e-3, 4.7e-4, 4.4e-4], [6.7e-4, 1.9e-3, 6.5e-4], [9.3e-4, 8.3e-4, 2.1e-3]])
GAP, EVALUATIONS = 1e-8, 60


def game_of(owners: int, seed: int = 0) -> Game:
    """Owners in three groups; costs differ by a tenth, which is enough to spread their contributions."""
    rng = np.random.default_rng(seed)
    accuracy = GroupWeighted(WEIGHTS, rng.integers(0, 3, owners))
    return Game(accuracy, rng.uniform(0.1, 0.11, owners), 1000.0, ShapleyShare())


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds, and the answer."""
    begin = time.perf_counter()
    answer = work()
    return time.perf_counter() - begin, answer


def gradient_after(game: Game, evaluations: int) -> tuple[float, float]:
    """The certified gap of the gradient dynamics before and after so many evaluations, with the best constant step.

    The step is the inverse of the Jacobian's largest row sum: a longer one can overshoot.  That of Theorem 3.2 would be
    shorter by several orders of magnitude.
    """
    start = opening(game)
    step = 1.0 / np.max(np.abs(game.jacobian(start)).sum(axis=1))
    last = next(islice(projected_gradient(game, start, step), evaluations, None))
    return game.gap(start), game.gap(last)


def main() -> int:
    """Print a small table and whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=int, default=300, help="evaluations that the gradient dynamics may use")
    options = parser.parse_args()
    game = game_of(options.owners)
    units, times = [], []
    found = solve(game)
    for _ in range(options.repeats):
        units += [timed(lambda: shapley_marginals(game.accuracy, found.profile))[0] for _ in range(3)]
        times.append(timed(lambda: solve(game))[0])
    unit, seconds = statistics.median(units), statistics.median(times)
    return report(game, found, unit, seconds, options.budget)


def report(game: Game, found: Equilibrium, unit: float, seconds: float, budget: int) -> int:
    """The table; 0 if both targets are met."""
    interior = bool(np.all((found.profile > 0) & (found.profile < game.capacities)))
    taken, (before, after) = timed(lambda: gradient_after(game, budget))  # type: ignore[misc]
    low, high = found.profile.min(), found.profile.max()
    print(f"M^Shap, {game.owners} owners in three groups; contributions from {low:.3f} to {high:.3f}, interior: {interior}")
    print(f"one evaluation of the Shapley marginals: {1e3 * unit:.1f} ms\n")
    print(f"{'method':<42}{'evaluations':>12}{'seconds':>10}{'certified gap':>16}")
    print(f"{f'solve ({found.method}, {found.iterations} iterations)':<42}{seconds / unit:>12.1f}{seconds:>10.2f}{found.gap:>16.1e}")
    print(f"{'projected gradient, start':<42}{0:>12}{'':>10}{before:>16.1e}")
    print(f"{'projected gradient':<42}{budget:>12}{taken:>10.2f}{after:>16.1e}\n")
    targets = {
        f"certified gap below {GAP:g}": found.gap < GAP,
        f"at most {EVALUATIONS} evaluations": seconds / unit <= EVALUATIONS,
        "interior equilibrium": interior,
        "gradient dynamics need far more": after > GAP,
    }
    for target, met in targets.items():
        print(f"{'met' if met else 'MISSED':<8}{target}")
    return 0 if all(targets.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
