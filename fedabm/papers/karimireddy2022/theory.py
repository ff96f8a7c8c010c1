"""Karimireddy et al. 2022: individual optimum, free-riding and accuracy shaping, rows K01 to K12."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from fedabm.games.accuracy import PacBound, PowerLaw
from fedabm.games.costs import Linear, PowerCost, stack
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum, smallest_federation, viability_cost
from fedabm.games.roots import falling_root
from fedabm.mechanisms import NoPayments, Screening, ValueShaping
from fedabm.mechanisms.value_shaping import shaped_equilibrium
from fedabm.papers.karimireddy2022.restless import restless
from fedabm.papers.karimireddy2022.shaping import largest_complexity, optima_alone, shaped_total
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.trials import agree, close, numbers, play, trials
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.views import Reports

Value = PacBound | PowerLaw


def _value(rng: np.random.Generator) -> Value:
    """A random value function of the total, with or without minimum viability."""
    if rng.random() < 0.5:
        return PacBound(rng.uniform(0.5, 1.0), rng.uniform(0.5, 20.0))
    return PowerLaw(rng.uniform(0.3, 3.0), rng.uniform(0.2, 2.0), rng.uniform(0.5, 2.0))


def _owners(rng: np.random.Generator, accuracy: Value) -> tuple[PowerCost, Array]:
    """Costs below and above what an owner alone can bear, and capacities that do not bind."""
    rates = rng.uniform(0.02, 3.0, int(rng.integers(2, 6))) * viability_cost(accuracy)
    return Linear(rates).each(len(rates)), 3 * accuracy.ceiling / rates


@row(
    "K01",
    "Theorem I, Fig. 1: individual optimum, low / mid / high cost",
    published="positive for low cost, 0 for mid and high",
    preset="fedabm run individual_optimum",
)
def theorem_i(budget: Budget) -> Finding:
    """The scenario's owners, the optimality condition, and the order of optima by cost."""

    def violation(rng: np.random.Generator) -> float:
        accuracy = _value(rng)
        costs = np.sort(rng.uniform(0.01, 1.5, 6)) * viability_cost(accuracy)
        best, utility = individual_optimum(accuracy, Linear(costs), 3 * accuracy.ceiling / costs)
        slack = np.abs(accuracy.curve_slope(best) - costs)[best > 0] / costs[best > 0]
        return max(
            float(np.max(slack, initial=0)), float(np.max(np.diff(best) / best.max())), float(np.max(np.diff(utility)))
        )

    found = trials(budget, violation, 1e-9)
    table = play("individual_optimum")["summary"]["m* (samples)"].to_numpy()
    cheap = optima_alone(PacBound(), np.array([1e-4, 1e-3]))
    right = agree(cheap, [1148.388915, 238.113009], 6) and close(table, [238.113009, 0, 0], 1e-6)
    ours = f"m* = {numbers(table)} at c = 0.001, 0.003, 0.01; {cheap[0]:.6f} at 0.0001; b'(m*) = c and order: {found}"
    return holds(
        ours, right and found.holds, "v = max(0, b) for m >= k only: the formula has a spurious bump near k e^-2"
    )


@row(
    "K02",
    "Fig. 2: m* proportional to c^(-2/3), viability cut-offs by k",
    published="slope -2/3; harder problems stop earlier",
    preset="fedabm run individual_optimum",
)
def figure_2(budget: Budget) -> Finding:
    """Slope over two decades of cost, and the largest cost at which an owner starts alone."""
    table = play("individual_optimum")["viability"]
    slopes, limits = table.iloc[:, -1].to_numpy(), table["viability cost"].to_numpy()
    right = close(slopes, -2 / 3, 0.03) and bool(np.all(np.diff(limits) < 0)) and agree(limits[0], 2.122022e-3, 9)
    ours = f"slopes {numbers(slopes, 3)}, cut-offs {', '.join(f'{limit:.6e}' for limit in limits)} for k = 1, 10, 100"
    return holds(ours, right)


@row("K03", "Theorem II: pure equilibrium of feasible mechanisms")
def theorem_ii(budget: Budget) -> Finding:
    """Three mechanisms on random games, and one that is feasible but not monotone in the others' data."""

    def gap(rng: np.random.Generator) -> float:
        accuracy = _value(rng)
        costs, capacity = _owners(rng, accuracy)
        low = float(costs.rate.min())
        rule = (NoPayments(), ValueShaping(), Screening(low, 3 * low, 0.4))[int(rng.integers(3))]
        return solve(Game(accuracy, costs, capacity, rule), tolerance=1e-8).gap

    found = trials(budget, gap, 1e-8, share=0.3)
    rule, full = restless()
    game = Game(rule, [0.2, 0.2], 1.0, NoPayments())
    grid = np.array(list(itertools.product(np.linspace(0, 1, 21), repeat=2)))
    feasible = bool(np.all(rule.values(grid) <= full.values(grid) + 1e-12))
    replies = np.unique(np.concatenate([game.best_responses(profile) for profile in grid]))
    least = min(game.gap(np.array(profile)) for profile in itertools.product(replies, repeat=2))
    ours = f"certified gap at most 1e-8: {found}; a feasible max(0, nu) without equilibrium: gap at least {least:.2g}"
    reason = "needs monotonicity in the others' data: otherwise best responses jump and there may be no equilibrium"
    return corrected(ours, found.holds and feasible and close(len(replies), 2, 0), reason, as_printed=least < 1e-6)


