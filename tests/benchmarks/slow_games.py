"""Ten games that take long to solve, and whether a time limit of ten seconds is kept with each of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from fedabm.games.accuracy import Custom, GroupWeighted, PacBound, PowerLaw
from fedabm.mechanisms import BanzhafShare, PartialReciprocity, ProportionalShapley, ShapleyShare
from fedabm.solving.game import Game
from fedabm.solving.several import solve_all

__all__ = ["LIMIT", "MOST", "games", "keeps_limit"]

#: the limit, and the most that a game may take, in seconds
LIMIT, MOST = 10.0, 11.0


def s_shaped(profiles: np.ndarray) -> np.ndarray:
    """A user's accuracy: nothing is worth much before there is enough."""
    total = np.broadcast_to(profiles.sum(axis=-1, keepdims=True), profiles.shape)
    return total**2 / (200.0 + total**2)


def games() -> Iterator[tuple[str, Game]]:
    """By name; all of them take longer than the limit to prove, most of them much longer."""
    rng = np.random.default_rng(0)

    def costs(owners: int) -> np.ndarray:
        return rng.uniform(2e-4, 2e-3, owners)

    pac, own = PacBound(), Custom(s_shaped, monotone=True)
    groups = GroupWeighted(((1.0, 0.4), (0.2, 1.0)), rng.integers(0, 2, 40), scale=30.0)
    yield "PAC bound, 16 owners, Shapley", Game(pac, costs(16), 400.0, ShapleyShare())
    yield "PAC bound, 19 owners, Shapley", Game(pac, costs(19), 400.0, ShapleyShare())
    yield "PAC bound, 21 owners, Shapley", Game(pac, costs(21), 400.0, ShapleyShare())
    yield "PAC bound, 40 owners, sampled", Game(pac, costs(40), 300.0, ShapleyShare())
    yield "power law, 18 owners, half the share", Game(PowerLaw(30.0), costs(18), 400.0, PartialReciprocity(0.5))
    yield "PAC bound, 17 owners, Banzhaf", Game(pac, costs(17), 400.0, BanzhafShare())
    yield "PAC bound, 18 owners, by Shapley", Game(pac, costs(18), 400.0, ProportionalShapley(0.5))
    yield "groups that start late, 40 owners", Game(groups, costs(40), 300.0, ShapleyShare())
    few = GroupWeighted(((1.0, 0.4), (0.2, 1.0)), rng.integers(0, 2, 12), scale=30.0)
    yield "groups that start late, 12 owners", Game(few, costs(12), 300.0, ShapleyShare())
    yield "own accuracy, 12 owners, by Shapley", Game(own, costs(12), 40.0, ProportionalShapley(0.5))


def keeps_limit() -> bool:
    """Print a line for each game; whether all ended in time."""
    print(f"\n{f'games with a time limit of {LIMIT:g} s':<44}{'seconds':>12}{'verdict':>16}")
    slowest = 0.0
    for name, game in games():
        begin = time.perf_counter()
        verdict = solve_all(game, time_limit=LIMIT).answer.verdict
        seconds = time.perf_counter() - begin
        slowest = max(slowest, seconds)
        print(f"{name:<44}{seconds:>12.2f}{verdict:>16}", flush=True)
    print(f"{'met' if slowest <= MOST else 'MISSED':<8}the slowest ended after {slowest:.2f} s, at most {MOST:g} s")
    return slowest <= MOST
