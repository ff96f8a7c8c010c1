"""Who still contributes when some owners' data cost twice as much: under value shaping, and under proportional data?

Owners with low and high costs in a mixture (Karimireddy et al. 2022, Appendix C.2.3 and Figure 7).  Value shaping
asks each owner for what its own cost allows.  Proportional data (PD) compares all with the best contributor, whatever
their costs.

The printed "50x" depends on what PD's exponent p and its equilibrium are tuned for, and on what an owner has that
leaves. Tuned for the most data from low-cost owners, PD makes high-cost owners opt out, and collects next to nothing
where few owners have low cost.  Tuned for the most data in total, it asks all for what high-cost owners can bear, and
nobody leaves.  Both are drawn; --set outside=nothing takes away what owners could reach alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import InputError, Scenario, population, run_script
from fedabm.accuracy import PacBound
from fedabm.checks import check_count, check_range
from fedabm.costs import Linear, PowerCost
from fedabm.figures import dress, mechanism_looks, panels
from fedabm.games import Array, ProofLimits, best_response, individual_optimum
from fedabm.mechanisms import ProportionalData, ValueShaping, shaped_equilibrium
from fedabm.study import Study
from fedabm.views import Reports

Outside = Literal["alone", "nothing"]
Goal = Literal["low_cost", "total"]
_GOALS = {"low_cost": "PD (low-cost owners)", "total": "PD (total)"}

_LEGEND = {_GOALS["low_cost"]: "low-cost owners", _GOALS["total"]: "all owners"}


def run(
    study: Study,
    owners: int = 10_000,
    low: float = 1e-4,
    high: float = 2e-4,
    fractions: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    outside: Outside = "alone",
    tuned_for: tuple[Goal, ...] = ("low_cost", "total"),
    ceiling: float = 0.95,
    complexity: float = 1.0,
    simulated: int = 20,
) -> None:
    """Both mechanisms for every mixture; a small federation of each is simulated.

    owners      number of owners
    low         cost of a sample for low-cost owners
    high        cost of a sample for the others
    fractions   shares of low-cost owners, each a point of the picture
    outside     what an owner has that leaves: what it reaches alone, or nothing
    tuned_for   what the exponent of proportional data is chosen for: data of low-cost owners, or in total
    ceiling     the best accuracy that any amount of data can reach
    complexity  complexity k of the problem: how much data a given accuracy takes
    simulated   owners in the small federations that are simulated

    Takes seconds.
    """
    if not 0 < low < high:
        raise InputError(f"costs must be 0 < low < high, got {low:g} and {high:g}; raise high")
    if not fractions:
        raise InputError("fractions need values, got an empty list; give at least one")
    check_count("owners", owners, 2)
    check_count("simulated", simulated, 2)
    for share in fractions:
        check_range("fraction of low-cost owners", share, 0.0, 1.0)
    fractions = tuple(dict.fromkeys(fractions))
    mixture = Mixture(PacBound(ceiling, complexity), low, high, owners, outside)
    tables = [_shaped(mixture, fractions), *(_proportional(mixture, fractions, goal) for goal in tuned_for)]
    table = pd.concat(tables, ignore_index=True)
    shaped = table[table["mechanism"] == "value shaping"].set_index("low-cost share")["total data"]
    table["value shaping / this"] = shaped.loc[table["low-cost share"]].to_numpy() / table["total data"]
    _play(study, Mixture(mixture.accuracy, low, high, simulated, outside), tuned_for)
    title = f"Data of n = {owners:,} owners with costs {low:g} and {high:g}; in brackets: whose data PD is tuned for"
    study.table(table, title)
    study.picture(_figure(table), "cost_discrimination")


@dataclass(frozen=True)
class Mixture:
    """Owners of two costs, and what they have if they leave."""

    accuracy: PacBound
    low: float
    high: float
    owners: int
    outside: Outside = "alone"

    def number(self, fraction: float) -> int:
        """How many owners have low cost."""
        return round(fraction * self.owners)

    def costs(self, fraction: float) -> Array:
        """Low-cost owners first."""
        return np.where(np.arange(self.owners) < self.number(fraction), self.low, self.high)

    def elsewhere(self) -> tuple[float, float]:
        """Utility of a low-cost and of a high-cost owner that leaves."""
        rates = np.array([self.low, self.high])
        alone = individual_optimum(self.accuracy, Linear(rates), self.accuracy.ceiling / rates)[1]
        return (float(alone[0]), float(alone[1])) if self.outside == "alone" else (0.0, 0.0)


@dataclass(frozen=True)
class Split:
    """Equilibria of PD: what a low-cost and a high-cost owner contribute at each power and level, and in total."""

    power: Array
    low: Array
    high: Array
    total: Array


def candidates(mixture: Mixture, fraction: float, powers: int = 101, levels: int = 41, rounds: int = 400) -> Split:
    """Equilibria in which low-cost owners are level with each other, over a grid of powers p and levels.

    With v = v(S), a low-cost owner keeps up with the others while p v / x + v' >= low, and stays while v - low x is
    not below what it has elsewhere; a high-cost owner keeps up while p v / x + v' >= high, or else falls behind to the
    share r of the level x where p v r^p / (r x) + r^p v' = high, and leaves if that is worse than elsewhere.  Levels
    run from where high-cost owners keep up to the highest that low-cost owners bear.  S falls from above to its fixed
    point.
    """
    power, step = (np.ravel(part) for part in np.meshgrid(np.linspace(0.0, 1.0, powers), np.linspace(0, 1, levels)))
    away, number = mixture.elsewhere(), mixture.number(fraction)
    total, share = np.full(power.shape, mixture.owners * mixture.accuracy.ceiling / mixture.low), np.ones(power.shape)
    for _ in range(rounds):
        value, slope = mixture.accuracy.curve(total), mixture.accuracy.curve_slope(total)
        top = _bearable(power, value, slope, mixture.low, away[0])
        joint = np.minimum(top, _bearable(power, value, slope, mixture.high, away[1]))
        most, least = (top, joint) if number > 1 else (joint, joint)
        level = least + step * (most - least)
        share = _share(power, value, slope, level, joint, share, mixture.high)
        behind = share**power * value - mixture.high * share * level
        share = np.where(behind < away[1] - 1e-12, 0.0, share)
        before, total = total, level * (number + share * (mixture.owners - number))
        if np.all(np.abs(total - before) <= 1e-13 * before):
            break
    return Split(power, level, share * level, total)


def _bearable(power: Array, value: Array, slope: Array, cost: float, away: float) -> Array:
    """The most that owners of this cost contribute at the top: neither a little less nor leaving may pay."""
    keeps_up = np.divide(power * value, cost - slope, out=np.full(power.shape, np.inf), where=slope < cost)
    return np.maximum(np.minimum(keeps_up, (value - away) / cost), 0.0)


def _share(power: Array, value: Array, slope: Array, level: Array, joint: Array, last: Array, cost: float) -> Array:
    """r = (p v / (x (cost - r^p v')))^(1/(1-p)), at most 1, with the r of the last round on the right."""
    with np.errstate(divide="ignore", invalid="ignore"):
        base = power * value / (level * np.maximum(cost - last**power * slope, 1e-300))
        share = np.minimum(base, 1.0) ** (1.0 / (1.0 - power))
    return np.where(level <= joint, 1.0, np.nan_to_num(share))


def tuned(mixture: Mixture, fraction: float, goal: Goal) -> tuple[float, float, float]:
    """Power, low-cost and high-cost contribution of the equilibrium with the most data of the kind `goal`."""
    found = candidates(mixture, fraction)
    wanted = found.low if goal == "low_cost" and mixture.number(fraction) else found.total
    # Among equally good ones the one with most data in total.
    near = wanted >= wanted.max() * (1 - 1e-9)
    best = int(np.argmax(np.where(near, found.total, -1.0)))
    return float(found.power[best]), float(found.low[best]), float(found.high[best])


def gap(mixture: Mixture, fraction: float, power: float, low: float, high: float) -> float:
    """A proven bound on what an owner of either cost could gain, by PD's own offers or by leaving.

    Owners that contribute nothing have left; they must not gain by coming back.
    """
    costs = mixture.costs(fraction)
    profile = np.where(costs == mixture.low, low, high)
    rows = [int(np.argmax(costs == cost)) for cost in np.unique(costs)]
    offers = ProportionalData(power).offers(mixture.accuracy, Reports(profile, mixture.accuracy.ceiling / costs))
    mine, cost = offers.take(rows), PowerCost(costs[rows], np.ones(len(rows)), np.zeros(len(rows)))
    best = best_response(mine, cost, mixture.accuracy.ceiling / costs[rows], certify=ProofLimits(1e-8))
    away = np.array([mixture.elsewhere()[int(rate == mixture.high)] for rate in costs[rows]])
    inside = mine.received.value(profile[rows]) - cost.value(profile[rows])
    now = np.where(profile[rows] > 0, inside, away)
    return float(np.max(np.maximum(best.bound, away) - now, initial=0.0))


def _row(mixture: Mixture, share: float, name: str, each: tuple[float, float]) -> dict[str, object]:
    """One row of the table; nobody of a kind means nothing from each of them."""
    number = mixture.number(share)
    low, high = each[0] * (number > 0), each[1] * (number < mixture.owners)
    dear = high * (mixture.owners - number)
    found = {"each low-cost": low, "each high-cost": high, "high-cost data": dear, "total data": low * number + dear}
    return {"mechanism": name, "low-cost share": share, **found}


def _shaped(mixture: Mixture, fractions: tuple[float, ...]) -> pd.DataFrame:
    rows = []
    for share in fractions:
        given = shaped_equilibrium(mixture.accuracy, Linear(mixture.costs(share)))
        rows.append(_row(mixture, share, "value shaping", (float(given[0]), float(given[-1]))))
    return pd.DataFrame(rows)


def _proportional(mixture: Mixture, fractions: tuple[float, ...], goal: Goal) -> pd.DataFrame:
    rows = []
    for share in fractions:
        power, low, high = tuned(mixture, share, goal)
        proof = gap(mixture, share, power, low, high)
        rows.append({**_row(mixture, share, _GOALS[goal], (low, high)), "p": power, "gap": proof})
    return pd.DataFrame(rows)


def _play(study: Study, mixture: Mixture, tuned_for: tuple[Goal, ...], fraction: float = 0.5) -> None:
    """Value shaping and PD among a few owners, half of them with low cost, starting at the equilibria above."""
    costs = mixture.costs(fraction)
    capacity = mixture.accuracy.ceiling / costs
    start = shaped_equilibrium(mixture.accuracy, Linear(costs))
    people = population(costs.tolist(), capacity, starts=start)
    study.simulate(Scenario(people, mixture.accuracy, ValueShaping(), steps=50, record=None), "value shaping")
    for goal in tuned_for:
        power, low, high = tuned(mixture, fraction, goal)
        people = population(costs.tolist(), capacity, starts=np.where(costs == mixture.low, low, high))
        scenario = Scenario(people, mixture.accuracy, ProportionalData(power), steps=50, record=None)
        study.simulate(scenario, f"{_GOALS[goal]}, p = {power:g}")


def _figure(table: pd.DataFrame) -> Figure:
    """Figure 7: totals and high-cost owners' data, value shaping on the left, PD on the right."""
    figure, axes = panels(4, rows=2, width=4.0, height=3.0)
    names = ["value shaping", "value shaping", *["PD"] * 2]
    columns = ["total data", "high-cost data"] * 2
    kinds = list(table["mechanism"].unique())
    looks = mechanism_looks({kind: "ProportionalData" if kind.startswith("PD") else "ValueShaping" for kind in kinds})
    for turn, (panel, name, column) in enumerate(zip(axes, names, columns, strict=True)):
        for kind in (kind for kind in kinds if kind.startswith(name)):
            rows = table[table["mechanism"] == kind].sort_values("low-cost share")
            label = f"PD for most data of {_LEGEND[kind]}" if kind in _LEGEND else kind
            panel.plot(rows["low-cost share"], rows[column] / 1e6, markersize=4, label=label, **looks[kind].line)
        what = "total" if column == "total data" else "high-cost owners"
        dress(panel, f"({'abcd'[turn]}) {name}: {what}", "fraction of low-cost owners", "data (million samples)")
    for pair in (axes[::2], axes[1::2]):
        top = max(panel.get_ylim()[1] for panel in pair)
        for panel in pair:
            panel.set_ylim(-0.03 * top, top)
    handles, labels = axes[2].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncol=2, frameon=False)
    return figure


if __name__ == "__main__":
    run_script(__file__)
