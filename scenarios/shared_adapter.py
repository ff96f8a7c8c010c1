"""What do Shapley shares, a subsidy and value shaping do to owners of texts who share one adapter?

One frozen language model, and one adapter for all: owners decide how many of their texts to train on, the server
averages what they send.  Six owners of three finance sets learn to name the mood of a sentence, as in
`language_market`.  First the server measures a public accuracy curve at intervals of texts (Murhekar et al. 2023,
Section 5.1); then owners respond to it and to their private costs, under each mechanism.

The sets are not alike: most of TFNS is neutral, most of FIQA and NWGI positive.  An adapter that gives one answer to
everything is right for two sets and wrong for the third, so that accuracies are shown by set, beside those of the
commonest answer in the owners' own texts.

The base is a real pretrained model: `fedabm data get minilm`; needs the extra llm.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Frames, Scenario, population, run_script
from fedabm.checks import check_count, check_positive
from fedabm.data import Task
from fedabm.figures import dress, last_step, mechanism_looks, panels, shared_legend
from fedabm.learning import Engine, Learning, MeasuredCurve, Trained, majority
from fedabm.mechanisms import ContributionSubsidy, Mechanism, NoPayments, ShapleyShare, ValueShaping
from fedabm.papers import ipfl2025
from fedabm.simulation import Sequential
from fedabm.study import Study, generator, measured_curve

#: one adapter is trained for every point of the public curve
_MOST_POINTS = 20
#: columns that are drawn owner by owner, with title and axis
_SHOWN = (
    ("contribution", "texts used", "texts"),
    ("payment", "payments", "payment"),
    ("accuracy", "model received", "accuracy on own tests"),
)


def run(
    study: Study,
    rounds: int = 5,
    interval: int = 90,
    tests: int = 50,
    highest_cost: float = 0.002,
    subsidy: float = 0.0005,
) -> None:
    """Measure the curve, train the adapter under each mechanism, and compare.

    rounds        rounds of training
    interval      texts between two points of the public accuracy curve
    tests         on how many texts the owners of a set are judged
    highest_cost  cost of a text for the dearest owner; the others have a tenth of it or more
    subsidy       what an owner is paid for every text above the mean of the others

    Takes some four minutes of one core, after `fedabm data get minilm`; most of it for models that are made worse.
    """
    check_count("rounds", rounds)
    check_count("tests", tests)
    check_positive("highest_cost", highest_cost)
    check_positive("subsidy", subsidy, zero=True)
    setting = replace(ipfl2025.language_setting("quick", "finance"), tests=tests)
    schedule = setting.recipe.schedule and replace(setting.recipe.schedule, rounds=rounds)
    recipe = replace(setting.recipe, schedule=schedule)
    data = setting.federated(study.seed)
    engine = Engine(setting.network(), data)
    curve = measured_curve(study, Trained(engine, rounds, recipe, seed=study.seed), interval, _MOST_POINTS)
    costs = generator(study.seed, "population").uniform(0.1, 1.0, data.owners) * highest_cost
    base = Scenario(
        population(costs, data.capacities, names=data.names),
        Learning(engine, recipe, announced=curve, seed=study.seed),
        activation=Sequential(),
        steps=rounds,
    )
    rules: dict[str, Mechanism] = {
        "no payments": NoPayments(),
        "Shapley shares": ShapleyShare(),
        "subsidy": ContributionSubsidy(subsidy),
        "value shaping": ValueShaping(),
    }
    for label, rule in rules.items():
        study.simulate(replace(base, mechanism=rule), label)
    tasks = setting.tasks(study.seed)
    study.table(_summary(study.frames), "Last round: texts of all owners, money that moved, and means over owners")
    study.table(_by_set(study.frames, tasks), "Last round: accuracies by set", "sets")
    study.picture(_figure(study.frames, curve, np.argsort(costs)), "shared_adapter")


def _summary(frames: Frames) -> pd.DataFrame:
    """One row per mechanism."""
    final = last_step(frames.owners).groupby("run")
    table = frames.runs[["label"]].copy()
    table["texts"] = final["contribution"].sum().to_numpy()
    table["moved"] = final["payment"].agg(lambda paid: paid.clip(lower=0.0).sum()).to_numpy()
    for column in ("accuracy", "cost", "utility"):
        table[column] = final[column].mean().to_numpy()
    table["least utility"] = final["utility"].min().to_numpy()
    return table


def _by_set(frames: Frames, tasks: list[Task]) -> pd.DataFrame:
    """What every mechanism's owners of a set have, and what they would have by always giving their commonest answer."""
    sets = [task.name for task in tasks]
    final = last_step(frames.owners)
    final = final.assign(set=final["owner"].map(dict(enumerate(sets)))).merge(frames.runs[["run", "label"]], on="run")
    found = final.groupby(["set", "label"], sort=False)["accuracy"].mean().unstack()
    common = pd.Series([majority(task) for task in tasks], index=sets).groupby(level=0, sort=False).mean()
    found.insert(0, "commonest answer", common)
    return found.rename_axis(columns=None).reset_index()


def _figure(frames: Frames, curve: MeasuredCurve, order: np.ndarray) -> Figure:
    """The public curve, who contributes in the end, who is paid, and how good the models are that owners get."""
    figure, (first, *others) = panels(4, rows=2, width=4.6)
    first.plot(curve.totals.array, curve.accuracies.array, color="black", marker="o", markersize=3)
    dress(first, "public accuracy curve", "texts of all owners", "accuracy, mean over owners")
    final = last_step(frames.owners)
    looks = mechanism_looks(dict(zip(frames.runs["label"], frames.runs["mechanism"], strict=True)))
    for panel, (column, title, what) in zip(others, _SHOWN, strict=True):
        for number, label in zip(frames.runs["run"], frames.runs["label"], strict=True):
            mine, look = final[final["run"] == number].set_index("owner").loc[order], looks[label]
            style = {"color": look.colour, "marker": look.marker, "dashes": look.dashes or (None, None)}
            panel.plot(mine["name"], mine[column], label=label, markersize=4, **style)
        dress(panel, f"{title} in the last round", "owner, cheapest texts first", what)
    shared_legend(figure, others[0])
    return figure


if __name__ == "__main__":
    run_script(__file__)
