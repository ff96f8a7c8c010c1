"""Does a market of models include those who only buy or only sell, and shut out who attacks?

Twelve owners in the roles of iPFL 2025, Figure 5, train personalised models and trade them: traders, buyers whose own
model is not for sale, sellers that want no other, and an attacker that sells a random model for nothing.  Beside it
the same owners train alone, on the same data and with the same draws.  Pictures of who pays whom are those of the first
seed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Federation, Frames, OwnerProfile, run_script
from fedabm.checks import check_count
from fedabm.figures import (
    banded,
    counted,
    dress,
    money_picture,
    owner_sums,
    panels,
    role_colours,
    role_markers,
    shared_legend,
    spread_words,
)
from fedabm.market import INCLUSIVE_MARKET, ROLES, market_graph, market_owners, money_table, role_reports
from fedabm.mechanisms import LocalOnly
from fedabm.papers import Sizes, ipfl2025
from fedabm.strategies import Attacker, Honest
from fedabm.study import Study, generator


def run(
    study: Study, preset: Sizes = "quick", data: ipfl2025.Data = "auto", attack: str = "random_model", seeds: int = 3
) -> None:
    """Train in the market and alone; who pays whom, who earns, and whose model gets better.

    preset  size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
            sizes
    data    which data set (auto: the preset's own)
    attack  what the attacker sells in place of its model
    seeds   how often it is repeated with new draws

    Takes some minutes with preset=quick.
    """
    check_count("seeds", seeds)
    setting = _setting(ipfl2025.market_setting(preset, data, len(INCLUSIVE_MARKET), "cluster", rounds=20))
    markets = [_one_seed(study, setting, attack, seed) for seed in range(study.seed, study.seed + seeds)]
    market = markets[0]
    owners = _owners_table(study.frames, setting.length)
    words = f"{market.steps} rounds ({setting.data}, {counted(seeds)})"
    study.table(_summary(owners), f"Means by role after {words}; gain, money and utility over all rounds")
    study.table(owners, f"Owners after {words}; gain, money and utility over all rounds", "owners")
    _say(study, owners, market.steps)
    transfers = study.frames.transfers.query("run == 1")
    money = market_graph(money_table(transfers, len(INCLUSIVE_MARKET)), INCLUSIVE_MARKET)
    study.graph(money, "money")
    study.graph(market.links[-1].graph(INCLUSIVE_MARKET), "models")
    title = (
        f"Money for models in {market.steps} rounds ({setting.data}): arrows run from payer to payee, numbers are net"
    )
    study.picture(money_picture(money, title), "inclusive_market")
    study.picture(_figure(study.frames, f"{setting.data}: means by role; {spread_words(seeds, 'bands')}"), "rounds")


def _one_seed(study: Study, setting: ipfl2025.MarketSetting, attack: str, seed: int) -> Federation:
    """Alone, and then in the market, on the same data and draws."""
    owned = setting.federated(seed)
    owners, accuracy = _owners(setting, owned.capacities.astype(float), seed, attack), setting.accuracy(owned)
    study.simulate(setting.scenario(owners, accuracy, LocalOnly()), "alone", seed)
    return study.simulate(setting.scenario(owners, accuracy), "market", seed)


def _setting(setting: ipfl2025.MarketSetting) -> ipfl2025.MarketSetting:
    """The paper's Figure 5 has a step (eta) and local training of its own."""
    if setting.preset == "quick":
        return setting
    steps = 100 if setting.preset == "decisive" else 500
    return replace(setting, rule=replace(setting.rule, step=10.0), recipe=replace(setting.recipe, steps=steps))


def _owners(setting: ipfl2025.MarketSetting, sizes: np.ndarray, seed: int, attack: str) -> list[OwnerProfile]:
    """The paper's roles; the attacker trains first, then spoils what it sends."""
    rng = generator(seed, "population")
    truth = role_reports(INCLUSIVE_MARKET, sizes, setting.eagerness(sizes), setting.unit_cost, rng)
    attackers = {i: Attacker(Honest(), attack) for i, role in enumerate(INCLUSIVE_MARKET) if role == "attacker"}
    return market_owners(INCLUSIVE_MARKET, truth, attackers)


def _owners_table(frames: Frames, length: int | None) -> pd.DataFrame:
    """One row per seed and owner: the last round's accuracy beside that of training alone, and sums over all rounds."""
    known = owner_sums(frames, length)
    market, alone = (known[known["label"] == label].set_index(["seed", "owner"]) for label in ("market", "alone"))
    rounds = frames.owners.groupby("run")["step"].nunique()
    table = market[["role", "capacity", "accuracy"]].copy()
    table.insert(2, "alone", alone["accuracy"])
    table[["gain", "cost", "payment", "utility"]] = market[["gain", "cost", "payment", "utility"]]
    for name in ("imports", "exports"):
        table[f"{name} a round"] = market[name] / (length or market["run"].map(rounds))
    table["moved"] = market["moved"]
    return table.reset_index()


def _summary(owners: pd.DataFrame) -> pd.DataFrame:
    """Means over owners and seeds by role, and how far seeds differ in what owners gain over training alone."""
    better = owners.assign(points=100 * (owners["accuracy"] - owners["alone"]), role=owners["role"].astype(str))
    roles = better.groupby("role")
    table = roles[["accuracy", "alone", "points", "gain", "cost", "payment", "utility"]].mean()
    by_seed = better.groupby(["role", "seed"])["points"].mean()
    table.insert(3, "points s.d.", by_seed.groupby("role").std())
    table["least utility"] = roles["utility"].min()
    table[["imports a round", "exports a round"]] = roles[["imports a round", "exports a round"]].mean()
    table["moved"], table["seeds"] = owners["moved"].max(), owners["seed"].nunique()
    return table.reindex([role for role in ROLES if role in table.index]).reset_index()


def _say(study: Study, owners: pd.DataFrame, rounds: int) -> None:
    """What happened, in words."""
    table = study.tables["summary"].set_index("role")
    sold = study.frames.owners.query("role == 'attacker' and exports > 0")["step"]
    until = f"sold until round {sold.max()} of {rounds}" if len(sold) else f"sold nothing in {rounds} rounds"
    balance = float(study.frames.steps["server_balance"].abs().max())
    buyers, sellers = table.loc["buyer"], table.loc["seller"]
    study.note(f"A buyer paid {-buyers['payment']:.4g} and is {buyers['points']:+.2f} points better than alone (mean).")
    study.note(f"A seller earned {sellers['payment']:.4g}.  The attacker {until}.  The server's balance: {balance:g}.")


def _figure(frames: Frames, words: str) -> Figure:
    """Accuracy less that of training alone, and models sold, round by round and role by role, with bands over seeds."""
    figure, (left, right) = panels(2, width=4.2)
    both = frames.owners.merge(frames.runs[["run", "label", "seed"]], on="run").astype({"role": str})
    keys = ["seed", "step", "owner"]
    alone = both[both["label"] == "alone"].set_index(keys)["accuracy"]
    market = both[both["label"] == "market"].set_index(keys)
    market = market.assign(better=100 * (market["accuracy"] - alone)).reset_index()
    for role in ROLES:
        mine = market[market["role"] == role]
        look = {"color": role_colours([role])[0], "marker": role_markers([role])[0]}
        label = f"{role} (n = {mine['owner'].nunique()})"
        means = mine.groupby(["seed", "step"])[["better", "exports"]].mean().reset_index()
        banded(left, means, "better", label=label, **look)
        banded(right, means, "exports", **look)
    figure.suptitle(words, fontsize="medium")
    left.axhline(0.0, color="0.3", linewidth=0.8)
    dress(left, "better than alone", "round", "accuracy gained (points)")
    dress(right, "models sold", "round", "buyers of an owner (mean)")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
