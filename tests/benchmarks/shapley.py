"""Shapley values of group-weighted accuracies: quadrature, Monte Carlo and shapiq, time and error side by side.

    python -m tests.benchmarks.shapley [--full]

Errors are against enumeration for 12 owners and against quadrature with twice the digits beyond.  Sampling uses n log n
permutations.  Where that would take minutes, a part is run and time and error are extrapolated (marked ~: time in
proportion, error by the square root); --full runs all permutations of our own Monte Carlo.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedabm.games.accuracy import GroupWeighted, PacBound
from fedabm.shapley import shapley

SIZES = (12, 30, 1_000, 10_000)
#: numbers drawn or coalitions asked before a run is extrapolated
MOST_DRAWS, MOST_COALITIONS = 5e7, 2e4


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    owners: int
    method: str
    seconds: float = np.nan
    error: float = np.nan
    worst: float = np.nan
    permutations: int | None = None
    extrapolated: bool = False

    def __str__(self) -> str:
        mark = "~" if self.extrapolated else " "
        numbers = [f"{mark}{self.seconds:10.4f}", f"{mark}{self.error:9.1e}", f"{mark}{self.worst:9.1e}"]
        cells = ["-" if np.isnan(value) else text for value, text in zip(self._numbers, numbers, strict=True)]
        drawn = "" if self.permutations is None else f"{self.permutations:,}"
        return f"{self.owners:>7,}  {self.method:<22}{drawn:>13}{cells[0]:>13}{cells[1]:>14}{cells[2]:>14}"

    @property
    def _numbers(self) -> tuple[float, float, float]:
        return self.seconds, self.error, self.worst


@dataclass(frozen=True)
class Instance:
    """A federation of three groups and its Shapley values by the best means there are."""

    accuracy: GroupWeighted
    profile: np.ndarray
    truth: np.ndarray

    @property
    def owners(self) -> int:
        return len(self.profile)

    @property
    def permutations(self) -> int:
        return int(np.ceil(self.owners * np.log(self.owners)))

    def row(self, method: str, seconds: float, found: np.ndarray, share: float = 1.0, **facts: object) -> Row:
        """The errors of shares that were found with a share of the permutations, extrapolated to all of them."""
        away, shrink = np.abs(np.asarray(found) - self.truth), np.sqrt(share)
        error, worst = np.linalg.norm(away) / np.linalg.norm(self.truth), np.max(away)
        return Row(
            self.owners, method, seconds / share, error * shrink, worst * shrink, extrapolated=share < 1.0, **facts
        )


def instance(owners: int) -> Instance:
    """Contributions of very different size, weights between groups, an exponent below one."""
    rng = np.random.default_rng(owners)
    weights = np.eye(3) * 0.5 + 0.5 * rng.random((3, 3))
    accuracy = GroupWeighted(weights, rng.integers(0, 3, owners), exponent=0.8)
    profile = rng.lognormal(0.0, 1.0, owners)
    few = owners <= 12
    truth = shapley(accuracy, profile, "enumeration") if few else shapley(accuracy, profile, precision=1e-30)
    return Instance(accuracy, profile, np.asarray(truth))


def timed(work: Callable[[], np.ndarray], repeats: int = 1) -> tuple[float, np.ndarray]:
    """The shortest time of some repeats, and the result."""
    seconds = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, result


def by_quadrature(case: Instance) -> Row:
    return case.row("quadrature", *timed(lambda: shapley(case.accuracy, case.profile, "quadrature"), repeats=3))


def by_monte_carlo(case: Instance, antithetic: bool, full: bool) -> Row:
    wanted = case.permutations
    drawn = wanted if full else min(wanted, int(MOST_DRAWS / case.owners))
    seconds, found = timed(
        lambda: shapley(
            case.accuracy,
            case.profile,
            "monte_carlo",
            permutations=drawn,
            rng=np.random.default_rng(1),
            antithetic=antithetic,
        )
    )
    name = "Monte Carlo, pairs" if antithetic else "Monte Carlo"
    return case.row(name, seconds, found, drawn / wanted, permutations=wanted)


def by_shapiq(case: Instance) -> list[Row]:
    """shapiq's exact computer for 12 owners, its permutation sampling beyond; 10,000 owners are out of its reach."""
    import shapiq
    from shapiq.game_theory.exact import ExactComputer

    game, owners, rows = worth_of(case), case.owners, []
    if owners <= 12:
        values = timed(lambda: ExactComputer(game, owners)("SV").get_n_order_values(1))
        rows.append(case.row("shapiq, exact", *values))
    drawn = min(case.permutations, int(MOST_COALITIONS // (owners - 1)))
    if drawn < 3:
        return [Row(owners, "shapiq, permutations", permutations=case.permutations)]
    sampler = shapiq.approximator.PermutationSamplingSV(owners, random_state=1)
    budget = drawn * (owners - 1) + 2
    seconds, found = timed(lambda: sampler.approximate(budget, game).get_n_order_values(1))
    share = drawn / case.permutations
    return [*rows, case.row("shapiq, permutations", seconds, found, share, permutations=case.permutations)]


def worth_of(case: Instance) -> Callable[[np.ndarray], np.ndarray]:
    """The worth of coalitions (k, n), as fast as we can make it for somebody else's sampler."""
    groups = case.accuracy.exposure_groups(case.owners)
    exposed = (groups.patterns * case.profile).T
    return lambda coalitions: case.accuracy.curve(np.atleast_2d(coalitions) @ exposed) @ groups.counts


def by_subset_sums() -> Row:
    """The exact shares of 20 owners, all different, under a PAC bound; the error is against what they must sum to."""
    accuracy, profile = PacBound(), 30.0 * np.random.default_rng(20).lognormal(0.0, 1.0, 20)
    seconds, found = timed(lambda: shapley(accuracy, profile), repeats=3)
    together = 20 * float(accuracy.curve(np.array(profile.sum())))
    missed = abs(float(found.sum()) - together)
    if found.standard_errors is not None:
        raise SystemExit("the shares of 20 owners under a PAC bound are sampled")
    return Row(20, "PAC bound, all sums", seconds, missed / together, missed)


def main() -> int:
    """Print the table and whether the three claims hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="run all n log n permutations of our Monte Carlo")
    full = parser.parse_args().full
    print(f"{'owners':>7}  {'method':<22}{'permutations':>13}{'seconds':>13}{'rel. error':>14}{'worst owner':>14}")
    rows: dict[tuple[int, str], Row] = {}
    for owners in SIZES:
        case = instance(owners)
        found = [by_quadrature(case), by_monte_carlo(case, False, full), by_monte_carlo(case, True, full)]
        for row in [*found, *by_shapiq(case)]:
            rows[owners, row.method] = row
            print(row, flush=True)
    exact, quick, sampled = rows[12, "quadrature"], rows[1_000, "quadrature"], rows[1_000, "Monte Carlo"]
    pac = by_subset_sums()
    print(pac)
    precise, faster = exact.worst < 1e-10, quick.seconds < sampled.seconds
    print(f"\nquadrature error against enumeration {exact.worst:.1e}: {'' if precise else 'NOT '}below 1e-10")
    print(
        f"1,000 owners: quadrature {quick.seconds:.3f} s, error {quick.error:.0e}; "
        f"Monte Carlo {sampled.seconds:.3f} s, error {sampled.error:.0e}: quadrature {'' if faster else 'NOT '}faster"
    )
    soon = pac.seconds < 1.0 and pac.error < 1e-10
    print(f"20 owners under a PAC bound: exact shares in {pac.seconds:.3f} s: {'' if soon else 'NOT '}under 1 s")
    return 0 if precise and faster and soon else 1


if __name__ == "__main__":
    sys.exit(main())
