"""The search for a gain above its bound, over random games and rules: python -m tests.audit.many_bounds [GAMES [FIRST]]

Every game is looked at in three ways that know nothing of the proof: random lies, a grid of claims with the best true
contribution, and SciPy's dual annealing for some of them.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.optimize import dual_annealing

from fedabm.audit.deviations import Lies, Limits
from fedabm.audit.evaluate import reads, utilities
from fedabm.audit.search import best_claim_alone
from fedabm.audit.stage import Stage
from fedabm.common.errors import InputError
from fedabm.mechanisms import (
    ContributionSubsidy,
    LeaveOneOut,
    Mechanism,
    PartialReciprocity,
    ProportionalData,
    TullockContest,
)
from fedabm.mechanisms import Verification as _Evidence
from tests.audit.stages import RULES, Bounty, random_stage

#: rules that settle on curves, so that something can be proven
CURVED = tuple(rule for rule in RULES if not isinstance(rule, _Evidence) and type(rule).__name__ != "Deposit")


def rule_of(rng: np.random.Generator) -> Mechanism:
    """A rule of the list, or one with parameters at random."""
    drawn = (
        ContributionSubsidy(float(rng.uniform(0.0, 0.2))),
        PartialReciprocity(float(rng.uniform())),
        ProportionalData(float(rng.uniform(0.1, 1.0))),
        TullockContest(float(rng.uniform(0.1, 2.0)), float(rng.uniform(0.3, 2.0))),
        LeaveOneOut(float(rng.uniform(0.1, 1.0))),
        Bounty(float(rng.uniform(0.0, 0.1))),
    )
    every = (*CURVED, *drawn)
    return every[int(rng.integers(len(every)))]


def check_game(seed: int, *, annealing: bool = False) -> bool:
    """One game: every bound holds against every search.  Whether anything was certified."""
    rng = np.random.default_rng(seed)
    rule = rule_of(rng)
    try:
        stage = random_stage(rng, rule)
        owner = int(rng.integers(stage.owners))
        found = best_claim_alone(stage, owner, Limits())
    except InputError:
        return False
    best = max(
        _random(stage, owner, rng), _gridded(stage, owner), _annealed(stage, owner, seed) if annealing else -np.inf
    )
    gain = best - found.honest
    slack = 1e-9 * max(1.0, abs(found.honest))
    assert found.bound >= gain - slack, f"seed {seed}: {rule} promises at most {found.bound}, but {gain} was found"
    if found.certified:
        assert found.gain >= gain - 1e-6, f"seed {seed}: {rule} found {found.gain}, but there is {gain}"
    return found.certified


def _most(stage: Stage, owner: int) -> float:
    """The largest claim: twice the data, or all of it where the rule reads the size, which is verified here."""
    return float(stage.capacities[owner]) * (1.0 if "size" in reads(stage) else 2.0)


def _random(stage: Stage, owner: int, rng: np.random.Generator) -> float:
    capacity, count, most = stage.capacities[owner], 2000, _most(stage, owner)
    claim, given = most * rng.uniform(size=count), capacity * rng.uniform(size=count)
    claim = np.where(rng.uniform(size=count) < 0.2, rng.choice([0.0, 1e-9, 0.5, 1.0], count) * most, claim)
    given = np.where(rng.uniform(size=count) < 0.2, rng.choice([0.0, 1.0], count) * capacity, given)
    return float(np.max(utilities(stage, owner, Lies.of(stage, owner, count, claim=claim, contribution=given))))


def _gridded(stage: Stage, owner: int) -> float:
    capacity, most = stage.capacities[owner], _most(stage, owner)
    near = [stage.profile[owner], *stage.offers.kinks[owner][np.isfinite(stage.offers.kinks[owner])]]
    claims = np.unique(np.clip([*np.linspace(0.0, most, 60), *near, *np.add(near, 1e-7)], 0.0, most))
    given = np.linspace(0.0, capacity, 60)
    x, z = (axis.ravel() for axis in np.meshgrid(given, claims))
    return float(np.max(utilities(stage, owner, Lies.of(stage, owner, len(x), claim=z, contribution=x))))


def _annealed(stage: Stage, owner: int, seed: int) -> float:
    capacity = float(stage.capacities[owner])

    def loss(point: np.ndarray) -> float:
        lie = Lies.of(stage, owner, claim=point[0], contribution=point[1])
        return -float(utilities(stage, owner, lie)[0])

    found = dual_annealing(
        loss, [(0.0, _most(stage, owner)), (0.0, capacity)], rng=np.random.default_rng(seed), maxiter=60
    )
    return -float(found.fun)


def main(games: int, first: int = 0) -> None:
    """Look at so many games and say how many were certified."""
    certified = 0
    for count in range(games):
        certified += check_game(first + count, annealing=count % 10 == 0)
        if count % 200 == 199:
            print(f"{count + 1} games, {certified} with a proven bound, none beaten", flush=True)
    print(f"{games} games, {certified} with a proven bound, none beaten")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:] or ["3000"]))
