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

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Scenario, population
from fedabm.analysis.curves import COLOURS, LINES, dress, panels, thousands
from fedabm.cli import run_script
from fedabm.common.errors import InputError, check_positive, check_range, check_whole
from fedabm.games.accuracy import PacBound
from fedabm.games.best import best_response
from fedabm.games.costs import Cost, Linear
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum
from fedabm.games.offers import Offers
from fedabm.games.roots import falling_root
from fedabm.mechanisms.proportional import Proportional, ProportionalData, ProportionalValue
from fedabm.mechanisms.proportional_shapley import ProportionalShapley
from fedabm.mechanisms.value_shaping import shaped_equilibrium
from fedabm.study.study import Study
from fedabm.views import Reports

_RULES: dict[str, type[Proportional]] = {"PD": ProportionalData, "PV": ProportionalValue, "PS": ProportionalShapley}
_FULL = {"PD": "PD, by data", "PV": "PV, by value alone", "PS": "PS, by Shapley value"}
#: Shapley values of ten thousand owners make proofs slow
_TOLERANCES = {"PD": 1e-7, "PV": 1e-7, "PS": 5e-4}
Outside = Literal["alone", "nothing"]
Deviations = Literal["all", "small"]


def run(
    study: Study,
    owners: int = 10_000,
    cost: float = 0.1,
    powers: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    outside: Outside = "alone",
    deviations: Deviations = "all",
    ceiling: float = 0.95,
    complexity: float = 1.0,
    simulated: int = 100,
) -> None:
    """Compute the largest symmetric equilibrium of each rule and power, and play small federations from there."""
    if not powers:
        raise InputError("powers need values, got an empty list; give at least one")
    for power in powers:
        check_range("powers", power, 0.0, 1.0)
    check_positive("cost", cost)
    check_whole("owners", owners, 2)
    check_whole("simulated", simulated, 2)
    market = Market(PacBound(ceiling, complexity), cost, owners, outside)
    rows = [row for name in _RULES for row in _sweep(market, name, powers, deviations)]
    shaped = float(shaped_equilibrium(market.accuracy, Linear(np.full(owners, cost))).sum())
    table = pd.DataFrame(rows, columns=["rule", "p", "data per owner", "total data", "utility", "gap"])
    table["share of value shaping"] = table["total data"] / shaped
    _play(study, Market(market.accuracy, cost, simulated, outside))
    study.table(table, f"Symmetric equilibrium with the most data (n = {owners:,}, c = {cost:g})")
    study.note(f"Value shaping collects {shaped:,.2f} samples.")
    study.picture(_figure(table, shaped, market), "proportional_rules")


@dataclass(frozen=True)
class Market:
    """Equal owners with a common cost, and what they have if they leave."""

    accuracy: PacBound
    cost: float
    owners: int
    outside: Outside = "alone"

    @property
    def most(self) -> float:
        """The best model is worth no more data than this."""
        return self.accuracy.ceiling / self.cost

    @property
    def elsewhere(self) -> float:
        """Utility of an owner that leaves."""
        alone = individual_optimum(self.accuracy, Linear(np.array([self.cost])), np.array([self.most]))[1]
        return float(alone[0]) if self.outside == "alone" else 0.0

    def utility(self, each: Array) -> Array:
        """v(n m) - c m."""
        return self.accuracy.curve(self.owners * each) - self.cost * each

    def offers(self, rule: Proportional, each: float) -> Offers:
        """What one owner is offered while all others contribute `each`."""
        return rule.offers(self.accuracy, Reports(np.full(self.owners, each), np.full(self.owners, self.most))).take(
            [0]
        )

    def gain(self, rule: Proportional, each: float, tolerance: float) -> float:
        """A proven bound on what an owner could gain by any other contribution, or by leaving."""
        cost = Cost(np.array([self.cost]), np.ones(1), np.zeros(1))
        capacity = np.array([self.most])
        best = best_response(self.offers(rule, each), cost, capacity, certify=True, tolerance=tolerance)
        return max(float(best.bound[0]), self.elsewhere) - float(self.utility(np.array(each)))

    def rational(self) -> float:
        """The largest common contribution that leaves nobody worse off than elsewhere; 0 if there is none."""
        low, high = np.array([self.accuracy.viable * (1 + 1e-12) / self.owners]), np.array([self.most])
        peak = falling_root(lambda m: self.owners * self.accuracy.curve_slope(self.owners * m) - self.cost, low, high)
        last = falling_root(lambda m: self.utility(m) - self.elsewhere, peak, high)
        return float(last[0]) if self.utility(peak)[0] >= self.elsewhere else 0.0


