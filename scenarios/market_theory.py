"""Who buys whose model, who earns, who is left alone, and which lies pay in a market without training?

Twelve owners in the roles of iPFL 2025, Figure 5, with made-up distances: three clusters of similar models, and an
attacker whose model is like nobody's.  The market is settled as corrected and as printed, and compared with the best
graph by exact search; then each owner lies about its size, cost or eagerness, one at a time.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedabm import InputError, run_script
from fedabm.checks import check_count, check_positive, check_range
from fedabm.figures import lie_lines, money_picture
from fedabm.games import Array
from fedabm.market import (
    INCLUSIVE_MARKET,
    best_graph,
    cluster_distances,
    eagerness_of,
    graph_measures,
    market_graph,
    misreport,
    objectives,
    owner_measures,
    prices,
    role_reports,
    social_welfare,
    unit_costs_of,
    utilities,
)
from fedabm.mechanisms import ModelMarket
from fedabm.study import Study, generator
from fedabm.views import Reports

_CLUSTERS = 3


def run(
    study: Study,
    rounds: int = 20,
    similarity_weight: float = 2.0,
    eagerness: float = 5e5,
    unit_cost: float = 1.0,
    within: float = 0.1,
    between: float = 0.9,
    factors: tuple[float, ...] = (0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0),
) -> None:
    """Settle the market, measure its graph, and let everyone lie in turn.

    rounds             rounds of trade
    similarity_weight  how much the market weighs that models are alike
    eagerness          how much an owner wants a better model, in money
    unit_cost          cost of a sample
    within             distance of models in the same cluster
    between            distance of models in different clusters
    factors            by what a liar multiplies size, cost or eagerness, each in turn

    Takes seconds.
    """
    check_count("rounds", rounds)
    check_range("within", within, 0.0, 2.0)
    check_range("between", between, 0.0, 2.0)
    check_positive("factors", factors)
    if not factors:
        raise InputError("factors need values, got an empty list; give at least one")
    rounds = study.steps or rounds
    rule = ModelMarket(similarity_weight)
    truth, distances = market(study.seed, eagerness, unit_cost, within, between)
    study.table(owners(rule, truth, distances, rounds), f"Owners after {rounds} rounds", "owners")
    study.table(graphs(rule, truth, distances), "Algorithm 2 and the best graph, one round", "graphs")
    found = lies(rule, truth, distances, rounds, factors)
    study.table(worst(found), f"Lies by one owner at a time, {rounds} rounds", "lies")
    _, paid = rule.clear(truth, distances)
    money = market_graph(rounds * paid, INCLUSIVE_MARKET)
    study.graph(money, "money")
    study.picture(
        money_picture(money, f"Money for models, {rounds} rounds: arrows run from payer to payee, numbers are net"),
        "market_theory",
    )
    study.picture(lie_lines(found), "lies")


def market(seed: int, eagerness: float, unit_cost: float, within: float, between: float) -> tuple[Reports, Array]:
    """Twelve owners of unequal sizes, and distances of three clusters; the attacker is far from everyone."""
    rng = generator(seed, "population")
    count = len(INCLUSIVE_MARKET)
    truth = role_reports(INCLUSIVE_MARKET, rng.uniform(2000.0, 8000.0, count), eagerness, unit_cost, rng)
    attackers = [i for i, role in enumerate(INCLUSIVE_MARKET) if role == "attacker"]
    groups = [i % _CLUSTERS for i in range(count)]
    return truth, cluster_distances(groups, within, between, attackers)


def owners(rule: ModelMarket, truth: Reports, distances: Array, rounds: int) -> pd.DataFrame:
    """What each owner has traded, earned and gained, with its place in the graph."""
    adjacency, paid = rule.clear(truth, distances)
    table = owner_measures(market_graph(rounds * paid, INCLUSIVE_MARKET))
    table.insert(2, "size", truth.size)
    return table.assign(utility=rounds * utilities(rule.gain, truth, adjacency, paid))


def graphs(rule: ModelMarket, truth: Reports, distances: Array) -> pd.DataFrame:
    """The corrected and the printed algorithm beside the best graph: objective (8), welfare and measures."""
    price = prices(truth, distances, rule.similarity_weight)
    printed = ModelMarket(rule.similarity_weight, printed=True)
    candidates = {
        "corrected": rule.clear(truth, distances)[0],
        "printed": printed.clear(truth, distances)[0],
        "best": best_graph(rule.gain, truth, price),
    }
    least = objectives(rule.gain, truth, candidates["best"], price).sum()
    rows = []
    for name, adjacency in candidates.items():
        phi = objectives(rule.gain, truth, adjacency, price).sum()
        welfare = social_welfare(rule.gain, truth, adjacency)
        measures = graph_measures(market_graph(adjacency.astype(float), INCLUSIVE_MARKET))
        rows.append({"graph": name, "objective": phi, "gap": phi - least, "welfare": welfare, **measures})
    return pd.DataFrame(rows).drop(columns="amount")


def lies(rule: ModelMarket, truth: Reports, distances: Array, rounds: int, factors: tuple[float, ...]) -> pd.DataFrame:
    """How each owner's utility changes if it alone misreports, for every kind of lie that can matter to it."""
    honest = utilities(rule.gain, truth, *rule.clear(truth, distances))
    rows = []
    for lie, possible in (("size", truth.size), ("cost", unit_costs_of(truth)), ("eagerness", eagerness_of(truth))):
        for owner in np.flatnonzero((possible > 0) & np.isfinite(possible)):
            for factor in factors:
                misstated = misreport(truth, [int(owner)], **{lie: factor})
                after = utilities(rule.gain, truth, *rule.clear(misstated, distances))
                change = rounds * (after - honest)[owner]
                rows.append((lie, int(owner), INCLUSIVE_MARKET[owner], factor, change))
    return pd.DataFrame(rows, columns=["lie", "owner", "role", "factor", "change"])


def worst(found: pd.DataFrame) -> pd.DataFrame:
    """Per lie and direction: how many of those who can tell it gain by some factor, and the most and least they get."""
    direction = np.select([found["factor"] < 1, found["factor"] > 1], ["under-stated", "over-stated"], "true")
    lying = found.assign(direction=direction)[direction != "true"]
    groups = lying.groupby(["lie", "direction"], sort=False)
    best = lying.groupby(["lie", "direction", "owner"], sort=False)["change"].max()
    gain = (best > 1e-9).groupby(level=[0, 1], sort=False).sum()
    table = pd.DataFrame({"owners": groups["owner"].nunique(), "gain by it": gain})
    table["best change"], table["worst change"] = groups["change"].max(), groups["change"].min()
    return table.reset_index()


if __name__ == "__main__":
    run_script(__file__)
