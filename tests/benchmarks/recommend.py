"""How long a recommendation takes: `python -m tests.benchmarks.recommend [--draws 100] [--audits 3]`.

Seven owners whose costs, values and curve are uncertain, six kinds of rules.  In one process and one run: the search
(no lies, no audits), the same with lies in ten draws and full audits, and `solve` for a sample of the same games.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from fedabm import Game, solve
from fedabm.accuracy import LinearPayoff, PowerLaw, Valued
from fedabm.advice.consortium import Consortium
from fedabm.advice.families import FAMILIES
from fedabm.advice.recommendation import recommend
from fedabm.comparison.wanted import Wanted
from fedabm.mechanisms import NoPayments

KINDS = (
    "no payments",
    "cost sharing",
    "contribution subsidy",
    "Shapley shares",
    "partial reciprocity",
    "value shaping",
)


def seven(draws: int, owners: int = 7) -> Consortium:
    """Owners with uncertain costs and values, and a curve that a pilot has left uncertain."""
    rng = np.random.default_rng(7)
    unit, worth, data = rng.uniform(0.2, 1.0, owners), rng.uniform(400, 1000, owners), rng.uniform(100, 500, owners)
    games = [
        Game(
            Valued(
                PowerLaw(rng.uniform(0.55, 0.65), rng.uniform(0.4, 0.6), 1.0, rng.uniform(0.9, 0.97)),
                LinearPayoff(worth * rng.uniform(0.8, 1.2, owners)),
            ),
            unit * rng.uniform(0.7, 1.3, owners),
            data,
            NoPayments(),
        )
        for _ in range(draws)
    ]
    names = tuple(f"bank {one}" for one in range(owners))
    return Consortium(names, tuple(games), games[0], np.full((draws, owners), np.nan), ("costs", "values", "the curve"))


def per_solve(consortium: Consortium, sample: int) -> float:
    """Seconds of a core of `solve` for one candidate and draw, the mean over all kinds and a sample of draws."""
    rules = [one.start(consortium) for one in FAMILIES if one.name in KINDS]
    begun = time.process_time()
    for rule in rules:
        for game in consortium.under(rule, range(sample)):
            solve(game)
    return (time.process_time() - begun) / (sample * len(rules))


def main() -> None:
    """Print what each part took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--audits", type=int, default=3)
    parser.add_argument("--sample", type=int, default=5)
    options = parser.parse_args()
    consortium = seven(options.draws)
    wanted = Wanted(degraded=True, draws=options.draws, families=KINDS)
    begun, worked = time.perf_counter(), time.process_time()
    found = recommend(consortium, wanted, audits=0, lies=False)
    search, worked = time.perf_counter() - begun, time.process_time() - worked
    certified = np.mean([one.outcomes.certified.mean() for one in found.candidates])
    games = f"{found.solved} games, {100 * certified:.1f}% certified"
    print(f"search: {search:.1f} s ({worked:.1f} s of a core) for {games}; target 10 s")
    alone = per_solve(consortium, options.sample) * found.solved
    print(f"a solve per candidate and draw: {alone:.0f} s of a core, {alone / worked:.0f} times; target 20 times")
    begun, worked = time.perf_counter(), time.process_time()
    found = recommend(consortium, wanted, audits=options.audits)
    took, worked = time.perf_counter() - begun, time.process_time() - worked
    print(f"with lies and {options.audits} audits: {took:.1f} s ({worked:.1f} s of a core); target 60 s")
    print(found.sentence)


if __name__ == "__main__":
    main()
