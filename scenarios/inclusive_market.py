"""Does a market of models include those who only buy or only sell, and shut out who attacks?

Twelve owners in the roles of iPFL 2025, Figure 5, train personalised models and trade them: traders, buyers whose own
model is not for sale, sellers that want no other, and an attacker that sells a random model for nothing.  Beside it
the same owners train alone, on the same data and with the same draws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Frames
from fedabm.analysis.curves import dress, panels, shared_legend
from fedabm.analysis.figures import last_step
from fedabm.analysis.market import money_picture, role_colours, role_markers
from fedabm.cli import run_script
from fedabm.common.random import generator
from fedabm.mechanisms import Local
from fedabm.papers.ipfl2025.settings import Data, MarketSetting, Preset, market_setting
from fedabm.results.market_graphs import market_graph, money_table
from fedabm.simulation.roles import INCLUSIVE_MARKET, ROLES, market_owners, role_reports
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Attacker, Honest
from fedabm.study.study import Study


def run(study: Study, preset: Preset = "quick", data: Data = "auto", attack: str = "random_model") -> None:
    """Train in the market and alone; who pays whom, who earns, and whose model gets better."""
    setting = _setting(market_setting(preset, data, len(INCLUSIVE_MARKET), "cluster", rounds=20))
    owned = setting.federated(study.seed)
    owners, accuracy = _owners(setting, owned.capacities.astype(float), study.seed, attack), setting.accuracy(owned)
    study.simulate(setting.scenario(owners, accuracy, Local()), "alone")
    market = study.simulate(setting.scenario(owners, accuracy), "market")
    study.table(_summary(study.frames), f"Owners after {market.steps} rounds; gain, money and utility over all rounds")
    _say(study, market.steps)
    transfers = study.frames.transfers.query("run == 1")
    money = market_graph(money_table(transfers, len(owners)), INCLUSIVE_MARKET)
    study.graph(money, "money")
    study.graph(market.links[-1].graph(INCLUSIVE_MARKET), "models")
    title = (
        f"Money for models in {market.steps} rounds ({setting.data}): arrows run from payer to payee, numbers are net"
    )
    study.picture(money_picture(money, title), "inclusive_market")
    study.picture(_figure(study.frames), "rounds")


def _setting(setting: MarketSetting) -> MarketSetting:
    """The paper's Figure 5 has a step (eta) and local training of its own."""
    if setting.preset == "quick":
        return setting
    return replace(setting, recipe=replace(setting.recipe, steps=500), rule=replace(setting.rule, step=10.0))


def _owners(setting: MarketSetting, sizes: np.ndarray, seed: int, attack: str) -> list[OwnerProfile]:
    """The paper's roles; the attacker trains first, then spoils what it sends."""
    rng = generator(seed, "population")
    truth = role_reports(INCLUSIVE_MARKET, sizes, setting.eagerness(sizes), setting.unit_cost, rng)
    attackers = {i: Attacker(Honest(), attack) for i, role in enumerate(INCLUSIVE_MARKET) if role == "attacker"}
    return market_owners(INCLUSIVE_MARKET, truth, attackers)


def _summary(frames: Frames) -> pd.DataFrame:
    """One row per owner: the last round's accuracy beside that of training alone, and sums over all rounds."""
    market, last = frames.owners.query("run == 1"), last_step(frames.owners)
    sums = market.groupby("owner")[["gain", "cost", "payment", "utility"]].sum()
    table = last[last["run"] == 1][["owner", "role", "capacity", "accuracy"]].reset_index(drop=True)
    table.insert(3, "alone", last[last["run"] == 0]["accuracy"].to_numpy())
    for name in sums:
        table[name] = sums[name].to_numpy()
    traded = market.groupby("owner")[["imports", "exports"]].mean()
    return table.assign(**{f"{name} a round": traded[name].to_numpy() for name in traded})


def _say(study: Study, rounds: int) -> None:
    """What happened, in words."""
    table = study.tables["summary"]
    buyers, sellers = table[table["role"] == "buyer"], table[table["role"] == "seller"]
    won = float((buyers["accuracy"] - buyers["alone"]).mean())
    sold = study.frames.owners.query("run == 1 and role == 'attacker' and exports > 0")["step"]
    until = f"sold until round {sold.max()} of {rounds}" if len(sold) else f"sold nothing in {rounds} rounds"
    balance = float(study.frames.steps["server_balance"].iloc[-1])
    study.note(f"Buyers paid {-buyers['payment'].sum():.4g} and are {100 * won:+.2f} points better than alone (mean).")
    study.note(
        f"Sellers earned {sellers['payment'].sum():.4g}.  The attacker {until}.  The server's balance: {balance:g}."
    )


def _figure(frames: Frames) -> Figure:
    """Accuracy less that of training alone, and models sold, round by round and role by role."""
    figure, (left, right) = panels(2, width=4.2)
    both = frames.owners.assign(role=frames.owners["role"].astype(str))
    alone, market = both[both["run"] == 0], both[both["run"] == 1].copy()
    market["better"] = 100 * (market["accuracy"].to_numpy() - alone["accuracy"].to_numpy())
    for role in ROLES:
        mine = market[market["role"] == role].groupby("step")
        n = int(market[market["role"] == role]["owner"].nunique())
        style = {"color": role_colours([role])[0], "marker": role_markers([role])[0], "label": f"{role} (n = {n})"}
        left.plot(mine["better"].mean(), markersize=4, **style)
        right.plot(mine["exports"].mean(), markersize=4, **style)
    left.axhline(0.0, color="0.3", linewidth=0.8)
    dress(left, "better than alone", "round", "accuracy gained (points)")
    dress(right, "models sold", "round", "buyers of an owner (mean)")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
