"""Nobody gains more by a lie than the audit says is possible: random games and rules, users' own among them.

    python -m tests.audit.many_bounds --games 3000 [--seed 0] [--evaluations 20000] [--workers 2]
    python -m tests.audit.many_bounds --games 1000 --first 2000 --save part3.json
    python -m tests.audit.many_bounds --sum part1.json part2.json part3.json

Every game is looked at in ways that know nothing of the proof: random lies, a grid of claims with true contributions,
and for every tenth SciPy's dual annealing.  The best lie of each is settled as a server would.  A bound is beaten if
that gains more, by more than 1e-9 of the amounts involved.

The second column is a search that imports nothing from the audit (`global_search`), alone and of two owners together:
in how many games the audit finds at least 90% of what that finds.  Exit code 1 if any bound is beaten, or if that share
is below 95%.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import dual_annealing

from fedabm.auditing.deviations import LieLimits, Lies
from fedabm.auditing.evaluate import one_by_one, reads, utilities
from fedabm.auditing.groups import best_joint_lie
from fedabm.auditing.search import BestDeviation, SearchEffort, best_claim_alone, best_lie
from fedabm.auditing.stage import Stage
from fedabm.common.errors import InputError
from tests.audit.global_search import EVALUATIONS, Lying, best_joint, best_single
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
    #: what the audit found of what the global search did, alone and together, where that found anything
    shares: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: {"alone": [], "together": []})
    slow: list[tuple[float, str]] = field(default_factory=list)
    #: seeds and numbers of the games that were looked at
    games: list[tuple[int, int]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count the games of another one, too; none twice."""
        if both := set(self.games) & set(other.games):
            raise ValueError(f"{len(both)} games are in two parts, for instance game {min(both)[1]}; leave one out")
        self.kinds += other.kinds
        self.beaten += other.beaten
        self.slow += other.slow
        self.games += other.games
        for which, shares in other.shares.items():
            self.shares[which] += shares

    def save(self, path: Path) -> None:
        """As a file that `read` takes."""
        path.write_text(json.dumps(vars(self), default=float), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Tally:
        """What was saved."""
        facts = json.loads(path.read_text(encoding="utf-8"))
        pairs = {name: [(one, two) for one, two in facts[name]] for name in ("slow", "games")}
        shares = {which: [(share, words) for share, words in some] for which, some in facts["shares"].items()}
        return cls(Counter(facts["kinds"]), facts["beaten"], shares, **pairs)


def check_game(seed: int, number: int, tally: Tally, *, annealing: bool = False, evaluations: int = 0) -> None:
    """One game: look for a lie that gains more than its bound, and with `evaluations` for more than was found."""
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
    if evaluations:
        beside_search(stage, owner, found, what, tally, evaluations)


def beside_search(
    stage: Stage, owner: int, found: BestDeviation, what: str, tally: Tally, evaluations: int = EVALUATIONS
) -> None:
    """What the audit found beside what a global search does, of one owner and of it with the next one."""
    rng = np.random.default_rng([evaluations, owner, stage.owners])
    facts = stage.accuracy, stage.mechanism, stage.costs, stage.capacities, stage.profile
    honest = float(stage.honest.utility[owner])
    reach = _most(stage, owner) / float(stage.capacities[owner])
    most = best_single(Lying(*facts, reach=reach), owner, rng, evaluations) - honest
    scale = 1.0 + abs(honest)
    if most > found.bound + MARGIN * scale:
        tally.beaten.append(
            f"{what}: a global search gains {most:.9g}, at most {found.bound:.9g} is said to be possible"
        )
    _note(tally, "alone", found.gain, most, scale, what)
    if stage.owners < 2:
        return
    pair = sorted((owner, (owner + 1) % stage.owners))
    known = {} if reads(stage) else {owner: found}
    alone = [known.get(one) or best_lie(stage, one, LieLimits(), SearchEffort(questions=100)) for one in pair]
    joint = best_joint_lie(stage, pair, LieLimits(), SearchEffort(), alone)
    lying = Lying(*facts, sized="size" in reads(stage), costed=stage.mechanism.asks_cost)
    stand = float(stage.settled.utility[pair].sum())
    most = best_joint(lying, pair, rng, evaluations) - stand
    _note(tally, "together", joint.gain + joint.honest_gain, most, 1.0 + abs(stand), what)


def _note(tally: Tally, which: str, found: float, most: float, scale: float, what: str) -> None:
    """Keep the share of what there is that was found; where there is nothing, nothing is missed."""
    share = 1.0 if most <= MISSED * scale else found / most
    tally.shares[which].append((share, f"{which} {found:.6g} of {most:.6g}: {what}"))


def finding(stage: Stage, owner: int) -> BestDeviation:
    """What the audit says of the best lie; of the best claim alone where a rule reads more than that."""
    if reads(stage):
        return best_claim_alone(stage, owner, LieLimits())
    return best_lie(stage, owner, LieLimits(), SearchEffort(questions=100))


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


def run(games: int, seed: int = 0, first: int = 0, evaluations: int = 0, save: Path | None = None) -> Tally:
    """Look at this many games; what is known so far is saved after every tenth, if somewhere."""
    tally = Tally()
    for number in range(first, first + games):
        began = time.process_time()
        check_game(seed, number, tally, annealing=number % 10 == 0, evaluations=evaluations)
        tally.slow.append((time.process_time() - began, f"game {number}"))
        tally.games.append((seed, number))
        if save is not None and len(tally.games) % 10 == 0:
            tally.save(save)
    if save is not None:
        tally.save(save)
    return tally


def main() -> int:
    """Print what was found; the exit code says whether any bound was beaten."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first game")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS, help="of the global search; 0: without it")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--save", type=Path, help="where a part is written; by one worker")
    parser.add_argument("--sum", type=Path, nargs="+", help="parts that were saved: no game is looked at")
    options = parser.parse_args()
    return shown(_summed(options.sum) if options.sum else _by_workers(options))


def shown(tally: Tally) -> int:
    """Print what was found, and give the exit code."""
    for one in tally.beaten:
        print(f"--- beaten: {one}")
    for kind, count in sorted(tally.kinds.items()):
        print(f"{count:7d}  {kind}")
    for seconds, name in sorted(tally.slow, reverse=True)[:5]:
        print(f"{seconds:6.1f} s  {name}")
    spent = sum(seconds for seconds, _ in tally.slow)
    enough = [_shown(which, shares) for which, shares in tally.shares.items() if shares]
    found = f"{len(tally.beaten)} bounds beaten in {len(tally.games)} games, {tally.kinds['proven']} proven"
    print(f"{found}, {spent:.0f} s of computing")
    return 1 if tally.beaten or not all(enough) else 0


def _shown(which: str, shares: list[tuple[float, str]]) -> bool:
    """Print in how many games the audit found 90% of what the global search did, and where it missed most."""
    good = sum(share >= 0.9 for share, _ in shares) / len(shares)
    for share, words in sorted(shares)[:10]:
        if share < 0.9:
            print(f"    missed: {words}")
    print(f"{which}: at least 90% of what a global search finds in {100 * good:.1f}% of {len(shares)} games")
    return good >= 0.95


def _summed(paths: list[Path]) -> Tally:
    whole = Tally()
    for path in paths:
        whole.add(Tally.read(path))
    return whole


def _by_workers(options: argparse.Namespace) -> Tally:
    """The tallies of parts of the games, joined."""
    cuts = np.linspace(0, options.games, 4 * options.workers + 1 if options.workers > 1 else 2).astype(int)
    parts = [(int(b - a), options.seed, options.first + int(a), options.evaluations) for a, b in pairwise(cuts)]
    if options.workers == 1:
        return run(*parts[0], save=options.save)
    whole = Tally()
    with ProcessPoolExecutor(options.workers) as pool:
        for one in pool.map(run, *zip(*parts, strict=True)):
            whole.add(one)
    return whole


if __name__ == "__main__":
    sys.exit(main())
