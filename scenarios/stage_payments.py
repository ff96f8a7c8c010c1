"""Do Shapley shares of each stage's progress keep owners contributing while the model learns?

FedBR-Shap, Algorithm 1 of Murhekar et al. 2025, Appendix F.  In each iteration every owner trains a model on its s_i
samples and another on a few more; the server mixes them into coalition models, tells owners how their Shapley share of
the round's progress would change, and k random owners take a gradient step.  Every W iterations everybody is paid its
share of the progress of the stage, less what its own accuracy gained: p_i = phi_i - (a_i(theta^t) - a_i(theta^(t-W))).

A single round's progress is noisy, and a coalition of one group alone can spoil the model for the others: shares of a
stage can be negative, and payments are much larger than the progress itself, unlike those of a whole training.
Costs are per sample and iteration.  With index=banzhaf shares are weighted as Appendix F prints them; they
do not add up to the progress, and the server pays or keeps the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm.analysis.curves import COLOURS, dress, panels, shared_legend
from fedabm.cli import run_script
from fedabm.common.errors import check_positive
from fedabm.common.random import generator
from fedabm.data.partitions import IID, Rotated
from fedabm.games.curves import Array
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Rounds
from fedabm.learning.rules import FedAvg
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import BanzhafShare
from fedabm.papers.murhekar2025.protocols import fed_br_shap
from fedabm.papers.presets import Preset, Size, choose, engine_for
from fedabm.study.study import Study


@dataclass(frozen=True, kw_only=True)
class Stages(Preset):
    """Rounds of a stage, owners that move in each, samples of the second training, and the gradient step."""

    window: int
    active: int
    more: int
    step: float


_PRESETS = {
    "quick": Stages(
        size=Size(6, 200, 200, "mlp"),
        rounds=40,
        seeds=3,
        recipe=Recipe(optimiser=SGD(0.02), rule=FedAvg(weighting="equal")),
        window=5,
        active=3,
        more=40,
        step=4000.0,
    ),
    "paper": Stages(
        size=Size(30, 1800, 170, "mnist_cnn"),
        rounds=100,
        seeds=3,
        recipe=Recipe(batch=64, optimiser=SGD(0.1), rule=FedAvg(weighting="equal")),
        permutations=1,
        window=10,
        active=10,
        more=100,
        step=4000.0,
    ),
}


def run(
    study: Study,
    preset: Literal["quick", "paper"] = "quick",
    data: Literal["auto", "mnist", "digits", "fashion_mnist", "cifar10"] = "auto",
    index: Literal["shapley", "banzhaf"] = "shapley",
    cost: float = 0.0005,
    start: float = 0.0,
    seeds: int = 0,
) -> None:
    """Train with stage payments; costs are uniform up to `cost`; `start` = 0 begins with half of the data."""
    check_positive("cost", cost)
    check_positive("start", start, zero=True)
    chosen, dataset = _PRESETS[preset], choose(data, study.note)
    size, begun = chosen.size, []
    for seed in chosen.series(study.seed, seeds):
        engine = engine_for(dataset, size, seed, Rotated(IID(size.owners)))
        capacities = engine.data.capacities
        first = np.minimum(start, capacities) if start else capacities // 2
        costs = generator(seed, "population").uniform(0.0, cost, size.owners)
        shares = chosen.shares(seed) if index == "shapley" else BanzhafShare(seed=seed)
        rule = fed_br_shap(chosen.step, chosen.active, chosen.window, shares)
        oracle = Rounds(engine, chosen.recipe, chosen.more, seed=seed, start=first)
        begun.append(oracle.at_zero(size.owners))
        scenario = rule.scenario(oracle, costs, capacities, first, steps=chosen.rounds)
        study.simulate(scenario, f"FedBR-Shap ({index})", seed)
    stages = _stages(study, chosen.window, np.concatenate(begun))
    study.table(_table(stages), f"{dataset.name}: stages of {chosen.window} iterations, means over owners and seeds")
    study.picture(_figure(study, stages, dataset.name, index), "stage_payments")


def _stages(study: Study, window: int, begun: Array) -> pd.DataFrame:
    """One row per run, stage and owner: contribution, progress of its own accuracy, payment and cost.

    `begun` are the accuracies of the first model, run by run.
    """
    owners = study.frames.owners.copy()
    owners["stage"] = (owners["step"] - 1) // window + 1
    keys = ["run", "stage", "owner"]
    stages = owners.groupby(keys).agg(
        contribution=("contribution", "mean"),
        accuracy=("accuracy", "last"),
        payment=("payment", "sum"),
        cost=("cost", "sum"),
    )
    before = stages.groupby(["run", "owner"])["accuracy"].shift()
    before[before.index.get_level_values("stage") == 1] = begun
    return stages.assign(progress=stages["accuracy"] - before).reset_index()


def _table(stages: pd.DataFrame) -> pd.DataFrame:
    """One row per stage; the sum of payments is the largest of any run."""
    groups = stages.groupby("stage")
    balance = stages.groupby(["run", "stage"])["payment"].sum().abs().groupby("stage").max()
    return pd.DataFrame(
        {
            "stage": list(groups.groups),
            "samples of an owner": groups["contribution"].mean().to_numpy(),
            "accuracy": groups["accuracy"].mean().to_numpy(),
            "progress": groups["progress"].mean().to_numpy(),
            "mean |payment|": groups["payment"].agg(lambda paid: paid.abs().mean()).to_numpy(),
            "most received": groups["payment"].max().to_numpy(),
            "most paid": groups["payment"].min().abs().to_numpy(),
            "|sum of payments|": balance.to_numpy(),
            "cost": groups["cost"].mean().to_numpy(),
        }
    )


def _figure(study: Study, stages: pd.DataFrame, data: str, index: str) -> Figure:
    """Contributions by group, accuracy, and everybody's payments stage by stage."""
    figure, (left, middle, right) = panels(3, width=3.8, height=3.2)
    owners = study.frames.owners
    count = owners["owner"].max() + 1
    for group, angle in enumerate((10, 90, 180)):
        mine = owners[owners["owner"] * 3 // count == group].groupby("step")["contribution"].mean()
        left.plot(mine.index, mine, color=COLOURS[group], label=f"turned by {angle} degrees")
    accuracy = study.frames.steps.groupby("step")["accuracy"]
    middle.plot(accuracy.mean().index, accuracy.mean(), color="black")
    middle.fill_between(accuracy.mean().index, accuracy.min(), accuracy.max(), color="0.85")
    for group in range(3):
        some = stages[stages["owner"] * 3 // count == group]
        right.scatter(some["stage"] + 0.15 * (group - 1), some["payment"], s=14, color=COLOURS[group], alpha=0.7)
    right.axhline(0.0, color="0.3", linewidth=0.8)
    seeds = study.frames.runs["seed"].nunique()
    dress(left, f"{data}: data used ({seeds} seeds)", "iteration", "mean samples of an owner")
    dress(middle, "the model (grey: all seeds)", "iteration", "mean test accuracy")
    dress(right, f"payments by {index.capitalize()} shares", "stage", "payment of an owner")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