@row(
    "K04",
    "Theorem III: only the cheapest owner contributes in standard FL",
    published="m_min* from one owner",
    preset="fedabm run free_riding_collapse",
)
def theorem_iii(budget: Budget) -> Finding:
    """The scenario for 1 to 40 owners, and random games."""

    def error(rng: np.random.Generator) -> float:
        accuracy = _value(rng)
        costs, capacity = _owners(rng, accuracy)
        best, _ = individual_optimum(accuracy, costs, capacity)
        expected = np.where(costs.rate == costs.rate.min(), best, 0.0)
        return (
            float(np.max(np.abs(solve(Game(accuracy, costs, capacity, NoPayments())).profile - expected)))
            / capacity.max()
        )

    found = trials(budget, error, 1e-7)
    table = play("free_riding_collapse")["summary"]
    some = table[table["costs"] == "costs an owner can bear"]
    right = close(some["simulated"], some["m* of cheapest"], 1e-5) and bool((some["contributors"] == 1).all())
    ours = f"{some['simulated'].iloc[-1]:.6g} of {some['owners'].max()} owners and of one; random games: {found}"
    return holds(ours, right and found.holds, "the lowest cost must be unique, else equilibria share m* in any way")


@row(
    "K05",
    "Remark 1: nobody contributes if nobody would alone",
    published="0",
    preset="fedabm run free_riding_collapse",
)
def remark_1(budget: Budget) -> Finding:
    """The scenario with costs too high, and two owners with equal costs that share what neither could bear."""
    table = play("free_riding_collapse")["summary"]
    hard = table[table["costs"] == "costs too high alone"]
    accuracy = PacBound()
    cost = 1.2 * viability_cost(accuracy)
    both = falling_root(
        lambda m: accuracy.curve_slope(m) - cost, np.array([accuracy.viable * 1.000001]), np.array([1e4])
    )
    game = Game(accuracy, [cost, cost], 1e3, NoPayments())
    single, _ = individual_optimum(accuracy, game.costs, game.capacities)
    gap = game.gap(np.repeat(both / 2, 2))
    nothing = bool((hard[["simulated", "solved"]] == 0).all(axis=None)) and not np.any(single)
    ours = f"{hard['simulated'].sum():g} in all federations of the scenario"
    reason = (
        f"needs a unique least-cost owner: two with equal costs, neither of which starts alone, have an equilibrium at "
        f"{both[0] / 2:.4g} each (gap {gap:.1g})"
    )
    return corrected(ours, nothing, reason, as_printed=gap > 1e-9)


@row(
    "K06",
    "Theorem IV: value shaping maximises data among feasible, rational mechanisms",
    preset="fedabm run value_shaping",
)
def theorem_iv(budget: Budget) -> Finding:
    """Feasible and rational owners give at most sum_i (v(S) - u_i*)/c_i: no larger total satisfies that."""

    def excess(rng: np.random.Generator) -> float:
        accuracy = _value(rng)
        costs, capacity = _owners(rng, accuracy)
        profile = shaped_equilibrium(accuracy, costs)
        _, utility = individual_optimum(accuracy, costs, capacity)
        most = np.sum((accuracy.ceiling - utility) / costs.rate)
        totals = np.linspace(profile.sum(), most, 400)[1:]
        allowed = np.sum((accuracy.curve(totals)[:, None] - utility) / costs.rate, axis=1)
        gap = Game(accuracy, costs, capacity, ValueShaping()).gap(profile)
        return max(gap - 1e-8, float(np.max(allowed - totals)) / most)

    found = trials(budget, excess, 1e-9)
    return holds(f"certified, and no larger total is feasible and rational: {found}", found.holds)


@row("K07", "Remark 3: c/n m_tot = v(m_tot)", published="c/n m_tot = v(m_tot)", preset="fedabm run value_shaping")
def remark_3(budget: Budget) -> Finding:
    """Equal owners that could not start alone."""

    def error(rng: np.random.Generator) -> float:
        accuracy, cost = PacBound(complexity=10 ** rng.uniform(0, 2)), 10 ** rng.uniform(-2, 0)
        owners = smallest_federation(accuracy, cost) * int(rng.integers(2, 50))
        total = shaped_total(accuracy, cost, owners)
        return abs(cost / owners * total - float(accuracy.curve(np.array(total)))) if total > 0 else np.inf

    found = trials(budget, error, 1e-9, share=0.5)
    return holds(str(found), found.holds)


