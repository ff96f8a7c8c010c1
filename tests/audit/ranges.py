"""Nobody gains more anywhere in a range of costs than its two ends prove: random games, ranges and points.

    python -m tests.audit.ranges --ranges 2000 --points 50 [--seed 0]

A game of the fuzzer under a rule that is covered gets a range around every owner's rate.  Points are rates at random,
and for every owner its two ends and points close to them.  At each the best other contribution is looked for on a grid
that closes in on its best points, by the curves of the offers at the costs of that point: no proof takes part.
Every 20th range is asked for lies as well, as a server settles them, at five points.

Exit code 1 if anybody gains more than was proven, or if a bound exceeds 1.05 times the largest gain found, by more than
1e-8 of the amounts involved.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field, replace

import numpy as np

from fedabm import Game
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.ranges import lies_in_ranges
from fedabm.auditing.stage import Stage
from fedabm.common.errors import InputError
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import Clarke, CostSharing
from fedabm.solving.ranges import CostRanges, gains_in_ranges, why_not
from tests.audit.many_bounds import best_of_searches
from tests.fuzz.games import draw_game

#: how much more than proven a point may bring, and how far above that ratio a bound may lie, of the amounts involved
MARGIN, LOOSE = 1e-9, 1e-8
#: how far a bound may exceed the largest gain found
RATIO = 1.05
#: points of a grid, and how often it closes in
_GRID, _TURNS = 200, 4


@dataclass
class Tally:
    """What came of all ranges."""

    ranges: int = 0
    owners: int = 0
    unproven: int = 0
    lies: int = 0
    beaten: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)


def draw_ranges(rng: np.random.Generator) -> tuple[Game, CostRanges, np.ndarray]:
    """A game under a covered rule with power costs, ranges around its rates, and a profile."""
    while True:
        try:
            game = draw_game(rng)
        except InputError:
            continue
        if rng.random() < 0.2:  # the rules that ask for costs, which the fuzzer seldom draws
            game = replace(game, mechanism=CostSharing(float(rng.uniform())) if rng.random() < 0.6 else Clarke())
        if game.costs.power and not why_not(game.mechanism) and game.owners <= (4 if game.mechanism.asks_cost else 8):
            break
    costs = game.costs.as_power().each(game.owners)
    low, high = (np.where(rng.random(game.owners) < 0.2, 1.0, factor) for factor in (
        rng.uniform(0.05, 1.0, game.owners), rng.uniform(1.0, 3.0, game.owners)))  # fmt: skip
    ranges = CostRanges(replace(costs, rate=costs.rate * low), replace(costs, rate=costs.rate * high))
    shares = np.where(rng.random(game.owners) < 0.3, rng.integers(0, 2, game.owners), rng.random(game.owners))
    return game, ranges, shares * game.capacities


def gains_found(game: Game, ranges: CostRanges, profile: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, float]:
    """The largest gain of each owner at any of the parts of the ranges, and the amounts involved.

    Offers of a rule that does not hear costs are the same at all points, and made once.
    """
    if not game.mechanism.asks_cost:
        return _searched(game, [ranges.at(part) for part in parts], profile)
    found = [_searched(replace(game, costs=ranges.at(part)), [ranges.at(part)], profile) for part in parts]
    return np.max([one[0] for one in found], axis=0), max(one[1] for one in found)


def _searched(game: Game, costs: list[PowerCost], profile: np.ndarray) -> tuple[np.ndarray, float]:
    """The best other contributions under these offers with each of these costs, on grids that close in."""
    offers, top, many = game.offers(profile), game.capacities[:, None], len(costs)
    standing = np.array([offers.benefit.value(profile) - one.value(profile) for one in costs]).T  # (owners, points)
    kinks = np.clip(np.where(np.isfinite(offers.kinks), offers.kinks, 0.0), 0.0, top)
    beside = [np.clip(kinks + shift * top, 0.0, top) for shift in (-1e-9, 0.0, 1e-9)]
    x = np.sort(np.hstack([np.linspace(0.0, 1.0, _GRID) * top, *beside]), axis=1)
    x = np.repeat(x[:, None], many, axis=1)  # (owners, points, places)
    best, scale = np.full(standing.shape, -np.inf), 1.0 + float(np.abs(standing).max())
    for turn in range(_TURNS):
        first = x[:, :1] if turn == 0 else x
        benefit = offers.benefit.value(first.reshape(len(x), -1)).reshape(first.shape)
        spent = np.stack([one.value(x[:, place]) for place, one in enumerate(costs)], axis=1)
        utility = np.where(np.isnan(benefit - spent), -np.inf, benefit - spent)
        scale = max(scale, float(np.max(np.abs(benefit), where=np.isfinite(benefit), initial=0.0)))
        place = np.argmax(utility, axis=2)[:, :, None]
        best = np.maximum(best, np.take_along_axis(utility, place, 2)[:, :, 0])
        ends = np.maximum(place - 1, 0), np.minimum(place + 1, x.shape[2] - 1)
        left, right = (np.take_along_axis(x, end, 2) for end in ends)
        x = left + (right - left) * np.linspace(0.0, 1.0, 17)
    return np.maximum(best - standing, 0.0).max(axis=1), scale


def parts_of(rng: np.random.Generator, owners: int, points: int) -> np.ndarray:
    """Parts of the ranges, (points, owners): both ends of all, ends at random, near ends, and anywhere."""
    parts = rng.random((points, owners))
    kind = rng.integers(0, 3, (points, owners))
    parts = np.where(kind == 0, rng.integers(0, 2, (points, owners)), parts)
    parts = np.where(
        kind == 1, np.abs(rng.integers(0, 2, (points, owners)) - 10.0 ** -rng.uniform(1, 9, parts.shape)), parts
    )
    parts[0], parts[1 % points] = 0.0, 1.0
    return parts


def check_range(seed: int, number: int, points: int, tally: Tally, *, lies: bool = False) -> None:
    """One game with ranges."""
    rng = np.random.default_rng([seed, number])
    game, ranges, profile = draw_ranges(rng)
    try:
        bound = gains_in_ranges(game, ranges, profile)
    except InputError:  # a promise that the game breaks
        tally.unproven += 1
        return
    proven = np.isfinite(bound)
    tally.ranges += 1
    tally.rules.add(type(game.mechanism).__name__)
    tally.unproven += int(np.sum(~proven))
    largest, amounts = gains_found(game, ranges, profile, parts_of(rng, game.owners, points))
    what = f"range {number}: {game.mechanism} on {game.accuracy}"
    for owner in np.flatnonzero(proven & (largest > bound + MARGIN * amounts)):
        tally.beaten.append(f"{what}: owner {owner} gains {largest[owner]:.9g}, at most {bound[owner]:.9g} was proven")
    # A certificate is tight to a percent of the largest gain of all owners, since that is the gap.
    tally.owners += int(proven.sum())
    if proven.all() and largest.max() > LOOSE * amounts:
        tally.ratios.append(float(bound.max() / largest.max()))
    if proven.all() and bound.max() > RATIO * largest.max() + LOOSE * amounts:
        tally.loose.append(f"{what}: at most {bound.max():.9g}, found {largest.max():.9g}")
    if lies:
        _check_lies(game, ranges, profile, rng, what, tally)


def _check_lies(
    game: Game, ranges: CostRanges, profile: np.ndarray, rng: np.random.Generator, what: str, tally: Tally
) -> None:
    bound = lies_in_ranges(Stage.of(game, profile=profile), ranges, LieLimits())
    if not np.isfinite(bound).all():
        return
    for part in parts_of(rng, game.owners, 5):
        stage = Stage.of(replace(game, costs=ranges.at(part)), profile=profile)
        owner = int(rng.integers(game.owners))
        gain, scale = best_of_searches(stage, owner, rng)
        gain += float(stage.honest.utility[owner] - stage.settled.utility[owner])
        tally.lies += 1
        if gain > bound[owner] + MARGIN * scale:
            tally.beaten.append(
                f"{what}: a lie of owner {owner} gains {gain:.9g}, at most {bound[owner]:.9g} was proven"
            )


def run(ranges: int, points: int, seed: int = 0, every: int = 20, first: int = 0) -> Tally:
    """Look at this many ranges; every so many-th is asked for lies as well."""
    tally = Tally()
    for number in range(first, first + ranges):
        check_range(seed, number, points, tally, lies=number % every == 0)
    return tally


def main() -> int:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranges", type=int, default=2000)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first range")
    options = parser.parse_args()
    began = time.perf_counter()
    tally = run(options.ranges, options.points, options.seed, first=options.first)
    for one in (*(f"--- beaten: {one}" for one in tally.beaten), *(f"--- loose: {one}" for one in tally.loose)):
        print(one)
    ratios = np.array(tally.ratios or [np.nan])
    print(f"rules: {', '.join(sorted(tally.rules))}")
    print(f"{tally.owners} owners proven, {tally.unproven} not (no shape promised, or a promise broken)")
    print(f"bound over largest gain found: median {np.median(ratios):.6f}, largest {ratios.max():.6f} of {len(ratios)}")
    print(
        f"{len(tally.beaten)} beaten and {len(tally.loose)} above {RATIO} in {tally.ranges} ranges x {options.points} "
        f"points and {tally.lies} points with lies, {time.perf_counter() - began:.0f} s"
    )
    return 1 if tally.beaten or tally.loose else 0


if __name__ == "__main__":
    sys.exit(main())
