"""Nobody gains more by a lie than the audit says is possible: random games and rules, users' own among them.

    python -m tests.audit.many_bounds --games 3000 [--seed 0]

Every game is looked at in ways that know nothing of the proof: random lies, a grid of claims with true contributions,
and for every tenth SciPy's dual annealing.  The best lie of each is settled as a server would.  A bound is beaten if
that gains more, by more than 1e-9 of the amounts involved.  Exit code 1 if any is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import dual_annealing

from fedabm.audit.deviations import Lies, Limits
from fedabm.audit.evaluate import one_by_one, reads, utilities
from fedabm.audit.search import Effort, Finding, best_claim_alone, best_lie
from fedabm.audit.stage import Stage
from fedabm.common.errors import InputError
from tests.audit.stages import random_stage

#: how much more than proven a lie may gain, as a share of the amounts involved
MARGIN = 1e-9
#: how far from the best a lie may be that is called the best, as a share of the amounts involved
MISSED = 1e-5


@dataclass
class Tally:
    """What came of all games."""

    kinds: Counter[str] = field(default_factory=Counter)
    beaten: list[str] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)


def check_game(seed: int, number: int, tally: Tally, *, annealing: bool = False) -> None:
    """One game: look for a lie that gains more than its bound."""
    rng = np.random.default_rng([seed, number])
    try:
        stage = random_stage(rng)
        owner = int(rng.integers(stage.owners))
        found = finding(stage, owner)
    except InputError:
        tally.kinds["refused, as a promise is broken"] += 1
        return
    own = "fedabm" not in type(stage.mechanism).__module__ or type(stage.mechanism).__name__ == "PaymentRule"
    tally.kinds["by rules of users' own"] += own
    tally.kinds["proven" if found.certified else "found"] += 1
    gain, scale = best_of_searches(stage, owner, rng, annealing=annealing)
    what = f"game {number}: {stage.mechanism} on {stage.accuracy}, owner {owner}"
    if gain > found.bound + MARGIN * scale:
        tally.beaten.append(f"{what} gains {gain:.9g}, at most {found.bound:.9g} is said to be possible")
    elif found.certified and gain > found.gain + MISSED * scale and found.bound > gain + MISSED * scale:
        tally.kinds["proven, but not tight"] += 1


def finding(stage: Stage, owner: int) -> Finding:
    """What the audit says of the best lie; of the best claim alone where a rule reads more than that."""
    if reads(stage):
        return best_claim_alone(stage, owner, Limits())
    return best_lie(stage, owner, Limits(), Effort(questions=100))


def best_of_searches(
    stage: Stage, owner: int, rng: np.random.Generator, *, annealing: bool = False
) -> tuple[float, float]:
    """The largest gain of any search, as a server settles it, and how large the amounts are."""
    lies = [_random(stage, owner, rng), _gridded(stage, owner)]
    lies += [_annealed(stage, owner, rng)] if annealing else []
    claim, given = np.array([_best(stage, owner, some) for some in lies]).T
    best = one_by_one(stage, owner, Lies.of(stage, owner, len(lies), claim=claim, contribution=given))
    honest = float(stage.honest.utility[owner])
    model = float(np.abs(stage.settled.accuracy[owner]))
    spent = float(stage.costs.take([owner]).value(np.max(given, keepdims=True))[0])
    return float(np.max(best)) - honest, 1.0 + abs(honest) + float(np.max(np.abs(best))) + model + spent


def _best(stage: Stage, owner: int, lies: Lies) -> tuple[float, float]:
    """Claim and contribution of the best of some lies, by the rule's curves."""
    place = int(np.nanargmax(utilities(stage, owner, lies)))
    return float(lies.claim[place]), float(lies.contribution[place])


def _most(stage: Stage, owner: int) -> float:
    """The largest claim: twice the data, or all of it where the rule reads the size, which is verified here."""
    return float(stage.capacities[owner]) * (1.0 if "size" in reads(stage) else 2.0)


def _random(stage: Stage, owner: int, rng: np.random.Generator, count: int = 1000) -> Lies:
    capacity, most = stage.capacities[owner], _most(stage, owner)
    claim, given = most * rng.uniform(size=count), capacity * rng.uniform(size=count)
    claim = np.where(rng.uniform(size=count) < 0.2, rng.choice([0.0, 1e-9, 0.5, 1.0], count) * most, claim)
    given = np.where(rng.uniform(size=count) < 0.2, rng.choice([0.0, 1.0], count) * capacity, given)
    return Lies.of(stage, owner, count, claim=claim, contribution=given)


def _gridded(stage: Stage, owner: int, points: int = 40) -> Lies:
    capacity, most = stage.capacities[owner], _most(stage, owner)
    near = [stage.profile[owner], *stage.offers.kinks[owner][np.isfinite(stage.offers.kinks[owner])]]
    beside = np.multiply(near, 1.0 + 1e-7)
    claims = np.unique(np.clip([*np.linspace(0.0, most, points), *near, *beside], 0.0, most))
    x, z = (axis.ravel() for axis in np.meshgrid(np.linspace(0.0, capacity, points), claims))
    return Lies.of(stage, owner, len(x), claim=z, contribution=x)


def _annealed(stage: Stage, owner: int, rng: np.random.Generator) -> Lies:
    ends = [(0.0, _most(stage, owner)), (0.0, float(stage.capacities[owner]))]

    def loss(point: np.ndarray) -> float:
        return -float(utilities(stage, owner, Lies.of(stage, owner, claim=point[0], contribution=point[1]))[0])

    found = dual_annealing(loss, ends, rng=rng, maxiter=40, maxfun=1500)
    return Lies.of(stage, owner, claim=found.x[0], contribution=found.x[1])


def run(games: int, seed: int = 0, first: int = 0) -> Tally:
    """Look at so many games."""
    tally = Tally()
    for number in range(first, first + games):
        began = time.process_time()
        check_game(seed, number, tally, annealing=number % 10 == 0)
        tally.slow.append((time.process_time() - began, f"game {number}"))
    return tally


def main() -> int:
    """Print what was found; the exit code says whether any bound was beaten."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first game")
    options = parser.parse_args()
    began = time.process_time()
    tally = run(options.games, options.seed, options.first)
    for one in tally.beaten:
        print(f"--- beaten: {one}")
    for kind, count in sorted(tally.kinds.items()):
        print(f"{count:7d}  {kind}")
    for seconds, name in sorted(tally.slow, reverse=True)[:5]:
        print(f"{seconds:6.1f} s  {name}")
    spent = time.process_time() - began
    print(f"{len(tally.beaten)} bounds beaten in {options.games} games, {tally.kinds['proven']} proven, {spent:.0f} s")
    return 1 if tally.beaten else 0


if __name__ == "__main__":
    sys.exit(main())
