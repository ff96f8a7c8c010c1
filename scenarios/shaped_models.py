"""What do owners really get when a mechanism promises them less than the full model, and models are trained?

Value shaping and the proportional rules of Karimireddy et al. 2022 pay with models: who gives less gets a worse one.
In training that is done as their Section 3.1 says, with noise on the weights: the server adds as little as brings the
model down to what was promised, measured on the owner's own test part, and never hands out more.  Owners respond to
the server's public accuracy curve, as in `first_training`, and have cheap or dear data; what they get is really judged.

How near the handed model comes to the promise depends on the owner's test part (a step of one sample) and on how a
noisy network answers; `from below` is how much less than promised owners got on average.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Federation, Scenario, population, run_script
from fedabm.checks import check_count, check_positive, check_range
from fedabm.data import IID, from_partition, load_dataset
from fedabm.figures import COLOURS, dress, last_step, panels, shared_legend
from fedabm.learning import Engine, Learning, Recipe, Trained
from fedabm.mechanisms import Mechanism, NoPayments, ProportionalData, ProportionalValue, ValueShaping
from fedabm.simulation import Sequential
from fedabm.study import Study, generator, measured_curve


def run(
    study: Study,
    owners: int = 6,
    network: str = "logistic",
    rounds: int = 12,
    interval: int = 60,
    highest_cost: float = 0.004,
    power: float = 0.5,
) -> None:
    """Measure the curve, train under four rules, and compare what was promised with what was handed out.

    owners        number of owners
    network       which network is trained, by name (see fedabm.learning.NETWORKS)
    rounds        rounds of training
    interval      samples between two points of the public accuracy curve
    highest_cost  cost of a sample for the dearest owner; the others have a tenth of it or more
    power         exponent of the proportional rules

    Takes seconds.
    """
    check_count("owners", owners, 2)
    check_count("rounds", rounds)
    check_positive("highest_cost", highest_cost)
    check_range("power", power, 0.0, 1.0)
    data = from_partition(load_dataset("digits"), IID(owners), seed=study.seed, test_share=0.3)
    engine, recipe = Engine(network, data), Recipe()
    curve = measured_curve(study, Trained(engine, rounds, recipe, seed=study.seed), interval)
    costs = np.sort(generator(study.seed, "population").uniform(0.1, 1.0, owners)) * highest_cost
    base = Scenario(
        population(costs, data.capacities),
        Learning(engine, recipe, announced=curve, seed=study.seed),
        activation=Sequential(),
        steps=rounds,
    )
    rules: dict[str, Mechanism] = {
        "full model for all": NoPayments(),
        "value shaping": ValueShaping(),
        "proportional to data": ProportionalData(power),
        "proportional to value": ProportionalValue(power),
    }
    rows = []
    for label, rule in rules.items():
        made = study.simulate(replace(base, mechanism=rule), label)
        rows.append(_promised(made, label))
    table = pd.concat(rows)
    study.table(_summary(table), "Last round: models promised and handed out")
    study.picture(_figure(table), "shaped_models")


def _promised(made: Federation, label: str) -> pd.DataFrame:
    """One row per owner of the last step: what the full model is worth to it, what it was promised, what it got."""
    owners = last_step(made.frames().owners)
    present = owners["owner"].to_numpy()
    full = made.judge(present)
    return pd.DataFrame(
        {
            "rule": label,
            "owner": present,
            "contribution": owners["contribution"].to_numpy(),
            "full model": full,
            "promised": full * made.settle(present, full).access,
            "handed out": owners["accuracy"].to_numpy(),
            "utility": owners["utility"].to_numpy(),
        }
    )


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row per rule: all data, means over owners, and the two worst cases of a promise."""
    table = table.assign(missed=table["promised"] - table["handed out"])
    rules = table.groupby("rule", sort=False)
    found = rules[["full model", "promised", "handed out", "utility"]].mean()
    found.insert(0, "data (samples)", rules["contribution"].sum())
    found["from below"] = rules["missed"].mean()
    found["most below"] = rules["missed"].max()
    found["most above"] = (-rules["missed"].min()).clip(lower=0.0)
    return found.reset_index()


def _figure(table: pd.DataFrame) -> Figure:
    """Per rule and owner: the full model, the promise, and what was handed out."""
    names = list(table["rule"].unique())
    figure, axes = panels(len(names), rows=1, width=3.1, height=3.0)
    for panel, name in zip(axes, names, strict=True):
        mine = table[table["rule"] == name]
        panel.plot(mine["owner"], mine["full model"], color="0.6", linestyle="--", label="the full model")
        panel.plot(mine["owner"], mine["promised"], "_", color=COLOURS[3], markersize=14, label="promised")
        panel.plot(mine["owner"], mine["handed out"], "o", color=COLOURS[0], markersize=5, label="handed out")
        panel.set(ylim=(0, 1), xticks=mine["owner"])
        data = mine["contribution"].sum()
        dress(panel, f"{name}\n{data:,.0f} samples", "owner, cheapest data first", "")
    axes[0].set_ylabel("accuracy on the owner's test part")
    shared_legend(figure, axes[0])
    return figure


if __name__ == "__main__":
    run_script(__file__)
