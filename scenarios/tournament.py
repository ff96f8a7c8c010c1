"""Which behaviour survives under which mechanism?

Every strategy meets every mixture of all of them, under every mechanism, on the same owners and seeds.  What they earn
is an empirical game; what earns more spreads (replicator dynamics), also in small populations where chance decides who
is copied (fixation of mutants, alpha-rank).  Mixtures with a regret of zero are Nash equilibria.

By default data cost more than they are worth to their owner alone and less than to all: without payments free-riders
take over, with Shapley shares contributors do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from fedabm import Federation, OwnerProfile, Scenario, population, run_script
from fedabm.accuracy import Accuracy, PowerLaw
from fedabm.checks import check_count, check_positive, check_range
from fedabm.figures import simplex_flow
from fedabm.mechanisms import (
    Clarke,
    ContributionSubsidy,
    CostSharing,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ProportionalValue,
    ShapleyShare,
    TullockContest,
    ValueShaping,
)
from fedabm.simulation import Sequential
from fedabm.strategies import FixedShare, FreeRider, Honest, Strategy
from fedabm.study import Study
from fedabm.tournament import (
    EmpiricalGame,
    End,
    Tournament,
    alpha_rank,
    ends,
    fixation,
    mixtures,
    play,
    symmetric_equilibria,
    velocity,
)

MECHANISMS: tuple[Mechanism, ...] = (
    NoPayments(),
    ShapleyShare(),
    ContributionSubsidy(0.5),
    CostSharing(),
    PartialReciprocity(0.5),
    TullockContest(1.0),
    LeaveOneOut(),
    Clarke(),
    ProportionalData(1.0),
    ProportionalValue(1.0),
    ValueShaping(),
)
STRATEGIES: tuple[Strategy, ...] = (FreeRider(), FixedShare(0.5), Honest())

#: federations of more owners have too many mixtures of strategies
_LARGEST = 30


def run(
    study: Study,
    strategies: tuple[Strategy, ...] = STRATEGIES,
    mechanisms: tuple[Mechanism, ...] = MECHANISMS,
    accuracy: Accuracy = PowerLaw(),  # noqa: B008
    owners: int = 4,
    cost: float = 0.75,
    spread: float = 0.1,
    capacity: float = 1.0,
    seeds: int = 3,
    steps: int = 20,
    population_size: int = 50,
) -> None:
    """Play all mixtures under all mechanisms, and say what survives.

    strategies       the strategies that meet
    mechanisms       the mechanisms under which they meet
    accuracy         what models are worth
    owners           number of owners in a federation
    cost             mean cost of a unit of data
    spread           by which share of it costs differ between owners, up or down
    capacity         data that every owner has
    seeds            how many populations are drawn
    steps            steps of each run
    population_size  owners in the small population in which chance decides who is copied

    Takes seconds.
    """
    check_count("owners", owners, 2, _LARGEST)
    check_count("seeds", seeds)
    check_count("steps", steps)
    check_count("population_size", population_size, owners, 1000)
    check_positive("cost", cost)
    check_range("spread", spread, 0.0, 1.0)

    def draw(rng: np.random.Generator) -> tuple[OwnerProfile, ...]:
        return population(list(cost * rng.uniform(1.0 - spread, 1.0 + spread, owners)), capacity)

    people = draw(np.random.default_rng(study.seed))
    played = {}
    for mechanism in mechanisms:
        scenario = Scenario(people, accuracy, mechanism, Sequential(), study.steps or steps, record=None)
        name = type(mechanism).__name__
        track = partial(study.track, label=name)
        played[name] = play(scenario, strategies, seeds, draw=draw, first=study.seed, track=track)
        for strategy in strategies:
            alone = replace(scenario, owners=tuple(replace(one, strategy=strategy) for one in people))
            study.add(Federation(alone, study.seed).run().frames(f"{name}, all {strategy.label}", study.parameters))
    stable = {name: ends(one.game) for name, one in played.items()}
    study.table(survivors(played, stable, population_size), "What survives", "survivors")
    study.table(stable_mixtures(played, stable), "Where mixtures end, and Nash equilibria", "mixtures")
    study.text(payoff_table(played).to_csv(index=False), "payoffs.csv")
    for name, found in stable.items():
        study.note(verdict(name, played[name], found, population_size))
    if len(strategies) == 3:
        study.picture(simplex_flow(flow_table(played), end_table(played, stable)), "simplex")


def survivors(played: dict[str, Tournament], stable: dict[str, list[End]], size: int) -> pd.DataFrame:
    """One row per mechanism and strategy: its share where mixtures end, in alpha-rank, and whom it can invade."""
    rows = []
    for mechanism, tournament in played.items():
        game = tournament.game
        share = sum(end.basin * end.mixture for end in stable[mechanism])
        rank, takes = alpha_rank(game, size), fixation(game, size)
        for k, strategy in enumerate(game.strategies):
            invaded = [game.strategies[r] for r in range(len(takes)) if r != k and takes[r, k] > 1.0 / size]
            row = {"mechanism": mechanism, "strategy": strategy, "earns among its like": _alone(game, k)}
            row |= {"replicator share": share[k], "alpha-rank": rank[k], "invades": ", ".join(invaded) or "nobody"}
            rows.append(row)
    return pd.DataFrame(rows)


def stable_mixtures(played: dict[str, Tournament], stable: dict[str, list[End]]) -> pd.DataFrame:
    """Ends of the replicator dynamics with their basins, and symmetric equilibria that nothing leads to."""
    rows = []
    for mechanism, tournament in played.items():
        game, found = tournament.game, stable[mechanism]
        rows += [
            {"mechanism": mechanism, **_shares(game, end.mixture), "basin": end.basin, "regret": end.regret}
            for end in found
        ]
        for mixture in symmetric_equilibria(game):
            if all(np.max(np.abs(mixture - end.mixture)) > 0.02 for end in found):
                regret = float(game.regret(mixture))
                rows.append({"mechanism": mechanism, **_shares(game, mixture), "basin": 0.0, "regret": regret})
    return pd.DataFrame(rows)


def payoff_table(played: dict[str, Tournament]) -> pd.DataFrame:
    """One row per mechanism and mixture."""
    rows = []
    for mechanism, tournament in played.items():
        counts = mixtures(tournament.owners, len(tournament.strategies))
        for row, earned in zip(counts, tournament.game.payoffs, strict=True):
            many = {f"{name}s": int(count) for name, count in zip(tournament.strategies, row, strict=True)}
            paid = {f"earns {name}": value for name, value in zip(tournament.strategies, earned, strict=True)}
            rows.append({"mechanism": mechanism, **many, **paid})
    return pd.DataFrame(rows)


def verdict(mechanism: str, tournament: Tournament, found: list[End], size: int) -> str:
    """What survives, in a line, and in how many of the seeds alone."""
    names, share = tournament.strategies, sum(end.basin * end.mixture for end in found)
    alive = [f"{name} ({part:.0%})" for name, part in zip(names, share, strict=True) if part > 0.01]
    first = int(np.argmax(share))
    agree = sum(int(np.argmax(alpha_rank(game, size))) == first for game in tournament.games)
    seeds = f"{agree} of {len(tournament.games)} seeds"
    return f"Under {mechanism} what is left is {', '.join(alive)}; {names[first]} leads alpha-rank in {seeds}"


def flow_table(played: dict[str, Tournament], parts: int = 14) -> pd.DataFrame:
    """Points of the simplex and how mixtures move there, for the picture."""
    parts_of = []
    for mechanism, tournament in played.items():
        names = tournament.strategies
        points = (mixtures(parts, len(names)) + 0.15) / (parts + 0.15 * len(names))
        moves = velocity(tournament.game, points) / tournament.game.scale
        shares = pd.DataFrame(points, columns=[f"share {name}" for name in names])
        flows = pd.DataFrame(moves, columns=[f"flow {name}" for name in names])
        parts_of.append(pd.concat([shares, flows], axis=1).assign(mechanism=mechanism))
    return pd.concat(parts_of, ignore_index=True)


def end_table(played: dict[str, Tournament], stable: dict[str, list[End]]) -> pd.DataFrame:
    """Where mixtures end, for the picture."""
    return pd.DataFrame(
        {"mechanism": mechanism, **_shares(tournament.game, end.mixture, "share "), "basin": end.basin}
        for mechanism, tournament in played.items()
        for end in stable[mechanism]
    )


def _alone(game: EmpiricalGame, strategy: int) -> float:
    return game.payoff(game.owners * np.eye(len(game.strategies), dtype=int)[strategy], strategy)


def _shares(game: EmpiricalGame, mixture: np.ndarray, prefix: str = "") -> dict[str, float]:
    return {f"{prefix}{name}": float(part) for name, part in zip(game.strategies, mixture, strict=True)}


if __name__ == "__main__":
    run_script(__file__)
