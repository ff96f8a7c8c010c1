"""What do forty owners, honest and not, make of four mechanisms?

A network is really trained on handwritten digits, round by round, by owners of all kinds: best responders, learners
that try what pays, free-riders, liars that claim more data than they give, and one attacker that turns its updates
around.  The same owners meet four rules: no payments, a subsidy to those who give more than the others (Doshi et al.
2025), sharing of costs (Murhekar et al. 2023) and Shapley shares (Murhekar et al. 2025).  Owners and rules reckon with
a public accuracy curve that the server has measured; what the model is then worth, training tells.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Frames, Game, Scenario, population
from fedabm.analysis.figures import strategy_looks
from fedabm.analysis.looks import Look
from fedabm.audit.deviations import Limits
from fedabm.audit.search import Effort, Finding, best_lies
from fedabm.audit.stage import Stage
from fedabm.cli import run_script
from fedabm.common.errors import check_count
from fedabm.common.random import generator
from fedabm.data.datasets import load
from fedabm.data.federated import from_partition
from fedabm.data.partitions import SizeSkew
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Curve, Learning, Trained
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, NoPayments, ShapleyShare
from fedabm.strategies import UCB, Attacker, BestResponse, FreeRider, Liar, RegretMatching, Strategy
from fedabm.study.study import Study


def run(study: Study, owners: int = 40, rounds: int = 60, rate: float = 0.004, overstatement: float = 2.0) -> None:
    """Train under all four rules, and draw what happens.

    owners         number of owners
    rounds         rounds of training
    rate           the subsidy: money for each sample above the mean of the others
    overstatement  liars claim so many times what they give

    Takes about a minute.
    """
    check_count("owners", owners, 5)
    check_count("rounds", rounds)
    data = from_partition(load("digits"), SizeSkew(owners, sigma=0.5), seed=study.seed, test_share=0.2)
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
    study.table(_lies(lies), "The best lie against each rule, if all others are truthful", "lies")
    study.picture(_figure(frames, lies), "forty_owners")
    study.note(
        "A rule works if free-riders have less than those who give, and liars no more than their truthful neighbours.\n"
        "Next: fedabm list (all studies), fedabm init (one of your own), fedabm audit (what is the best lie?)."
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


def _curve(study: Study, oracle: Trained) -> Curve:
    """The public curve: what models trained on more and more of the data are worth, made concave."""
    total = int(oracle.engine.data.capacities.sum())
    measured = Curve.measure(oracle, np.linspace(0, total, 9).round(), track=study.track)
    return Curve(measured.totals, measured.accuracies, concave=True)


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


def _best_lie(game: Game, overstatement: float) -> Finding:
    """The best lie that an owner can tell in equilibrium, by the public curve; of many owners five are looked at."""
    return best_lies(Stage.of(game), Limits(claim=overstatement), Effort(questions=60, owners=5))[0]


def _lies(lies: dict[str, Finding]) -> pd.DataFrame:
    rows = [
        {
            "rule": label,
            "honest": one.honest,
            "lying": one.honest + one.gain,
            "at most": one.honest + one.bound if one.certified else np.nan,
            "how": one.words,
        }
        for label, one in lies.items()
    ]
    return pd.DataFrame(rows)


def _figure(frames: Frames, lies: dict[str, Finding]) -> Figure:
    """A column per rule: who gives, who gains, who is paid, and what the best lie brings."""
    looks = strategy_looks(sorted(frames.owners["strategy"].astype(str).unique()))
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        figure = Figure(figsize=(12, 9.2), layout="constrained")
        rows = figure.subplots(4, len(frames.runs), sharey="row", gridspec_kw={"height_ratios": [1, 1, 1, 0.45]})
    owners = frames.owners.assign(share=frames.owners["contribution"] / frames.owners["capacity"])
    late = _late(frames)
    for panels, run in zip(rows.T, frames.runs.itertuples(), strict=True):
        mine = owners[owners["run"] == run.run]
        _lines(panels[0], mine, "share", looks)
        _lines(panels[1], mine, "utility", looks)
        _payments(panels[2], late[late["run"] == run.run], looks)
        _lie(panels[3], lies[run.label])
        panels[0].set_title(run.label, fontweight="bold")
        panels[1].set_xlabel("round")
        panels[2].set_xlabel("payment to an owner in a round\n(below 0: it pays)")
    rows[0, 0].set_ylabel("share of its data\nthat an owner gives")
    rows[1, 0].set_ylabel("utility of an owner\n(mean of ten rounds)")
    figure.legend(*rows[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=6, frameon=False)
    return figure


def _lie(panel: Axes, found: Finding) -> None:
    """What the owner with the best lie has if it is honest, and if it lies."""
    panel.barh(["honest", "best lie"], [found.honest, found.honest + found.gain], color=["0.7", "#cc78bc"])
    lie = found.words.split(maxsplit=2)[2] if found.gain > 1e-9 else "no lie pays"
    panel.set_xlabel(textwrap.fill(f"utility in equilibrium; {lie}", 38), fontsize="small")
    panel.grid(visible=False, axis="y")
    panel.invert_yaxis()


def _lines(panel: Axes, owners: pd.DataFrame, column: str, looks: dict[str, Look]) -> None:
    """A line per strategy: the mean of its owners over the last ten rounds."""
    for name, look in looks.items():
        line = owners[owners["strategy"] == name].groupby("step")[column].mean().rolling(10, min_periods=1).mean()
        style = {"color": look.colour, "marker": look.marker, "markevery": 12, "markersize": 4}
        panel.plot(line.index, line, label=_words(name), **style)


def _payments(panel: Axes, late: pd.DataFrame, looks: dict[str, Look]) -> None:
    """A bar per strategy: what its owners are paid."""
    means = late.groupby(late["strategy"].astype(str))["payment"].mean()
    panel.barh([_words(name) for name in looks], means.loc[list(looks)], color=[look.colour for look in looks.values()])
    panel.axvline(0.0, color="0.3", linewidth=0.8)
    panel.grid(visible=False, axis="y")
    panel.invert_yaxis()
    panel.set_xlim(*np.array([-1.08, 1.08]) * max(float(means.abs().max()), 0.02))


if __name__ == "__main__":
    run_script(__file__)
