"""What does it cost a federation that it cannot verify what its owners' data cost?

An owner has low cost with probability p and high cost otherwise, and only it knows which.  One menu for both
(Karimireddy et al. 2022, eq. 15-17 and Figure 8) makes it choose: point C is meant for high cost, D for low cost.
Where low cost is unlikely, D is moved towards C, so that an owner with high cost gives more; the price is an
information rent for an owner with low cost.  Eq. (16) prints c_high where c_high - c_low is meant: following it
collects less.

The menu is shown to one owner while all others together contribute a fixed amount; a federation of many owners, a
share p of them with low cost, is simulated beside it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Scenario, population, run_script
from fedabm.accuracy import PacBound
from fedabm.checks import check_count, check_positive
from fedabm.figures import COLOURS, dress, mark, offer_curves, panels
from fedabm.mechanisms import Menu, Screening
from fedabm.papers import karimireddy2022
from fedabm.study import Study
from fedabm.views import Reports


def run(
    study: Study,
    low: float = 5e-4,
    high: float = 1e-3,
    probability: float = 0.36,
    others: float = 200.0,
    owners: int = 10,
    ceiling: float = 0.95,
    complexity: float = 1.0,
    points: int = 61,
) -> None:
    """Simulate the corrected and the printed menu, then follow both over the probability of low cost.

    low          low cost of a sample
    high         high cost of a sample
    probability  how likely low cost is
    others       samples that all others give together, where one owner is looked at
    owners       number of owners in the simulated federation
    ceiling      the best accuracy that any amount of data can reach
    complexity   complexity k of the problem: how much data a given accuracy takes
    points       points of the curves in the picture

    Takes seconds.
    """
    check_count("owners", owners)
    check_count("points", points, 2)
    check_positive("others", others, zero=True)
    accuracy = PacBound(ceiling, complexity)
    rule = Screening(low, high, probability)
    costs = np.where(np.arange(owners) < round(probability * owners), low, high)
    for menu, label in ((rule, "corrected"), (Screening(low, high, probability, printed=True), "printed")):
        people = population(costs.tolist(), ceiling / low)
        study.simulate(Scenario(people, accuracy, menu, steps=100, record=None), f"{owners} owners, {label}")
    reports = karimireddy2022.one_owner(accuracy, low, others)
    chances = np.unique(np.append(np.linspace(0.0, 1.0, points), [probability, low / high]))
    table = pd.concat(
        [karimireddy2022.over_chances(accuracy, reports, low, high, chances, printed) for printed in (False, True)]
    )
    chosen = table[np.isclose(table["p"], probability) | np.isclose(table["p"], low / high)]
    chosen = chosen.sort_values(["p", "formula"])
    study.table(chosen, f"One owner, costs {low:g} and {high:g}, others contribute {others:g}")
    study.table(_simulated(study, low), "Simulated federations, last step", "simulated")
    _note(study, table, low / high)
    study.picture(_menu(accuracy, rule, reports), "screening_menu")
    study.picture(_rent(table, low / high), "screening")


def _simulated(study: Study, low: float) -> pd.DataFrame:
    """What owners of each cost give and gain."""
    frames = study.frames
    rows = frames.owners.merge(frames.runs[["run", "label", "status", "gap"]], on="run")
    unit = rows["cost"] / rows["contribution"].where(rows["contribution"] > 0)
    rows["owner's cost"] = np.where(np.isclose(unit, low), "low", "high")
    groups = rows.groupby(["label", "owner's cost"], sort=False)
    columns = {"contribution": "mean", "utility": "mean", "status": "first", "gap": "first"}
    return groups.agg(columns).reset_index()


def _note(study: Study, table: pd.DataFrame, threshold: float) -> None:
    both = table.pivot_table(index="p", columns="formula", values="expected data")
    lost = 1 - both["printed"] / both["corrected"]
    study.note(f"The printed formula collects {lost.min():.1%} to {lost.max():.1%} less than the corrected one.")
    rent = table[(table["formula"] == "corrected") & (table["p"] >= threshold)]["rent"].max()
    study.note(f"From p = low/high = {threshold:g} on the rent of an owner with low cost is at most {rent:.2g}.")


def _menu(accuracy: PacBound, rule: Screening, reports: Reports) -> Figure:
    """Figure 8: the menu with its corners A, C and D."""
    offers, menu = rule.offers(accuracy, reports), rule.menu(accuracy, reports)
    figure, (panel,) = panels(1, width=5.8, height=4.2)
    x = np.linspace(0.0, 1.35 * menu.low_most[0], 801)
    offer_curves(panel, offers, accuracy.curves(np.zeros(2)), x)
    for place, text, shift in _corners(menu):
        value = float(offers.take([0]).received.value(np.array([place]))[0])
        panel.plot([place, place], [0, value], color="0.4", linestyle=":", linewidth=1)
        mark(panel, place, value, text, shift)
    panel.set_ylim(0, 1)
    title = f"One menu for costs {rule.low:g} and {rule.high:g} (p = {rule.probability_low:g})"
    dress(panel, title, "own contribution m (samples)", "value of the model", "upper left")
    return figure


def _corners(menu: Menu) -> list[tuple[float, str, tuple[float, float]]]:
    names = ((menu.high_alone[0], "A: m* at high cost", (10, -14)), (menu.up[0], "C: high cost", (8, -28)))
    return [*names, (menu.down[0], "D: low cost", (4, 18))]


def _rent(table: pd.DataFrame, threshold: float) -> Figure:
    """Expected data, contributions and rent against the probability of low cost."""
    figure, (data, corners, rent) = panels(3, width=3.9, height=3.3)
    for formula, colour, line in (("corrected", COLOURS[3], "-"), ("printed", COLOURS[0], "--")):
        rows = table[table["formula"] == formula]
        style = {"color": colour, "linestyle": line}
        data.plot(rows["p"], rows["expected data"], label=formula, **style)
        corners.plot(rows["p"], rows["down (low cost)"], label=f"D {formula}", **style)
        corners.plot(rows["p"], rows["up (high cost)"], label=f"C {formula}", linewidth=2.4, **style)
        rent.plot(rows["p"], rows["rent"], label=formula, **style)
    known = table[table["formula"] == "corrected"]
    data.plot(known["p"], known["if costs were known"], color="0.5", linestyle=":", label="if costs were known")
    for panel in (data, corners, rent):
        panel.axvline(threshold, color="0.6", linestyle="-.", linewidth=0.9)
    rent.annotate("p = low/high", (threshold + 0.02, 0.5), xycoords=("data", "axes fraction"), color="0.4")
    chance = "probability p of low cost"
    dress(data, "(a) expected data of one owner", chance, "samples", "upper left")
    dress(corners, "(b) contributions: C high cost, D low cost", chance, "samples", "center right")
    dress(rent, "(c) information rent at low cost", chance, "utility over being alone", "upper right")
    return figure


if __name__ == "__main__":
    run_script(__file__)
