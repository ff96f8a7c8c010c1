"""Do Shapley shares of each stage's progress keep owners contributing while the model learns?

FedBR-Shap, Algorithm 1 of Murhekar et al. 2025, Appendix F.  In each iteration every owner trains a model on its s_i
batches and another on a few more; the server mixes them into coalition models, tells owners how their Shapley share of
the round's progress would change, and k random owners take a gradient step.  Every W iterations everybody is paid its
share of the progress of the stage, less what its own accuracy gained: p_i = phi_i - (a_i(theta^t) - a_i(theta^(t-W))).

Contributions, steps and costs are in the paper's unit, batches (10 samples, on CIFAR-10 64), from one batch each and at
most 100; what an owner moves by, over the step, is the marginal utility of a batch that it was told: zero in an
equilibrium unless a bound holds it.  `start` = 0 begins with half of the data instead.

A single round's progress is noisy, and a coalition of one group alone can spoil the model for the others: shares of a
stage can be negative, and payments are much larger than the progress itself, unlike those of a whole training.
With index=banzhaf shares are weighted as Appendix F prints them; they do not add up to the progress, and the server
pays or keeps the difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import run_script
from fedabm.checks import check_count, check_positive
from fedabm.data import IID, Dataset, Rotated
from fedabm.figures import COLOURS, dress, panels, shared_legend
from fedabm.games import Array
from fedabm.learning import SGD, FedAvg, Recipe, Rounds
from fedabm.mechanisms import BanzhafShare
from fedabm.papers import Preset, Size, Sizes, choose, engine_for, murhekar2025
from fedabm.study import Study, generator


@dataclass(frozen=True, kw_only=True)
class Stages(Preset):
    """Rounds of a stage, owners that move in each, batches more of the second training, and the gradient step."""

    window: int
    active: int
    more: int
    step: float
    most: float = 100.0

    @property
    def units(self) -> murhekar2025.Units:
        """What one contribution is."""
        return murhekar2025.Units(self.recipe.batch, self.most)


_EQUAL = FedAvg(weighting="equal")
_PRESETS = {
    "quick": Stages(
        size=Size(6, 200, 200, "mlp"),
        rounds=40,
        seeds=3,
        recipe=Recipe(batch=10, optimiser=SGD(0.02), rule=_EQUAL),
        window=5,
        active=3,
        more=4,
        step=40.0,
    ),
    "decisive": Stages(
        size=Size(6, 1000, 30, "mnist_cnn"),
        rounds=30,
        seeds=2,
        recipe=Recipe(batch=10, optimiser=SGD(0.1), rule=_EQUAL),
        permutations=4,
        window=10,
        active=2,
        more=10,
        step=10.0,
    ),
    "paper": Stages(
        size=Size(30, 1810, 180, "mnist_cnn"),
        rounds=100,
        seeds=3,
        recipe=Recipe(batch=10, optimiser=SGD(0.1), rule=_EQUAL),
        permutations=1,
        window=10,
        active=10,
        more=10,
        step=10.0,
    ),
}
#: the paper's setting on CIFAR-10, by its authors' code
_CIFAR = replace(
    _PRESETS["paper"],
    size=Size(30, 1666, 333, "resnet18", published=True),
    recipe=Recipe(batch=64, optimiser=SGD(0.001), rule=_EQUAL),
    permutations=5,
    more=3,
    step=30.0,
    most=27.0,
)


def run(
    study: Study,
    preset: Sizes = "quick",
    data: Literal["auto", "mnist", "digits", "fashion_mnist", "cifar10"] = "auto",
    index: Literal["shapley", "banzhaf"] = "shapley",
    cost: float = 0.001,
    start: float = 1.0,
    rounds: int = 0,
    all_tests: bool = False,
    seeds: int = 0,
) -> None:
    """Train with stage payments; costs of a batch are uniform up to `cost`; `start` (batches) = 0: half of the data.

    preset  size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
            sizes
    data    which data set (auto: the preset's own, or digits where its files are not at hand)
    index   how shares of progress are weighted
    cost    highest cost of a batch, in units of accuracy
    start   batches with which owners begin (0: half of their data)
    rounds  how many iterations (0: as the preset says)
    all_tests  whether progress is measured on all test images of the set, divided between owners
    seeds   how often it is repeated with new draws (0: as often as the preset says)

    Takes some minutes with preset=quick.
    """
    check_positive("cost", cost)
    check_positive("start", start, zero=True)
    dataset = choose(data, study.note)
    chosen = _CIFAR if preset == "paper" and dataset.name == "cifar10" else _PRESETS[preset]
    chosen = _lasting(chosen, dataset, rounds, all_tests)
    begun = [_one(study, chosen, dataset, index, cost, start, seed) for seed in chosen.series(study.seed, seeds)]
    stages = _stages(study, chosen, np.concatenate(begun))
    study.table(stages, "The same by run and owner", "owners", shown=False)
    study.table(_table(stages), f"{dataset.name}: stages of {chosen.window} iterations, means over owners and seeds")
    study.picture(_figure(study, stages, dataset.name, index, chosen.units.batch), "stage_payments")


def _lasting(chosen: Stages, dataset: Dataset, rounds: int, all_tests: bool) -> Stages:
    """With this many rounds, and all images of the set dealt to owners, who use as many as the preset lets them."""
    check_count("rounds", rounds, 0)
    size = chosen.size
    if all_tests:
        train, test = (len(part) // size.owners for part in (dataset.train, dataset.test))
        size = replace(size, samples=train, tests=test, published=True)
    return replace(chosen, rounds=rounds or chosen.rounds, size=size)


def _one(study: Study, chosen: Stages, dataset: Dataset, index: str, cost: float, start: float, seed: int) -> Array:
    """Train once, in samples: a step in batches is batch^2 times as long in samples.  Everybody's a(0)."""
    size, units = chosen.size, chosen.units
    engine = engine_for(dataset, size, seed, Rotated(IID(size.owners)))
    capacities = units.samples(units.capacities(engine.data.capacities), engine.data.capacities)
    first = np.minimum(start * units.batch, capacities) if start else capacities // 2
    costs = generator(seed, "population").uniform(0.0, cost, size.owners) / units.batch
    shares = replace(chosen.shares(seed), fresh=True) if index == "shapley" else BanzhafShare(seed=seed)
    rule = murhekar2025.fed_br_shap(chosen.step * units.batch**2, chosen.active, chosen.window, shares)
    oracle = Rounds(engine, chosen.recipe, chosen.more * units.batch, seed=seed, start=first)
    scenario = rule.scenario(oracle, costs, capacities, first, steps=chosen.rounds)
    study.simulate(scenario, f"FedBR-Shap ({index})", seed)
    return oracle.worth(oracle.begin(seed)).at_zero(size.owners)


def _stages(study: Study, chosen: Stages, begun: Array) -> pd.DataFrame:
    """One row per run, stage and owner: contribution, what a batch seemed worth, progress, payment and cost.

    `begun` are the accuracies of the first model, run by run.
    """
    owners = study.frames.owners.copy()
    owners["stage"] = (owners["step"] - 1) // chosen.window + 1
    owners["contribution"] /= chosen.units.batch
    moved = owners.groupby(["run", "owner"])["contribution"].diff()
    # owners that were not asked to move tell nothing
    owners["marginal"] = (moved / chosen.step).abs().where(moved != 0)
    keys = ["run", "stage", "owner"]
    stages = owners.groupby(keys).agg(
        contribution=("contribution", "mean"),
        marginal=("marginal", "mean"),
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
            "batches of an owner": groups["contribution"].mean().to_numpy(),
            "|marginal utility|": groups["marginal"].mean().to_numpy(),
            "accuracy": groups["accuracy"].mean().to_numpy(),
            "progress": groups["progress"].mean().to_numpy(),
            "mean |payment|": groups["payment"].agg(lambda paid: paid.abs().mean()).to_numpy(),
            "most received": groups["payment"].max().to_numpy(),
            "most paid": groups["payment"].min().abs().to_numpy(),
            "|sum of payments|": balance.to_numpy(),
            "cost": groups["cost"].mean().to_numpy(),
        }
    )


