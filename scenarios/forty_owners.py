"""What do forty owners, honest and not, make of four mechanisms?

A network is really trained on handwritten digits, round by round, by owners of all kinds: best responders, learners
that try what pays, free-riders, liars that claim more data than they give, and one attacker that turns its updates
around.  The same owners meet four rules: no payments, a subsidy to those who give more than the others (Doshi et al.
2025), sharing of costs (Murhekar et al. 2023) and Shapley shares (Murhekar et al. 2025).  Owners and rules go by
a public accuracy curve that the server has measured; what the model is then worth, training tells.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Frames, Game, Scenario, population, run_script
from fedabm.auditing import BestDeviation, LieLimits, SearchEffort, Stage, best_lies
from fedabm.checks import check_count
from fedabm.data import SizeSkew, from_partition, load_dataset
from fedabm.figures import Look, money_by_strategy, strategy_looks
from fedabm.learning import Engine, Learning, MeasuredCurve, Recipe, Trained
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, NoPayments, ShapleyShare
from fedabm.strategies import UCB, Attacker, BestResponse, FreeRider, Liar, RegretMatching, Strategy
from fedabm.study import Study, command_word, generator


def run(study: Study, owners: int = 40, rounds: int = 60, rate: float = 0.004, overstatement: float = 2.0) -> None:
    """Train under all four rules, and draw what happens.

    owners         number of owners
    rounds         rounds of training
    rate           the subsidy: money for each sample above the mean of the others
    overstatement  liars claim this many times what they give

    Takes about a minute.
    """
    check_count("owners", owners, 5)
    check_count("rounds", rounds)
    data = from_partition(load_dataset("digits"), SizeSkew(owners, sigma=0.5), seed=study.seed, test_share=0.2)
    engine = Engine("logistic", data)
    curve = _curve(study, Trained(engine, 10, Recipe(), seed=study.seed))
    costs = np.sort(generator(study.seed, "population").uniform(0.0005, 0.006, owners))
    people = population(costs, data.capacities, _strategies(owners, overstatement))
    base = Scenario(people, Learning(engine, Recipe(), announced=curve), steps=rounds)
    for label, rule in _rules(rate).items():
        study.simulate(replace(base, mechanism=rule), label)
    frames = study.frames
    study.table(_summary(frames, "utility"), "Mean utility in the last ten rounds", "utility")
    study.table(_summary(frames, "contribution"), "Data given in a round, mean of the last ten", "contribution")
    lies = {
        label: _best_lie(Game(curve, costs, data.capacities.astype(float), rule), overstatement)
        for label, rule in _rules(rate).items()
    }
    study.table(_lies(lies), "What the best lie of one owner brings, all others being truthful", "lies")
    study.picture(_figure(frames, lies), "forty_owners")
    study.note(_next_steps())


def _next_steps() -> str:
    """How to read the tables, and what to try next."""
    word = command_word()
    return (
        "at most: proven, no lie brings more; empty: found by search, nothing is proven.\n"
        "A rule works if free-riders have less than givers, and lies bring nothing.\n\n"
        "What next:\n"
        f"  {word} list                      all studies, with the question of each\n"
        f"  {word} init                      writes study.toml, a study of your own\n"
        f"  {word} run study.toml            runs it\n"
        f"  {word} league --quick            all rules against all kinds of lies"
    )


def _rules(rate: float) -> dict[str, Mechanism]:
    return {
        "no payments": NoPayments(),
        "subsidy": ContributionSubsidy(rate),
        "cost sharing": CostSharing(),
        "Shapley shares": ShapleyShare(),
    }


def _strategies(owners: int, overstatement: float) -> list[Strategy]:
    """Every kind at every cost: best responders, and between them all others in turn."""
    kinds: list[Strategy] = [
        BestResponse(),
        RegretMatching(),
        BestResponse(),
        FreeRider(),
        UCB(),
        BestResponse(),
        Liar(BestResponse(), contribution_factor=overstatement),
        FreeRider(),
    ]
    chosen = [kinds[place % len(kinds)] for place in range(owners)]
    chosen[owners // 2] = Attacker(BestResponse(), "sign_flip")
    return chosen


def _curve(study: Study, oracle: Trained) -> MeasuredCurve:
    """The public curve: what models trained on more and more of the data are worth, made concave."""
    total = int(oracle.engine.data.capacities.sum())
    measured = MeasuredCurve.measure(oracle, np.linspace(0, total, 9).round(), track=study.track)
    return MeasuredCurve(measured.totals, measured.accuracies, concave=True)


def _words(strategy: str) -> str:
    """A strategy in plain words."""
    words = {"best_response": "best response", "free_rider": "free-rider", "liar(best_response)": "liar"}
    words |= {"regret_matching": "learner (regret)", "ucb": "learner (UCB)"}
    return words.get(strategy, strategy.partition("_")[0])


def _late(frames: Frames) -> pd.DataFrame:
    """The owners' last ten rounds, with what their run is called."""
    rows = frames.owners[frames.owners["step"] > frames.owners["step"].max() - 10]
    return rows.assign(rule=rows["run"].map(frames.runs.set_index("run")["label"]))