def largest_symmetric(
    market: Market, rule: type[Proportional], powers: Array, deviations: Deviations = "all", points: int = 120
) -> Array:
    """For each power, the largest contribution m such that no owner leaves it if all contribute m.

    Giving a little less must not pay: power * pressure(m) + v'(n m) >= c, where the pressure is what a first bit less
    costs the owner at power 1, by the rule's own offers.
    """
    top = market.rational() if deviations == "all" else market.most
    grid = np.linspace(0.0, top, points + 1)[1:]
    known = np.array([_pressure(market, rule, each) for each in grid]) if top > 0 else np.zeros((points, 2))
    return np.array([_last(market, rule, power, grid, known, deviations) for power in powers])


def _pressure(market: Market, rule: type[Proportional], each: float) -> tuple[float, float]:
    """What a little less costs an owner through its rank at power 1, and through the total."""
    offers, below = market.offers(rule(1.0), each), np.array([each * (1 - 1e-9)])
    total = float(offers.accuracy.slope(below)[0])
    return float(offers.received.slope(below)[0]) - total, total


def _last(
    market: Market, rule: type[Proportional], power: float, grid: Array, known: Array, deviations: Deviations
) -> float:
    """The last contribution that withstands small deviations and, if wanted, all others."""
    holds = np.flatnonzero(power * known[:, 0] + known[:, 1] >= market.cost)
    if len(holds) == 0:
        return 0.0

    def settled(each: float) -> bool:
        rank, total = _pressure(market, rule, each)
        return power * rank + total >= market.cost

    last = _bisect(settled, grid[holds[-1]], grid[min(holds[-1] + 1, len(grid) - 1)])
    if deviations == "small":
        return last if market.utility(np.array(last)) >= market.elsewhere else 0.0
    return _descend(lambda each: _withstands(market, rule(power), each), last)


def _withstands(market: Market, rule: Proportional, each: float) -> bool:
    """A quick look at all smaller contributions; the table proves the result by branch and bound."""
    trial = np.linspace(0.0, each, 65)[None]
    utility = market.offers(rule, each).received.value(trial)[0] - market.cost * trial[0]
    return bool(np.max(utility) <= utility[-1] + 1e-9)


def _descend(holds: Callable[[float], bool], top: float, parts: int = 24) -> float:
    """The largest value up to `top` that holds: the first on a falling grid, sharpened."""
    if holds(top):
        return top
    falling = np.linspace(top, 0.0, parts + 1)
    for above, here in pairwise(falling[:-1]):
        if holds(here):
            return _bisect(holds, here, above, 1e-5)
    return 0.0


def _bisect(holds: Callable[[float], bool], low: float, high: float, width: float = 1e-10) -> float:
    """Where a condition that holds at `low` ends, if not beyond `high`."""
    while high - low > width * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(low)


def _sweep(market: Market, name: str, powers: tuple[float, ...], deviations: Deviations) -> list[tuple]:
    """Rows of the table; the gap is proven by the rule's own offers."""
    found, rows = largest_symmetric(market, _RULES[name], np.array(powers), deviations), []
    for power, each in zip(powers, found, strict=True):
        gap = max(market.gain(_RULES[name](power), each, _TOLERANCES[name]), 0.0) if each > 0 else 0.0
        rows.append((name, power, each, market.owners * each, float(market.utility(np.array(each))), gap))
    return rows


def _play(study: Study, market: Market, power: float = 0.5) -> None:
    """A small federation under each rule, starting from the largest symmetric equilibrium, and from nothing."""
    people = [market.cost] * market.owners
    for name, rule in _RULES.items():
        each = float(largest_symmetric(market, rule, np.array([power]))[0])
        for start in dict.fromkeys((each, 0.0)):
            owners = population(people, market.most, starts=start)
            label = f"{name}, p = {power:g}, {market.owners} owners from {start:.4g}"
            study.simulate(Scenario(owners, market.accuracy, rule(power), steps=20, record=None), label)


def _figure(table: pd.DataFrame, shaped: float, market: Market) -> Figure:
    """Figure 6."""
    figure, (panel,) = panels(1, width=5.8, height=4.0)
    for turn, (name, marker) in enumerate(zip(_RULES, "os^", strict=True)):
        rows = table[table["rule"] == name].sort_values("p")
        style = {"color": COLOURS[turn], "linestyle": LINES[turn], "marker": marker, "markersize": 5}
        panel.plot(rows["p"], rows["total data"], label=_FULL[name], **style)
    panel.axhline(shaped, color="black", linestyle="--", label="value shaping")
    if shaped > 0:
        panel.set_ylim(-0.04 * shaped, 1.4 * shaped)
    thousands("y", panel)
    title = f"Equilibrium with the most data (n = {market.owners:,}, c = {market.cost:g})"
    dress(panel, title, "exponent p", "total data (samples)", "upper left")
    return figure


if __name__ == "__main__":
    run_script(__file__)
