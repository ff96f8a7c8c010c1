"""Does it pay to lie in a model market: about data, costs or wishes, alone, with a friend, or under two names?

One owner of the market misreports its size, its cost or its eagerness by a factor, up or down (iPFL 2025, Table 2, in
both directions); two collude; one enters twice.  Every run is compared with the honest one on the same data and draws.
Only that over-stating the cost does not pay is a theorem, and only for a round with given models (Theorem 2): over
rounds of training a lie changes the models, and can pay.  The decisive preset has the cells of the paper's table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import InputError, OwnerProfile, run_script
from fedabm.checks import check_count, check_positive
from fedabm.data import split_owner
from fedabm.figures import LINES, counted, dress, half_width, owner_sums, panels, spread_words, strategy_looks
from fedabm.market import Sybil
from fedabm.papers import Sizes, ipfl2025
from fedabm.strategies import Honest, Liar
from fedabm.study import Study

LIES = ("size", "cost", "eagerness")
#: ten owners of unlike data, where owners are not given
OWNERS = 10
SPLIT: ipfl2025.Split = "niid"
#: the factors of lies, by what they are about, where one owner lies
PRESETS: dict[Sizes, dict[str, tuple[float, ...]]] = {
    "quick": dict.fromkeys(LIES, (0.2, 0.5, 2.0, 5.0)),
    "decisive": {"size": (0.1, 0.5, 10.0), "cost": (2.0, 5.0, 10.0)},
    "paper": dict.fromkeys(LIES, (0.1, 0.5, 2.0, 5.0, 10.0)),
}


def run(
    study: Study,
    preset: Sizes = "quick",
    data: ipfl2025.Data = "auto",
    factors: tuple[float, ...] = (0.0,),
    liar: int = 0,
    friend: int = 1,
    rounds: int | None = None,
    seeds: int = 3,
) -> None:
    """The honest market, then every lie; `friend` lies along where two collude, which the decisive preset leaves out.

    A single factor of 0 stands for those of the preset.

    preset   size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
             sizes
    data     which data set (auto: the preset's own)
    factors  by what the liar multiplies size, cost or eagerness (a single 0: as the preset says)
    liar     number of the owner that lies, from 0
    friend   number of the owner that lies along, from 0
    rounds   how many rounds (none: the preset's)
    seeds    how often it is repeated with new draws

    Takes some minutes with preset=quick.
    """
    check_count("seeds", seeds)
    lies = PRESETS[preset] if factors == (0.0,) else dict.fromkeys(PRESETS[preset], factors)
    for some in lies.values():
        check_positive("factors", some)
    setting = ipfl2025.market_setting(preset, data, *ipfl2025.at_home(data, OWNERS, SPLIT)).lasting(rounds)
    if liar == friend or not {liar, friend} <= set(range(setting.owners)):
        raise InputError(f"liar {liar} and friend {friend} must be two of owners 0 .. {setting.owners - 1}; change one")
    for seed in range(study.seed, study.seed + seeds):
        _one_seed(study, setting, lies, liar, friend, seed)
    found = _changes(owner_sums(study.frames, setting.length), liar, friend)
    words = f"utility over all rounds of a liar (owner {liar}, or with {friend}), {counted(seeds)}"
    study.table(_summary(found), f"{setting.data}, {setting.split}: {words}")
    study.table(found, "The same by seed", "seeds", shown=False)
    _say(study, found)
    study.picture(_figure(found, setting, seeds), "market_liars")


def _one_seed(
    study: Study, setting: ipfl2025.MarketSetting, lies: dict[str, tuple[float, ...]], liar: int, friend: int, seed: int
) -> None:
    """All runs on the data of one seed."""
    owned = setting.federated(seed)
    people, accuracy = ipfl2025.honest_owners(setting, owned), setting.accuracy(owned)
    study.simulate(setting.scenario(people, accuracy), "honest, none, 1", seed)
    groups = {"alone": [liar]} | ({} if setting.preset == "decisive" else {"two together": [liar, friend]})
    for who, members in groups.items():
        for lie, factors in lies.items():
            for factor in factors:
                owners = _lying(people, members, lie, factor)
                study.simulate(setting.scenario(owners, accuracy), f"{who}, {lie}, {factor:g}", seed)
    if setting.preset == "decisive":
        return
    twice = Sybil(liar, accounts=2, share=0.5)
    divided = split_owner(owned, liar, twice.accounts)
    owners = twice.accounts_of(people)
    study.simulate(setting.scenario(owners, setting.accuracy(divided)), "twice, two names, 1", seed)


def _lying(people: list[OwnerProfile], members: list[int], lie: str, factor: float) -> list[OwnerProfile]:
    lying = Liar(Honest(), **{f"{lie}_factor": factor})
    return [replace(person, strategy=lying) if i in members else person for i, person in enumerate(people)]


def _changes(owners: pd.DataFrame, liar: int, friend: int) -> pd.DataFrame:
    """One row per run with a lie: what the liars have together, utility and mean accuracy, and what changes by it."""
    owners[["who", "lie", "factor"]] = owners["label"].str.split(", ", expand=True)
    owners["factor"] = owners["factor"].astype(float)
    runs = owners.groupby(["who", "lie", "factor", "seed"], sort=False)
    rows = []
    for (who, lie, factor, seed), run in runs:
        group = [liar, friend] if who == "two together" else [liar, liar + 1] if who == "twice" else [liar]
        honest = owners[(owners["who"] == "honest") & (owners["seed"] == seed)]
        truthful = honest[honest["owner"].isin(group if who != "twice" else [liar])]
        before, mine = truthful["utility"].sum(), run["owner"].isin(group)
        others = run[~mine]["utility"].sum() - (honest["utility"].sum() - before)
        utility, accuracy = run[mine]["utility"].sum(), run[mine]["accuracy"].mean()
        changes = (utility - before, others, 100 * (accuracy - truthful["accuracy"].mean()))
        rows.append((who, lie, factor, seed, before, utility, accuracy, *changes, run["moved"].max()))
    columns = ["who", "lie", "factor", "seed", "honest", "utility", "accuracy", "change", "others", "points", "moved"]
    return pd.DataFrame(rows, columns=columns).query("who != 'honest'")


def _summary(found: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, with the spread of the liars' change and in how many seeds the lie paid."""
    groups = found.groupby(["who", "lie", "factor"], sort=False)
    table = groups[["honest", "utility", "change"]].mean()
    table["s.d."] = groups["change"].std()
    table["best seed"] = groups["change"].max()
    table["paid in seeds"] = groups["change"].agg(lambda x: int((x > 1e-9).sum()))
    table["accuracy"], table["points"] = groups["accuracy"].mean(), groups["points"].mean()
    table["others' change"], table["moved"] = groups["others"].mean(), groups["moved"].max()
    return table.assign(seeds=groups.size()).reset_index()


def _say(study: Study, found: pd.DataFrame) -> None:
    """Where over-stating the cost pays, which the theorem excludes only for given models."""
    pays = found.query("who == 'alone' and lie == 'cost' and factor > 1 and change > 1e-9")
    cases = [f"seed {row.seed}, times {row.factor:g}: {row.change:+.3g}" for row in pays.itertuples()]
    count = f"{len(cases)} case{'' if len(cases) == 1 else 's'}"
    study.note(f"Over-stating the cost alone pays in {count}{': ' if cases else ''}{'; '.join(cases)}.")


def _figure(found: pd.DataFrame, setting: ipfl2025.MarketSetting, seeds: int) -> Figure:
    """Change of utility against the factor of the lie, one panel per lie; the dotted line is entering twice."""
    lies = [lie for lie in LIES if (found["lie"] == lie).any()]
    figure, axes = panels(len(lies), width=3.8, height=3.2)
    twice = found[found["who"] == "twice"]["change"].mean()
    companies = [who for who in ("alone", "two together") if (found["who"] == who).any()]
    looks = dict(zip(companies, strategy_looks(f"liar {who}" for who in companies).values(), strict=True))
    for panel, lie in zip(axes, lies, strict=True):
        for k, who in enumerate(companies):
            line = (
                found[(found["who"] == who) & (found["lie"] == lie)]
                .groupby("factor")["change"]
                .agg(["mean", half_width])
            )
            line.loc[1.0] = 0.0
            line = line.sort_index()
            look = looks[who]
            style = {"color": look.colour, "linestyle": LINES[k], "marker": look.marker, "label": who, "capsize": 2}
            panel.errorbar(line.index, line["mean"], yerr=line["half_width"], markersize=4, **style)
        if np.isfinite(twice):
            _margin(panel, twice)
        panel.axhline(0.0, color="0.3", linewidth=0.8)
        panel.set_xscale("log")
        ticks = np.unique([1.0, *found[found["lie"] == lie]["factor"]])
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        dress(panel, f"{lie} misreported", "reported / true", "change of liars' utility")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=3, frameon=False)
    words = f"against honesty on the same draws; {spread_words(seeds)}; above 0 the lie pays"
    figure.suptitle(f"{setting.data}, {setting.split}: {words}", fontsize="medium")
    return figure


def _margin(panel: Axes, twice: float) -> None:
    """What two accounts bring, as a line where there is room for it; it must not flatten what is shown."""
    low, high = panel.get_ylim()
    words = f"one owner, two accounts, no lie: {twice:+.3g}"
    panel.axhline(twice, color="0.35", linestyle=":", label=words)
    panel.set_ylim(low, high)


if __name__ == "__main__":
    run_script(__file__)
