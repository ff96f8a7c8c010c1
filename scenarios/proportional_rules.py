"""How much data do proportional rules collect at best, and how does that depend on their exponent?

Owners that contribute less than the others get a model that is worse in proportion, to the power p: by data (PD), by
the value of their data alone (PV) or by Shapley value (PS).  The picture shows the data at the symmetric equilibrium
with the most data, beside value shaping (Karimireddy et al. 2022, Appendix C.2.2 and Figure 6).

The printed collapse at p = 1 is a matter of how the equilibrium is chosen.  The last contribution that withstands
*small* deviations leaves an owner just below what it has outside, so it drops out (--set deviations=small).  Of the
contributions that withstand *all* deviations, leaving included, PD's largest is that of value shaping (the default).
Whoever leaves has what it could reach alone, or nothing (--set outside=nothing); alone is nothing, too, at the costs
of Figure 6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import InputError, Scenario, population, run_script
from fedabm.accuracy import PacBound
from fedabm.checks import check_count, check_positive, check_range
from fedabm.costs import Linear
from fedabm.figures import dress, panels, protocol_looks, thousands
from fedabm.mechanisms import Proportional, ProportionalData, ProportionalShapley, ProportionalValue, shaped_equilibrium
from fedabm.papers import karimireddy2022
from fedabm.study import Study

_RULES: dict[str, type[Proportional]] = {"PD": ProportionalData, "PV": ProportionalValue, "PS": ProportionalShapley}
_FULL = {"PD": "PD, by data", "PV": "PV, by value alone", "PS": "PS, by Shapley value"}
#: Shapley values of ten thousand owners make proofs slow
_TOLERANCES = {"PD": 1e-7, "PV": 1e-7, "PS": 5e-4}


def run(
    study: Study,
    owners: int = 10_000,
    cost: float = 0.1,
    powers: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    outside: karimireddy2022.Outside = "alone",
    deviations: karimireddy2022.Deviations = "all",
    ceiling: float = 0.95,
    complexity: float = 1.0,
    simulated: int = 100,
) -> None:
    """Compute the largest symmetric equilibrium of each rule and power, and play small federations from there.

    owners      number of owners
    cost        cost of a sample
    powers      exponents p of the rules, each a point of the picture
    outside     what an owner has that leaves: what it reaches alone, or nothing
    deviations  which deviations an equilibrium must withstand: all, or small ones only
    ceiling     the best accuracy that any amount of data can reach
    complexity  complexity k of the problem: how much data a given accuracy takes
    simulated   owners in the small federations that are simulated

    Takes seconds.
    """
    if not powers:
        raise InputError("powers need values, got an empty list; give at least one")
    for power in powers:
        check_range("powers", power, 0.0, 1.0)
    check_positive("cost", cost)
    check_count("owners", owners, 2)
    check_count("simulated", simulated, 2)
    market = karimireddy2022.Market(PacBound(ceiling, complexity), cost, owners, outside)
    rows = [row for name in _RULES for row in _sweep(market, name, powers, deviations)]
    shaped = float(shaped_equilibrium(market.accuracy, Linear(np.full(owners, cost))).sum())
    table = pd.DataFrame(rows, columns=["rule", "p", "data per owner", "total data", "utility", "gap"])
    table["share of value shaping"] = table["total data"] / shaped
    _play(study, karimireddy2022.Market(market.accuracy, cost, simulated, outside))
    study.table(table, f"Symmetric equilibrium with the most data (n = {owners:,}, c = {cost:g})")
    study.note(f"Value shaping collects {shaped:,.2f} samples.")
    study.picture(_figure(table, shaped, market), "proportional_rules")


def _sweep(
    market: karimireddy2022.Market, name: str, powers: tuple[float, ...], deviations: karimireddy2022.Deviations
) -> list[tuple]:
    """Rows of the table; the gap is proven by the rule's own offers."""
    found, rows = karimireddy2022.largest_symmetric(market, _RULES[name], np.array(powers), deviations), []
    for power, each in zip(powers, found, strict=True):
        gap = max(market.gain(_RULES[name](power), each, _TOLERANCES[name]), 0.0) if each > 0 else 0.0
        rows.append((name, power, each, market.owners * each, float(market.utility(np.array(each))), gap))
    return rows


def _play(study: Study, market: karimireddy2022.Market, power: float = 0.5) -> None:
    """A small federation under each rule, starting from the largest symmetric equilibrium, and from nothing."""
    people = [market.cost] * market.owners
    for name, rule in _RULES.items():
        each = float(karimireddy2022.largest_symmetric(market, rule, np.array([power]))[0])
        for start in dict.fromkeys((each, 0.0)):
            owners = population(people, market.most, starts=start)
            label = f"{name}, p = {power:g}, {market.owners} owners from {start:.4g}"
            study.simulate(Scenario(owners, market.accuracy, rule(power), steps=20, record=None), label)


def _figure(table: pd.DataFrame, shaped: float, market: karimireddy2022.Market) -> Figure:
    """Figure 6."""
    figure, (panel,) = panels(1, width=5.8, height=4.0)
    looks = protocol_looks([*_RULES, "ValueShaping"])
    for name in _RULES:
        rows = table[table["rule"] == name].sort_values("p")
        panel.plot(rows["p"], rows["total data"], markersize=5, label=_FULL[name], **looks[name].line)
    level = looks["ValueShaping"].line | {"marker": ""}
    panel.axhline(shaped, linewidth=2, label="value shaping", **level)
    if shaped > 0:
        panel.set_ylim(-0.04 * shaped, 1.4 * shaped)
    thousands("y", panel)
    title = f"Equilibrium with the most data (n = {market.owners:,}, c = {market.cost:g})"
    dress(panel, title, "exponent p", "total data (samples)", "upper left")
    return figure


if __name__ == "__main__":
    run_script(__file__)
