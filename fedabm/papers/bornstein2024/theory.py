"""Bornstein et al. 2024 (FACT): penalised free-riding and the middle of three reported costs, rows F01 and F02."""

from __future__ import annotations

import numpy as np

from fedabm.games.accuracy import PowerLaw
from fedabm.games.individual import individual_optimum
from fedabm.mechanisms import FACT
from fedabm.mechanisms.fact import chance_of_the_middle
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.trials import trials
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.solving.truth import costs_of

_CAPACITY = 50.0


@row(
    "F01",
    "Theorem 4: under the penalty everyone gives what it would give alone, whatever the others give",
    preset="fedabm list fact",
)
def no_free_riding(budget: Budget) -> Finding:
    """Equilibria of random games beside the individual optima."""

    def violation(rng: np.random.Generator) -> float:
        owners = int(rng.integers(3, 7))
        accuracy, costs = PowerLaw(exponent=rng.uniform(0.5, 1.0)), rng.uniform(0.01, 0.2, owners)
        alone = individual_optimum(accuracy, costs_of(costs, owners), np.full(owners, _CAPACITY))[0]
        found = solve(Game(accuracy, costs, _CAPACITY, FACT()))
        return float(np.max(np.abs(found.profile - alone)))

    found = trials(budget, violation, 1e-4)
    return holds(f"largest distance from the individual optimum: {found}", found.holds)


@row(
    "F02",
    "Theorem 5: reporting the true cost wins the game of three most often",
    preset="fedabm list fact",
)
def truth_wins(budget: Budget) -> Finding:
    """Rivals around the own cost, as their public check draws them; and four owners whose costs differ."""
    said = np.linspace(0.8, 1.2, 9)
    low, high = np.sort(np.random.default_rng(5).normal(1.0, 0.1, (20_000, 2)), axis=1).T
    wins = np.mean((low[:, None] < said) & (said < high[:, None]), axis=0)
    around = float(said[np.argmax(wins)])
    costs = np.array([0.02, 0.03, 0.05, 0.1])
    truth, lie = chance_of_the_middle(costs)[3], chance_of_the_middle(np.array([0.02, 0.03, 0.05, 0.04]))[3]
    ours = (
        f"rivals around the own cost: {around:g} times the cost wins most often, {wins.max():.2f}; of costs (0.02, "
        f"0.03, 0.05, 0.1) the last is the middle one {truth:.2f} with the truth, {lie:.2f} with 0.04"
    )
    reason = (
        "holds where rivals' costs lie symmetrically around the own one; where costs differ, whoever is far from the "
        "median wins more often by a cost nearer to it"
    )
    return corrected(ours, around == 1.0 and lie > truth, reason, as_printed=bool(lie <= truth))
