"""What is left of everybody's data when the shared model goes to everyone, whatever they contribute?

Standard federated learning: owners start with what each would collect alone and then respond, one after the other, to
what the others contribute.  Only the owner with the lowest cost goes on, with what it would have collected anyway
(Karimireddy et al. 2022, Theorem III), so that more owners bring no more data.  Where data cost everyone too much to
start alone, nobody starts together either (Remark 1).  The theorem needs a unique owner with the lowest cost.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Equilibrium, Federation, Game, InputError, Scenario, population, run_script
from fedabm.accuracy import PacBound
from fedabm.checks import check_count, check_positive
from fedabm.costs import Linear
from fedabm.figures import COLOURS, dress, panels
from fedabm.games import Array, individual_optimum
from fedabm.mechanisms import NoPayments
from fedabm.simulation import Sequential
from fedabm.study import Study


def run(
    study: Study,
    owners: int = 10,
    lowest: float = 5e-4,
    highest: float = 2e-3,
    too_high: float = 10.0,
    sizes: tuple[int, ...] = (1, 2, 5, 10, 20, 40),
    ceiling: float = 0.95,
    complexity: float = 1.0,
) -> None:
    """Simulate and solve federations of several sizes, then the same with costs `too_high` times as high.

    owners      number of owners in the simulated federation
    lowest      cost of a sample for the cheapest owner
    highest     cost of a sample for the dearest owner
    too_high    by what all costs are multiplied in the second part
    sizes       numbers of owners, each a point of the picture
    ceiling     the best accuracy that any amount of data can reach
    complexity  complexity k of the problem: how much data a given accuracy takes

    Takes seconds.
    """
    if not 0 < lowest < highest < np.inf:
        raise InputError(f"costs must be 0 < lowest < highest, got {lowest:g} and {highest:g}; raise highest")
    check_positive("too_high", too_high)
    for size in (*sizes, owners):
        check_count("number of owners", size)
    accuracy, rows = PacBound(ceiling, complexity), []
    runs: dict[tuple[int, float], Federation] = {}
    for factor, name in ((1.0, "costs an owner can bear"), (too_high, "costs too high alone")):
        for size in sorted({*sizes, owners}):
            costs = np.geomspace(lowest, highest, size) * factor
            label = f"{name}, {size} owners"
            runs[size, factor] = study.simulate(_scenario(accuracy, costs), label)
            solved = study.solve(Game(accuracy, costs, ceiling / costs, NoPayments()), f"{label}, solved")
            rows.append((name, size, *_row(accuracy, costs, runs[size, factor], solved)))
    columns = ["costs", "owners", "data alone", "simulated", "solved", "m* of cheapest", "contributors", "gap"]
    table = pd.DataFrame(rows, columns=columns)
    study.table(table, "Data with everyone alone and in the federation (samples)")
    study.picture(_figure(runs[owners, 1.0], table), "free_riding_collapse")


def _alone(accuracy: PacBound, costs: Array) -> Array:
    return individual_optimum(accuracy, Linear(costs), accuracy.ceiling / costs)[0]


def _scenario(accuracy: PacBound, costs: Array) -> Scenario:
    """Everybody comes with the data it would have collected alone."""
    people = population(costs.tolist(), accuracy.ceiling / costs, starts=_alone(accuracy, costs))
    return Scenario(people, accuracy, NoPayments(), Sequential())


def _row(accuracy: PacBound, costs: Array, played: Federation, solved: Equilibrium) -> tuple[float, ...]:
    alone, given = _alone(accuracy, costs), played.population.contribution
    contributors = int(np.sum(given > 1e-6 * max(1.0, given.max())))
    return alone.sum(), given.sum(), solved.profile.sum(), alone[0], contributors, solved.gap


def _figure(played: Federation, table: pd.DataFrame) -> Figure:
    """Owner by owner, step by step, and against the number of owners."""
    figure, (bars, collapse, totals) = panels(3, width=3.9, height=3.2)
    _bars(bars, played)
    owners = played.frames().owners
    given = owners.pivot(index="step", columns="owner", values="contribution")
    start = np.array([owner.start for owner in played.scenario.owners])
    path = np.vstack([start, given.to_numpy()])
    collapse.plot(path.sum(axis=1), color="black", marker="o", markersize=4, label="all owners")
    collapse.plot(path[:, 0], color=COLOURS[0], linestyle="--", marker="s", markersize=4, label="the cheapest owner")
    collapse.plot(
        path[:, 1:].sum(axis=1), color=COLOURS[1], linestyle=":", marker="^", markersize=4, label="the others"
    )
    collapse.set_xticks(np.unique(np.linspace(0, len(path) - 1, 6).astype(int)))
    dress(
        collapse,
        "(b) one best response after the other",
        "step (0: everyone has its m*)",
        "data (samples)",
        "upper right",
    )
    _totals(totals, table)
    return figure


def _bars(panel: Axes, played: Federation) -> None:
    people = played.scenario.owners
    place, alone = np.arange(len(people)), [owner.start for owner in people]
    panel.bar(place - 0.2, alone, 0.4, color="0.7", label="alone: m*")
    panel.bar(place + 0.2, played.population.contribution, 0.4, color=COLOURS[0], label="in the federation")
    panel.set_xticks(place)
    dress(panel, "(a) contributions", "owner, cheapest data first", "data (samples)", "upper right")


def _totals(panel: Axes, table: pd.DataFrame) -> None:
    for (name, rows), colour, marker in zip(table.groupby("costs", sort=False), COLOURS, "os", strict=False):
        panel.plot(rows["owners"], rows["simulated"], color=colour, marker=marker, label=f"federation, {name}")
        if rows["data alone"].sum() > 0:
            panel.plot(rows["owners"], rows["data alone"], color="0.55", linestyle="--", label=f"all alone, {name}")
    panel.set_ylim(top=1.35 * panel.get_ylim()[1])
    dress(panel, "(c) more owners, no more data", "number of owners n", "data of all owners (samples)", "upper left")


if __name__ == "__main__":
    run_script(__file__)
