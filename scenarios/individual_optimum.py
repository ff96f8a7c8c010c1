"""How much data would an owner collect on its own, and from which cost on is it not worth starting?

Value, cost and utility of a low, a mid and a high cost owner against the size of its data set (Karimireddy et al.
2022, Figure 1), and the individual optimum m* against the marginal cost for several complexities k (Figure 2): m*
falls as cost^(-2/3) and ends where even the best data set costs more than it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import InputError, Scenario, population, run_script
from fedabm.accuracy import PacBound
from fedabm.checks import check_count, check_positive
from fedabm.figures import COLOURS, LINES, dress, mark, panels, powers, shared_legend
from fedabm.games import viability_cost
from fedabm.papers import karimireddy2022
from fedabm.study import Study

_NAMES = ("low", "mid", "high")


def run(
    study: Study,
    costs: tuple[float, ...] = (1e-3, 3e-3, 1e-2),
    complexity: float = 1.0,
    complexities: tuple[float, ...] = (1.0, 10.0, 100.0),
    ceiling: float = 0.95,
    points: int = 200,
) -> None:
    """Let every owner decide alone, then sweep its marginal cost.

    costs         cost of a sample, one per owner that is shown
    complexity    complexity k of the problem: how much data a given accuracy takes
    complexities  complexities k for which the optimum is drawn against the cost
    ceiling       the best accuracy that any amount of data can reach
    points        points of the curves in the picture

    Takes seconds.
    """
    if not costs or not complexities:
        raise InputError("costs and complexities need values, got an empty list; give at least one of each")
    check_positive("costs", costs)
    check_count("points", points, 2)
    accuracy = PacBound(ceiling, complexity)
    for name, cost in zip(_names(costs), costs, strict=True):
        study.simulate(Scenario(population([cost], ceiling / cost), accuracy), f"{name} cost {cost:g}, alone")
    study.table(_owners(accuracy, costs), f"Owners alone (k = {complexity:g}, a_opt = {ceiling:g})")
    oracles = [PacBound(ceiling, k) for k in complexities]
    study.table(_cutoffs(oracles), "Where it stops being worth while, by complexity", "viability")
    study.picture(_utilities(accuracy, costs), "individual_optimum")
    study.picture(_against_cost(oracles, points), "optimum_against_cost")


def _names(costs: Sequence[float]) -> list[str]:
    return [_NAMES[i] if len(costs) == len(_NAMES) else f"owner {i}" for i in range(len(costs))]


def _owners(accuracy: PacBound, costs: Sequence[float]) -> pd.DataFrame:
    rates = np.array(costs)
    found = karimireddy2022.optima_alone(accuracy, rates)
    value = accuracy.curve(found)
    columns = {"cost per sample": rates, "m* (samples)": found, "value": value, "utility": value - rates * found}
    return pd.DataFrame({"owner": _names(costs), **columns})


def _cutoffs(oracles: Sequence[PacBound]) -> pd.DataFrame:
    """The viability cost of each complexity, m* there, and how m* grows while data get a hundred times cheaper."""
    rows = []
    for oracle in oracles:
        limit = viability_cost(oracle)
        dear, cheap = karimireddy2022.optima_alone(oracle, limit * np.array([1e-3, 1e-5]))
        slope = np.log(cheap / dear) / np.log(1e-2)
        last = karimireddy2022.optima_alone(oracle, np.array([limit * (1 - 1e-9)]))[0]
        rows.append((oracle.complexity, oracle.viable, limit, last, slope))
    names = [
        "complexity k",
        "first useful sample",
        "viability cost",
        "m* at that cost",
        "slope of log m* (theory: -2/3)",
    ]
    return pd.DataFrame(rows, columns=names)


def _utilities(accuracy: PacBound, costs: Sequence[float]) -> Figure:
    """Figure 1: value and costs, then one panel of utility per owner."""
    figure, (first, *others) = panels(1 + len(costs), width=3.2)
    sizes = np.linspace(0.0, 8 * accuracy.viable, 801)
    value = accuracy.curve(sizes)
    first.plot(sizes, value, color="black", linewidth=2, label="value v(m)")
    best = karimireddy2022.optima_alone(accuracy, np.array(costs))
    for turn, (name, cost) in enumerate(zip(_names(costs), costs, strict=True)):
        style = {"color": COLOURS[turn], "linestyle": LINES[turn + 1]}
        first.plot(sizes, cost * sizes, label=f"{name} cost, {cost:g} m", **style)
        utility = value - cost * sizes
        others[turn].plot(sizes, utility, color=COLOURS[turn], linewidth=2)
        others[turn].axhline(0, color="0.3", linewidth=0.8)
        own = float(accuracy.curve(best[turn]) - cost * best[turn])
        mark(others[turn], best[turn], own, f"m* = {best[turn]:,.0f}", (8, 9))
        low, high = max(float(utility.min()), -1.0), max(float(utility.max()), 0.0)
        others[turn].set_ylim(low - 0.06 * (high - low), high + 0.22 * (high - low))
        dress(others[turn], f"({'bcdefgh'[turn % 7]}) {name}-cost owner", "data set size m (samples)", "utility u(m)")
    first.set_ylim(-0.02, 1.0)
    dress(first, "(a) value and cost", "data set size m (samples)", "value or cost")
    shared_legend(figure, first)
    return figure


def _against_cost(oracles: Sequence[PacBound], points: int) -> Figure:
    """Figure 2: m* against the marginal cost, up to the cost beyond which nobody starts."""
    figure, (panel,) = panels(1, width=5.6, height=4.0)
    limits = [viability_cost(oracle) for oracle in oracles]
    costs = np.geomspace(min(limits) / 300, max(limits) * 2, points)
    for turn, (oracle, limit) in enumerate(zip(oracles, limits, strict=True)):
        below = np.append(costs[costs < limit], limit * (1 - 1e-9))
        label = f"k = {oracle.complexity:g}"
        powers(panel, below, {label: karimireddy2022.optima_alone(oracle, below)}, colours=COLOURS[turn : turn + 1])
        panel.axvline(limit, color=COLOURS[turn], linestyle="--", linewidth=1)
    guide = karimireddy2022.optima_alone(oracles[0], costs[:1])[0] * 0.55 * (costs / costs[0]) ** (-2 / 3)
    panel.plot(costs, guide, color="0.5", linestyle=":", label="slope -2/3")
    title = "Individual optimum; dashed: no owner starts alone beyond this cost"
    dress(panel, title, "marginal cost c per sample", "m* (samples)", "lower left")
    return figure


if __name__ == "__main__":
    run_script(__file__)
