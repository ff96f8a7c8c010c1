"""How much data can a federation collect without money if models are only as good as their owners' contributions?

Value shaping returns just a little more than each further sample costs, up to the full model (Karimireddy et al.
2022, eq. 11).  The first picture shows what one owner is offered (Figure 3); the second what owners collect at the
equilibrium with the most data, against their number and their cost, and how many are needed to begin at all (Figure
4).  Every cost in Figure 4 is too high for an owner alone, so standard federated learning would collect nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Federation, Game, InputError, Scenario, population, run_script
from fedabm.accuracy import PacBound
from fedabm.checks import MOST_COUNTED, check_count, check_positive
from fedabm.costs import Linear
from fedabm.figures import COLOURS, dress, mark, offer_curves, panels, powers
from fedabm.games import Array, individual_optimum, smallest_federation
from fedabm.mechanisms import ValueShaping
from fedabm.papers import karimireddy2022
from fedabm.study import Study


def run(
    study: Study,
    owners: int = 10_000,
    cost: float = 0.1,
    complexities: tuple[float, ...] = (1.0, 10.0, 100.0),
    ceiling: float = 0.95,
    shown_owners: int = 3,
    shown_cost: float = 1e-3,
    points: int = 25,
) -> None:
    """Play a small federation for the offer's picture, then compute totals for large ones.

    owners        number of owners in the large federation
    cost          cost of a sample there
    complexities  complexities k, each a curve
    ceiling       the best accuracy that any amount of data can reach
    shown_owners  number of owners in the federation whose offer is drawn
    shown_cost    cost of a sample there
    points        points of the curves in the picture

    Takes seconds.
    """
    if not complexities:
        raise InputError("complexities need values, got an empty list; give at least one")
    check_positive("costs", (cost, shown_cost))
    for name, number, least in (("owners", owners, 1), ("shown_owners", shown_owners, 1), ("points", points, 2)):
        check_count(name, number, least)
    easy = PacBound(ceiling, 1.0)
    played = study.simulate(_scenario(easy, shown_cost, shown_owners), f"{shown_owners} owners, cost {shown_cost:g}")
    few = 2 * smallest_federation(easy, cost)
    if few > MOST_COUNTED:
        raise InputError(f"{few:.3g} owners would be needed to begin; raise ceiling or lower cost")
    for start, label in ((0.0, "starting from nothing"), (1.0, "starting from all their data")):
        study.simulate(_scenario(easy, cost, few, start), f"{few} owners, cost {cost:g}, {label}")
    study.table(_played(study), "Simulated federations under value shaping, last step", "simulated")
    oracles = [PacBound(ceiling, k) for k in complexities]
    study.table(_totals(oracles, cost, owners), f"Equilibrium with the most data (n = {owners:,}, c = {cost:g})")
    limit = karimireddy2022.largest_complexity(ceiling, cost, owners)
    study.note(f"With n = {owners:,} and c = {cost:g} problems up to complexity k = {limit:.0f} can be solved.")
    study.picture(_offer(played), "value_shaping_offer")
    study.picture(_sweeps(oracles, cost, owners, points), "value_shaping")


def _scenario(accuracy: PacBound, cost: float, owners: int, start: float = 0.0) -> Scenario:
    """Equal owners that respond to each other, starting from a share of all their data."""
    capacity = accuracy.ceiling / cost
    people = population([cost] * owners, capacity, starts=start * capacity)
    return Scenario(people, accuracy, ValueShaping(), record=None)


def _played(study: Study) -> pd.DataFrame:
    frames = study.frames
    table = frames.runs[["label", "owners", "steps", "status", "gap"]].copy()
    last = frames.owners.groupby("run")
    table.insert(2, "data (samples)", last["contribution"].sum().to_numpy())
    table.insert(3, "utility per owner", last["utility"].mean().to_numpy())
    return table


def _totals(oracles: Sequence[PacBound], cost: float, owners: int) -> pd.DataFrame:
    rows = []
    for oracle in oracles:
        alone = individual_optimum(oracle, Linear(np.array([cost])), np.array([oracle.ceiling / cost]))[0][0]
        found = karimireddy2022.shaped_total(oracle, cost, owners)
        rows.append((oracle.complexity, alone, found, found / owners, smallest_federation(oracle, cost)))
    names = ["complexity k", "m* alone", "total data (samples)", "data per owner", "smallest viable n"]
    return pd.DataFrame(rows, columns=names)


def _offer(played: Federation) -> Figure:
    """Figure 3 for an owner in equilibrium with the others."""
    scenario, given = played.scenario, played.population.contribution
    accuracy = scenario.accuracy
    cost = played.population.cost
    capacity = played.population.capacity
    offers = Game(accuracy, cost, capacity, scenario.mechanism).offers(given)
    alone = individual_optimum(accuracy, cost, capacity)[0][0]
    figure, (panel,) = panels(1, width=5.6, height=4.0)
    x = np.linspace(0.0, 1.6 * given[0], 801)
    offer_curves(panel, offers, accuracy.curves(np.zeros(len(given))), x)
    for place, name, shift in ((alone, "m*", (10, -10)), (given[0], r"$m^{max}$", (8, -14))):
        value = float(offers.take([0]).received.value(np.array([place]))[0])
        panel.plot([place, place], [0, value], color="0.4", linestyle=":", linewidth=1)
        mark(panel, place, value, f"{name} = {place:,.0f}", shift)
    panel.set_ylim(0, 1)
    title = f"What value shaping returns to one of {len(given)} owners (c = {cost.rate[0]:g})"
    dress(panel, title, "own contribution m (samples)", "value of the model", "upper left")
    return figure


def _sweeps(oracles: Sequence[PacBound], cost: float, owners: int, points: int) -> Figure:
    """Figure 4 (a)-(c), and the smallest number of owners against complexity."""
    figure, (by_owners, by_cost, few_by_cost, few_by_complexity) = panels(4, rows=2, width=4.2, height=3.2)
    names = [f"k = {oracle.complexity:g}" for oracle in oracles]
    sizes = np.unique(np.geomspace(10, owners, points).astype(int))
    found = [np.array([karimireddy2022.shaped_total(oracle, cost, n) for n in sizes]) for oracle in oracles]
    powers(by_owners, sizes.astype(float), dict(zip(names, found, strict=True)))
    dress(by_owners, f"(a) cost c = {cost:g}", "number of owners n", "total data (samples)", "upper left")
    rates = np.geomspace(cost / 10, cost * 10, points)
    found = [np.array([karimireddy2022.shaped_total(oracle, rate, owners) for rate in rates]) for oracle in oracles]
    powers(by_cost, rates, dict(zip(names, found, strict=True)))
    dress(by_cost, f"(b) n = {owners:,} owners", "marginal cost c per sample", "total data (samples)", "lower left")
    powers(few_by_cost, rates, {name: _fewest(oracle, rates) for name, oracle in zip(names, oracles, strict=True)})
    dress(few_by_cost, "(c) owners needed to begin", "marginal cost c per sample", "smallest viable n", "upper left")
    hardness = np.geomspace(1, 1e4, points)
    fewest = np.array([smallest_federation(PacBound(oracles[0].ceiling, k), cost) for k in hardness], dtype=float)
    powers(few_by_complexity, hardness, {f"c = {cost:g}": fewest}, colours=("black",))
    few_by_complexity.axhline(owners, color=COLOURS[3], linestyle="--", linewidth=1, label=f"n = {owners:,}")
    dress(few_by_complexity, "(d) owners needed to begin", "complexity k", "smallest viable n", "upper left")
    return figure


def _fewest(accuracy: PacBound, rates: Array) -> Array:
    return np.array([smallest_federation(accuracy, rate) for rate in rates], dtype=float)


if __name__ == "__main__":
    run_script(__file__)
