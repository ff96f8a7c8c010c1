"""Which behaviour survives under which mechanism?

Every strategy meets every mixture of all of them, under every mechanism, on the same owners and seeds.  What they earn
is an empirical game; what earns more spreads (replicator dynamics), also in small populations where chance decides who
is copied (fixation of mutants, alpha-rank).  Mixtures with a regret of zero are Nash equilibria.

By default small models really train on handwritten digits, so that attacks on updates do harm; what so much data is
worth is measured and announced before.  All data of an owner cost it half of all accuracy, so that it had rather use
the others'.  With `accuracy=power_law capacity=1` the same is played in closed form, where attacks change nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import comb

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import InputError, OwnerProfile, Scenario, population, run_script
from fedabm.accuracy import Oracle
from fedabm.checks import check_count, check_positive, check_range
from fedabm.data import IID, from_partition, load_dataset
from fedabm.figures import simplex_flow
from fedabm.learning import SGD, Engine, Learning, MeasuredCurve, Recipe, Trained
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
from fedabm.strategies import (
    Attacker,
    BestResponse,
    FixedShare,
    FreeRider,
    Honest,
    Liar,
    RegretMatching,
    Strategy,
)
from fedabm.study import Study, generator
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
#: one of each family: who gives nothing, a part or all, responds, lies about data and costs, attacks, or learns
STRATEGIES: tuple[Strategy, ...] = (
    FreeRider(),
    FixedShare(0.5),
    Honest(),
    BestResponse(),
    Liar(BestResponse(), contribution_factor=2.0, size_factor=2.0, cost_factor=2.0),
    Attacker(Honest(), "sign_flip"),
    RegretMatching(),
)

#: more mixtures take hours
_MOST = 2000
#: starts of the replicator dynamics, at most
_STARTS = 100
#: of more strategies only pairs are looked through for equilibria that nothing leads to
_FEW = 3
#: samples that owners judge models by, each
_TEST = 100
#: how owners train in a round
_RECIPE = Recipe(steps=10, batch=16, optimiser=SGD(0.05, momentum=0.9))


def run(
    study: Study,
    strategies: tuple[Strategy, ...] = STRATEGIES,
    mechanisms: tuple[Mechanism, ...] = MECHANISMS,
    accuracy: Oracle | None = None,
    owners: int = 3,
    cost: float = 0.5,
    spread: float = 0.1,
    capacity: float = 40.0,
    seeds: int = 3,
    steps: int = 8,
    population_size: int = 50,
) -> None:
    """Play all mixtures under all mechanisms, and say what survives.

    strategies       the strategies that meet
    mechanisms       the mechanisms under which they meet
    accuracy         what models are worth; without one they train on handwritten digits
    owners           number of owners in a federation
    cost             mean cost of all data of an owner
    spread           by which share of it costs differ between owners, up or down
    capacity         data that every owner has
    seeds            how many populations are drawn
    steps            steps of each run, where models train its rounds
    population_size  owners in the small population in which chance decides who is copied

    Takes minutes.
    """
    check_count("owners", owners, 2)
    check_count("seeds", seeds)
    check_count("steps", steps)
    check_count("population_size", population_size, owners, 1000)
    check_positive("cost", cost)
    check_positive("capacity", capacity)
    check_range("spread", spread, 0.0, 1.0)
    many = comb(owners + len(strategies) - 1, owners)
    if many > _MOST:
        what = f"{owners} owners and {len(strategies)} strategies have {many:,} mixtures, more than {_MOST:,}"
        raise InputError(f"{what}; take fewer owners or strategies")
    steps = study.steps or steps
    worth = training(study.seed, owners, capacity, steps) if accuracy is None else accuracy

    def draw(rng: np.random.Generator) -> tuple[OwnerProfile, ...]:
        return population(list(cost / capacity * rng.uniform(1.0 - spread, 1.0 + spread, owners)), capacity)

    people = draw(np.random.default_rng(study.seed))
    scenarios = {type(one).__name__: Scenario(people, worth, one, Sequential(), steps) for one in mechanisms}
    for name, scenario in scenarios.items():
        for strategy in strategies:
            alone = replace(scenario, owners=tuple(replace(one, strategy=strategy) for one in people))
            study.simulate(alone, f"{name}, all {strategy.label}")
    played = {}
    for name, scenario in scenarios.items():
        bare, track = replace(scenario, record=None), partial(study.track, label=name)
        played[name] = play(bare, strategies, seeds, draw=draw, first=study.seed, track=track)
    stable = {name: ends(one.game, _parts(len(strategies))) for name, one in played.items()}
    left = survivors(played, stable, population_size)
    study.table(left, "What survives", "survivors")
    study.table(stable_mixtures(played, stable), "Where mixtures end, and Nash equilibria", "mixtures")
    study.text(payoff_table(played).to_csv(index=False), "payoffs.csv")
    for name, found in stable.items():
        study.note(verdict(name, played[name], found, population_size))
    if len(strategies) == 3:
        study.picture(simplex_flow(flow_table(played), end_table(played, stable)), "simplex")
    study.picture(picture(left), "tournament")


def training(seed: int, owners: int, capacity: float, rounds: int) -> Learning:
    """Small models on handwritten digits, and what so much data of them is worth after all rounds, announced."""
    whole, samples = load_dataset("digits"), int(capacity)
    if samples < 1 or owners * (samples + _TEST) > len(whole):
        what = f"digits have {len(whole):,} samples, of which {owners} owners need {_TEST} each to judge models by"
        raise InputError(f"{what}; give a capacity of 1 to {len(whole) // owners - _TEST}, got {capacity:g}")
    chosen = generator(seed, "data").permutation(len(whole))[: owners * (samples + _TEST)]
    data = from_partition(whole.subset(chosen), IID(owners), seed, _TEST / (samples + _TEST), one_class="allow")
    engine = Engine("logistic", data)
    total = owners * samples
    points = np.unique(np.rint(total * np.array([0.0, 0.1, 0.2, 0.4, 0.7, 1.0])))
    curve = MeasuredCurve.measure(Trained(engine, rounds, _RECIPE, seed=seed), points, repeats=2, concave=True)
    return Learning(engine, _RECIPE, announced=curve)


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
        for mixture in symmetric_equilibria(game, most=None if len(game.strategies) <= _FEW else 2):
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
    leaders = [int(np.argmax(alpha_rank(game, size))) for game in tournament.games]
    first = max(leaders, key=leaders.count)
    agree = leaders.count(first)
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


def picture(left: pd.DataFrame) -> Figure:
    """Where mixtures end: the share of each strategy under each mechanism."""
    shares = left.pivot(index="mechanism", columns="strategy", values="replicator share")
    shares = shares.loc[left["mechanism"].unique(), left["strategy"].unique()]
    figure = Figure(figsize=(2.0 + 1.2 * shares.shape[1], 2.0 + 0.4 * len(shares)), layout="constrained")
    panel = figure.subplots()
    panel.imshow(shares, cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), share in np.ndenumerate(shares.to_numpy()):
        panel.text(column, row, f"{share:.0%}", ha="center", va="center", color="black" if share > 0.5 else "white")
    panel.set_xticks(range(shares.shape[1]), shares.columns, rotation=30, ha="right")
    panel.set_yticks(range(len(shares)), shares.index)
    panel.set_title("share of each strategy where mixtures end")
    return figure


def _parts(strategies: int) -> int:
    """Into how many parts edges of the simplex are divided for starts, so that there are not too many of them."""
    return max(parts for parts in range(1, 11) if parts == 1 or comb(parts + strategies - 1, parts) <= _STARTS)


def _alone(game: EmpiricalGame, strategy: int) -> float:
    return game.payoff(game.owners * np.eye(len(game.strategies), dtype=int)[strategy], strategy)


def _shares(game: EmpiricalGame, mixture: np.ndarray, prefix: str = "") -> dict[str, float]:
    return {f"{prefix}{name}": float(part) for name, part in zip(game.strategies, mixture, strict=True)}


if __name__ == "__main__":
    run_script(__file__)