def _figure(study: Study, stages: pd.DataFrame, data: str, index: str, batch: int) -> Figure:
    """Contributions by group, accuracy, and everybody's payments stage by stage."""
    figure, (left, middle, right) = panels(3, width=3.8, height=3.2)
    owners = study.frames.owners
    count = owners["owner"].max() + 1
    for group, angle in enumerate((10, 90, 180)):
        mine = owners[owners["owner"] * 3 // count == group].groupby(["run", "step"])["contribution"].mean() / batch
        runs = mine.groupby("step")
        left.plot(runs.mean().index, runs.mean(), color=COLOURS[group], label=f"turned by {angle} degrees")
        left.fill_between(runs.mean().index, runs.min(), runs.max(), color=COLOURS[group], alpha=0.15, linewidth=0)
    accuracy = study.frames.steps.groupby("step")["accuracy"]
    middle.plot(accuracy.mean().index, accuracy.mean(), color="black")
    middle.fill_between(accuracy.mean().index, accuracy.min(), accuracy.max(), color="0.85")
    for group in range(3):
        some = stages[stages["owner"] * 3 // count == group]
        right.scatter(some["stage"] + 0.15 * (group - 1), some["payment"], s=14, color=COLOURS[group], alpha=0.7)
    right.axhline(0.0, color="0.3", linewidth=0.8)
    seeds = study.frames.runs["seed"].nunique()
    several = "one seed" if seeds == 1 else f"bands: {seeds} seeds"
    dress(left, f"{data}: data used ({several})", "iteration", "mean batches of an owner")
    dress(middle, "the model", "iteration", "mean test accuracy")
    dress(right, f"payments by {index.capitalize()} shares", "stage", "payment of an owner")
    shared_legend(figure, left)
    return figure


if __name__ == "__main__":
    run_script(__file__)