def _summary(frames: Frames, column: str) -> pd.DataFrame:
    """One row per strategy, one column per rule."""
    late = _late(frames)
    late = late.assign(strategy=late["strategy"].astype(str).map(_words))
    table = late.pivot_table(index="strategy", columns="rule", values=column)[list(frames.runs["label"])]
    owners = late.drop_duplicates("owner")["strategy"].value_counts()
    table.insert(0, "owners", owners.loc[table.index])
    return table.sort_values("owners", ascending=False).reset_index()


def _best_lie(game: Game, overstatement: float) -> BestDeviation:
    """The best lie that an owner can tell in equilibrium, by the public curve; of many owners five are looked at."""
    return best_lies(Stage.of(game), LieLimits(claim=overstatement), SearchEffort(questions=60, owners=5))[0]


def _lies(lies: dict[str, BestDeviation]) -> pd.DataFrame:
    rows = [
        {
            "rule": label,
            "honest": one.honest,
            "lying": one.honest + one.gain,
            "at most": one.honest + one.bound if one.certified else np.nan,
            "how": _in_words(one),
        }
        for label, one in lies.items()
    ]
    return pd.DataFrame(rows)


def _figure(frames: Frames, lies: dict[str, BestDeviation]) -> Figure:
    """A column per rule: who gives, who gains, who pays whom, and what the best lie brings."""
    looks = strategy_looks(sorted(frames.owners["strategy"].astype(str).unique()))
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        figure = Figure(figsize=(12, 10), layout="constrained")
        rows = figure.subplots(4, len(frames.runs), sharey="row", gridspec_kw={"height_ratios": [1, 1, 1.05, 0.4]})
    owners = frames.owners.assign(share=frames.owners["contribution"] / frames.owners["capacity"])
    late = _late(frames)
    heaviest = _heaviest(late)
    for panels, run in zip(rows.T, frames.runs.itertuples(), strict=True):
        mine, last = owners[owners["run"] == run.run], late[late["run"] == run.run]
        panels[0].set_title(f"{run.label}\n", fontweight="bold", fontsize="x-large")
        panels[0].text(0.5, 1.03, _outcome(last), ha="center", transform=panels[0].transAxes)
        _lines(panels[0], mine, "share", looks)
        _lines(panels[1], mine, "utility", looks)
        panels[1].set_xlabel("round (means of ten)")
        money_by_strategy(last, heaviest, panels[2]).get_legend().remove()
        panels[2].set_title(_money(last), fontsize="medium")
        _lie(panels[3], lies[run.label], max(one.honest + one.gain for one in lies.values()))
    rows[0, 0].set_ylabel("share of its data\nthat an owner gives")
    rows[1, 0].set_ylabel("utility of an owner")
    rows[3, 0].set_yticks([0, 1], ["honest", "best lie"])
    rows[3, 0].invert_yaxis()
    for letter, panel in zip("abcd", rows[:, 0], strict=True):
        panel.text(-0.3, 1.04, letter, fontweight="bold", fontsize="x-large", transform=panel.transAxes)
    money = rows[2, 0]
    money.text(-0.25, 0.5, "who pays whom, and what\nan owner receives in a round", rotation=90, **_margin(money))
    figure.legend(*rows[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=6, frameon=False)
    return figure


def _margin(panel: Axes) -> dict[str, Any]:
    return {"ha": "center", "va": "center", "transform": panel.transAxes}


def _outcome(late: pd.DataFrame) -> str:
    """What the owners make of a rule together."""
    given = late["contribution"].sum() / late["capacity"].sum()
    return f"{given:.0%} of all data, accuracy {late['accuracy'].mean():.2f}"


def _heaviest(late: pd.DataFrame) -> float:
    """The most money that the owners of one strategy pay or receive in a round, under any rule."""
    sums = late.groupby(["run", late["strategy"].astype(str)])["payment"].sum()
    return float(sums.abs().max()) / late["step"].nunique()


def _money(late: pd.DataFrame) -> str:
    moved = float(late["payment"].clip(lower=0.0).sum()) / late["step"].nunique()
    return f"{moved:.2g} changes hands in a round" if moved else "no money"


def _lie(panel: Axes, found: BestDeviation, most: float) -> None:
    """What the owner with the best lie has if it is honest, and if it lies; one scale for all rules."""
    panel.barh([0, 1], [found.honest, found.honest + found.gain], color=["0.7", "#cc78bc"])
    panel.set_xlim(0.0, 1.05 * most)
    panel.set_title(textwrap.fill(_in_words(found), 42), fontsize="small")
    panel.set_xlabel("utility in equilibrium", fontsize="small")
    panel.grid(visible=False, axis="y")


def _in_words(found: BestDeviation) -> str:
    """A lie without whose it is."""
    return found.words.removeprefix(f"owner {found.owner} ") if found.gain > 1e-9 else "no lie pays"


def _lines(panel: Axes, owners: pd.DataFrame, column: str, looks: dict[str, Look]) -> None:
    """A line per strategy: the mean of its owners over the last ten rounds."""
    for name, look in looks.items():
        line = owners[owners["strategy"] == name].groupby("step")[column].mean().rolling(10, min_periods=1).mean()
        style = {"color": look.colour, "marker": look.marker, "markevery": 12, "markersize": 4}
        panel.plot(line.index, line, label=_words(name), **style)


if __name__ == "__main__":
    run_script(__file__)
