"""What becomes of a really trained model when its owners free-ride or weigh their costs?

Owners of handwritten digits (scikit-learn's set, unequal classes) train a network by federated averaging.  First the
server measures a public accuracy curve at intervals of data (Murhekar et al. 2023, Section 5.1).  Then the same
federation trains four times: everybody honest, some free-riding, and everybody responding to the curve and its private
cost, without payments (FedBR) and with cost sharing (FedBR-BG).  `rule` is how the server learns from what owners send,
for instance `--set rule=krum`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Frames, Scenario, population, run_script
from fedabm.checks import check_count, check_positive, check_range, check_whole
from fedabm.costs import Linear
from fedabm.data import Dirichlet, from_partition, load_dataset
from fedabm.figures import dress, last_step, panels, shared_legend, strategy_looks
from fedabm.learning import Engine, FedAvg, Learning, MeasuredCurve, Recipe, Rule, Trained
from fedabm.mechanisms import CostSharing, NoPayments
from fedabm.simulation import Sequential
from fedabm.strategies import BestResponse, FreeRider, Honest, Strategy
from fedabm.study import Study, generator

#: one model is trained for every point of the public curve
_MOST_POINTS = 100


def run(
    study: Study,
    owners: int = 10,
    free_riders: int = 5,
    network: str = "logistic",
    alpha: float = 1.0,
    interval: int = 100,
    rounds: int = 10,
    highest_cost: float = 0.003,
    rule: Rule = FedAvg(),  # noqa: B008  (frozen)
) -> None:
    """Measure the curve, train the four federations and draw them.

    owners        number of owners
    free_riders   how many of them never contribute, in the second run
    network       which network is trained, by name (see fedabm.learning.NETWORKS)
    alpha         how unequal the owners' classes are: the parameter of a Dirichlet distribution, small is unequal
    interval      samples between two points of the public accuracy curve
    rounds        rounds of training for each point of the curve
    highest_cost  cost of a sample for the dearest owner; the others have a tenth of it or more
    rule          how the server learns from what owners send

    Takes seconds.
    """
    check_count("owners", owners)
    check_range("free_riders", free_riders, 0, owners)
    check_count("rounds", rounds)
    check_positive("highest_cost", highest_cost)
    data = from_partition(load_dataset("digits"), Dirichlet(owners, alpha), seed=study.seed, test_share=0.2)
    check_whole("interval", interval, -(-int(data.capacities.sum()) // _MOST_POINTS))
    engine, recipe = Engine(network, data), Recipe(rule=rule)
    measured, curve = _public_curve(study, Trained(engine, rounds, recipe, seed=study.seed), interval)
    costs = np.sort(generator(study.seed, "population").uniform(0.1, 1.0, owners)) * highest_cost
    base = Scenario(
        population(costs, data.capacities), Learning(engine, recipe, announced=curve), activation=Sequential(), steps=20
    )
    some: list[Strategy] = [Honest()] * (owners - free_riders) + [FreeRider()] * free_riders
    for label, strategies, mechanism in (
        ("honest", Honest(), NoPayments()),
        (f"{free_riders} free-ride", some, NoPayments()),
        ("best response", BestResponse(), NoPayments()),
        ("best response, cost sharing", BestResponse(), CostSharing()),
    ):
        people = population([Linear(cost) for cost in costs], data.capacities, strategies)
        study.simulate(replace(base, owners=people, mechanism=mechanism), label)
    study.table(_summary(study.frames), "Last round; the gap is that of the game on the public curve")
    study.picture(_figure(study.frames, measured, curve), "first_training")


def _public_curve(study: Study, oracle: Trained, interval: int) -> tuple[MeasuredCurve, MeasuredCurve]:
    """The curve as measured and its least concave majorant, which is announced."""
    total = int(oracle.engine.data.capacities.sum())
    measured = MeasuredCurve.measure(oracle, np.unique([*range(0, total, interval), total]), track=study.track)
    return measured, MeasuredCurve(measured.totals, measured.accuracies, concave=True)


def _summary(frames: Frames) -> pd.DataFrame:
    """Means over the owners, with the total contribution and the certified gap."""
    final = last_step(frames.owners).groupby("run")
    table = frames.runs[["label", "mechanism", "gap"]].copy()
    table.insert(2, "contribution", final["contribution"].sum().to_numpy())
    for place, column in enumerate(("accuracy", "cost", "payment", "utility"), start=3):
        table.insert(place, column, final[column].mean().to_numpy())
    return table


def _figure(frames: Frames, measured: MeasuredCurve, curve: MeasuredCurve) -> Figure:
    """The public curve, accuracies round by round, and who contributes in the end."""
    figure, (left, middle, right) = panels(3)
    left.plot(measured.totals.array, measured.accuracies.array, "o", color="0.5", markersize=3, label="trained")
    left.plot(curve.totals.array, curve.accuracies.array, color="black", label="announced")
    dress(left, "public accuracy curve", "samples of all owners", "test accuracy", "lower right")
    final = last_step(frames.owners)
    looks = strategy_looks(["honest", "free_rider", "best_response", "best_response (cost sharing)"]).values()
    for run, look in zip(frames.runs.itertuples(), looks, strict=True):
        steps = frames.steps[frames.steps["run"] == run.run]
        middle.plot(steps["step"], steps["accuracy"], markersize=3, label=run.label, **look.line)
        _contributions(right, final[final["run"] == run.run], markersize=4, **look.line)
    dress(middle, "the model in training", "round", "mean test accuracy")
    dress(right, "data used in the last round", "owner, cheapest data first", "samples")
    shared_legend(figure, middle)
    return figure


def _contributions(panel: Axes, owners: pd.DataFrame, **style: object) -> None:
    panel.plot(owners["owner"], owners["contribution"], **style)
    panel.set_xticks(owners["owner"])


if __name__ == "__main__":
    run_script(__file__)
