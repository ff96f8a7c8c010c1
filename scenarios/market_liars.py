"""Does it pay to lie in a model market: about data, costs or wishes, alone, with a friend, or under two names?

One owner of the market misreports its size, its cost or its eagerness by a factor, up or down (iPFL 2025, Table 2, in
both directions); two collude; one enters twice.  Every run is compared with the honest one on the same data and draws.
Only that over-stating the cost does not pay is a theorem (Theorem 2, for a round with given models).  The paper's
preset has its ten owners of unlike data (NIID) and its factors; the quick one has nine owners in three clusters.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm.analysis.curves import COLOURS, LINES, dress, panels
from fedabm.analysis.market_runs import owner_sums
from fedabm.cli import run_script
from fedabm.common.errors import InputError, check_positive, check_whole
from fedabm.data.federated import split_owner
from fedabm.papers.ipfl2025.settings import Data, MarketSetting, Preset, Split, honest_owners, market_setting
from fedabm.simulation.lies import Sybil
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Honest, Liar
from fedabm.study.study import Study

LIES = ("size", "cost", "eagerness")
#: owners, their data, and the factors of lies
PRESETS: dict[Preset, tuple[int, Split, tuple[float, ...]]] = {
    "quick": (9, "cluster", (0.2, 0.5, 2.0, 5.0)),
    "paper": (10, "niid", (0.1, 0.5, 2.0, 5.0, 10.0)),
}


def run(
    study: Study,
    preset: Preset = "quick",
    data: Data = "auto",
    factors: tuple[float, ...] = (0.0,),
    liar: int = 0,
    friend: int = 1,
    seeds: int = 3,
) -> None:
    """The honest market, then every lie; `friend` lies along where two collude.

    A single factor of 0 stands for those of the preset.
    """
    check_whole("seeds", seeds)
    owners, split, usual = PRESETS[preset]
    factors = usual if factors == (0.0,) else factors
    check_positive("factors", factors)
    setting = market_setting(preset, data, owners, split)
    if liar == friend or not {liar, friend} <= set(range(setting.owners)):
        raise InputError(f"liar {liar} and friend {friend} must be two of owners 0 .. {setting.owners - 1}; change one")
    for seed in range(study.seed, study.seed + seeds):
        _one_seed(study, setting, factors, liar, friend, seed)
    found = _changes(owner_sums(study.frames), liar, friend)
    words = (
        f"{setting.data}: change of the liars' utility over all rounds, {seeds} seeds (liar {liar}, friend {friend})"
    )
    study.table(_summary(found), words)
    study.picture(_figure(found, setting, seeds), "market_liars")


def _one_seed(
    study: Study, setting: MarketSetting, factors: tuple[float, ...], liar: int, friend: int, seed: int
) -> None:
    """All runs on the data of one seed."""
    owned = setting.federated(seed)
    people, accuracy = honest_owners(setting, owned), setting.accuracy(owned)
    study.simulate(setting.scenario(people, accuracy), "honest, none, 1", seed)
    for who, members in (("alone", [liar]), ("two together", [liar, friend])):
        for lie in LIES:
            for factor in factors:
                owners = _lying(people, members, lie, factor)
                study.simulate(setting.scenario(owners, accuracy), f"{who}, {lie}, {factor:g}", seed)
    twice = Sybil(liar, accounts=2, share=0.5)
    divided = split_owner(owned, liar, twice.accounts)
    owners = twice.accounts_of(people)
    study.simulate(setting.scenario(owners, setting.accuracy(divided)), "twice, two names, 1", seed)


def _lying(people: list[OwnerProfile], members: list[int], lie: str, factor: float) -> list[OwnerProfile]:
    told = Liar(Honest(), **{f"{lie}_factor": factor})
    return [replace(person, strategy=told) if i in members else person for i, person in enumerate(people)]


def _changes(owners: pd.DataFrame, liar: int, friend: int) -> pd.DataFrame:
    """One row per run with a lie: change of what the liars have together and of what a bystander has."""
    owners[["who", "lie", "factor"]] = owners["label"].str.split(", ", expand=True)
    owners["factor"] = owners["factor"].astype(float)
    runs = owners.groupby(["who", "lie", "factor", "seed"], sort=False)
    rows = []
    for (who, lie, factor, seed), run in runs:
        group = [liar, friend] if who == "two together" else [liar, liar + 1] if who == "twice" else [liar]
        honest = owners[(owners["who"] == "honest") & (owners["seed"] == seed)]
        before = honest[honest["owner"].isin(group if who != "twice" else [liar])]["utility"].sum()
        mine = run["owner"].isin(group)
        others = run[~mine]["utility"].sum() - (honest["utility"].sum() - before)
        rows.append((who, lie, factor, seed, run[mine]["utility"].sum() - before, before, others))
    columns = ["who", "lie", "factor", "seed", "change", "honest", "others"]
    return pd.DataFrame(rows, columns=columns).query("who != 'honest'")


def _summary(found: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, with the spread of the liars' change and in how many seeds the lie paid."""
    groups = found.groupby(["who", "lie", "factor"], sort=False)
    table = pd.DataFrame({"honest": groups["honest"].mean(), "change": groups["change"].mean()})
    table["s.d."], table["paid in seeds"] = (
        groups["change"].std(),
        groups["change"].agg(lambda x: int((x > 1e-9).sum())),
    )
    return table.assign(**{"others' change": groups["others"].mean()}).reset_index()


def _figure(found: pd.DataFrame, setting: MarketSetting, seeds: int) -> Figure:
    """Change of utility against the factor of the lie, one panel per lie; the dotted line is entering twice."""
    figure, axes = panels(3, width=3.8, height=3.2)
    twice = found[found["who"] == "twice"]["change"].mean()
    for panel, lie in zip(axes, LIES, strict=True):
        for k, who in enumerate(("alone", "two together")):
            line = found[(found["who"] == who) & (found["lie"] == lie)].groupby("factor")["change"].agg(["mean", "std"])
            line.loc[1.0] = 0.0
            line = line.sort_index()
            style = {"color": COLOURS[k], "linestyle": LINES[k], "marker": "os"[k], "label": who, "capsize": 2}
            panel.errorbar(line.index, line["mean"], yerr=line["std"].fillna(0.0), markersize=4, **style)
        panel.axhline(twice, color=COLOURS[3], linestyle=":", label="one owner, two accounts (no lie)")
        panel.axhline(0.0, color="0.3", linewidth=0.8)
        panel.set_xscale("log")
        ticks = np.unique([1.0, *found["factor"]])
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        dress(panel, f"{lie} misreported", "reported / true", "change of liars' utility")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=3, frameon=False)
    words = (
        f"{setting.data}: against honesty on the same draws; bars: one s.d. over {seeds} seeds; above 0 the lie pays"
    )
    figure.suptitle(words, fontsize="medium")
    return figure


if __name__ == "__main__":
    run_script(__file__)