@row("K08", "Fig. 3: the shaped value curve", preset="fedabm run value_shaping")
def figure_3(budget: Budget) -> Finding:
    """v(x) up to m*, then a line of slope c up to m_max, then the full model; feasible everywhere after capping."""
    accuracy, costs = PacBound(), stack([Linear(1e-3)] * 3)
    profile = shaped_equilibrium(accuracy, costs)
    capacity = np.full(3, 950.0)
    offers = ValueShaping().offers(accuracy, Reports(profile, capacity, costs))
    best = individual_optimum(accuracy, costs, capacity)[0]
    x = np.linspace(0, 950, 951)[None].repeat(3, axis=0)
    line = accuracy.curve(best)[:, None] + 1e-3 * (x - best[:, None])
    wanted = np.where(x <= best[:, None], accuracy.curve(x), np.minimum(line, offers.accuracy.value(x)))
    error = float(np.max(np.abs(offers.received.value(x) - wanted)))
    few = Reports(np.array([5.0, 10.0]), np.full(2, 100.0), stack([Linear(0.1)] * 2))
    full = float(ValueShaping().offers(accuracy, few).received.value(np.array([5.0, 5.0]))[0])
    promised = 0.1 * 5.0
    ours = f"m* = {best[0]:.6g}, m_max = {profile[0]:.6g}; largest distance from eq. (11) {error:.1g}"
    reason = (
        f"off equilibrium, where the others' data are not viable, eq. (11) promises more than the full model is worth "
        f"({promised:g} for 5 samples at c=0.1, worth {full:g}); capped here"
    )
    return corrected(ours, error < 1e-6 and full == 0, reason, as_printed=promised <= full)


def _elasticity(totals: Sequence[float], factor: float) -> Array:
    """Slopes of the logarithm over steps of a factor."""
    return np.diff(np.log(totals)) / np.log(factor)


@row(
    "K09",
    "Fig. 4 (a): total data against n",
    published="linear in n, relatively unaffected by k",
    preset="fedabm run value_shaping",
)
def figure_4a(budget: Budget) -> Finding:
    """Totals at c = 0.1 and n = 10,000, and how they grow."""
    totals = [shaped_total(PacBound(complexity=k), 0.1, 10_000) for k in (1.0, 100.0)]
    slopes = _elasticity([shaped_total(PacBound(), 0.1, n) for n in (10_000, 20_000, 40_000)], 2)
    ours = f"{totals[0]:.2f} (k=1), {totals[1]:.2f} (k=100) at n=10,000; slope of log total {numbers(slopes, 3)}"
    return holds(ours, agree(totals, [91972.16, 78735.42], 2) and close(slopes, 1.0, 0.02))


@row("K10", "Fig. 4 (b): total data against c", published="decreases as 1/c", preset="fedabm run value_shaping")
def figure_4b(budget: Budget) -> Finding:
    """Slopes of the logarithm at n = 10,000."""
    slopes = _elasticity([shaped_total(PacBound(), c, 10_000) for c in (0.025, 0.05, 0.1, 0.2)], 2)
    return holds(f"slope of log total in log c {numbers(slopes, 3)}", close(slopes, -1.0, 0.05))


@row(
    "K11",
    "Fig. 4 (c): the smallest viable n",
    published="linear in c and in k",
    preset="fedabm run value_shaping",
)
def figure_4c(budget: Budget) -> Finding:
    """Smallest federations, the data on both sides of them, and the hardest problem for 10,000 owners."""
    easy, hard = PacBound(), PacBound(complexity=100.0)
    least = smallest_federation(easy, 0.1), smallest_federation(hard, 0.1)
    sides = shaped_total(easy, 0.1, least[0] - 1) == 0 < shaped_total(easy, 0.1, least[0])
    in_cost = smallest_federation(hard, 1.0) / least[1]
    in_k = [smallest_federation(PacBound(complexity=10.0**power), 0.1) for power in range(6)]
    slopes, limit = _elasticity(in_k, 10.0), largest_complexity(0.95, 0.1, 10_000)
    ours = (
        f"{least[0]} (k=1), {least[1]} (k=100); {in_cost:.4g} times as many for 10 times the cost; slope of log n in "
        f"log k {numbers(slopes, 2)} for k = 1 to 100,000; 10,000 owners solve k < {limit:.0f}"
    )
    right = least == (48, 1084) and sides and close(in_cost, 10, 0.02) and 1119 < limit < 1120.5
    right = right and bool(np.all(np.diff(slopes) > 0)) and close(slopes[-1], 1, 0.03)
    reason = "linear in c; in k only for large k, below that the first useful sample dominates"
    return corrected(ours, right, reason, as_printed=close(slopes, 1, 0.1))


@row("K12", "Theorem V: utilities unchanged", published="u_i = u_i alone", preset="fedabm run value_shaping")
def theorem_v(budget: Budget) -> Finding:
    """Utilities at the shaped equilibrium against those alone."""

    def error(rng: np.random.Generator) -> float:
        accuracy = _value(rng)
        costs, capacity = _owners(rng, accuracy)
        profile = shaped_equilibrium(accuracy, costs)
        utilities = Game(accuracy, costs, capacity, ValueShaping()).utilities(profile)
        return float(np.max(np.abs(utilities - individual_optimum(accuracy, costs, capacity)[1])))

    found = trials(budget, error, 1e-8)
    return holds(str(found), found.holds)
