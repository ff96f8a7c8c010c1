"""Murhekar et al. 2023: equilibria, best-response dynamics and cost sharing, rows M01 to M13."""

from __future__ import annotations

import itertools
from itertools import islice

import numpy as np
from scipy.optimize import minimize

from fedabm.games.accuracy import (
    Accuracy,
    GroupWeighted,
    PacBound,
    PowerLaw,
    RandomCoverage,
    RandomDiscovery,
    Separable,
)
from fedabm.games.costs import Affine, Linear, stack
from fedabm.games.curves import Array
from fedabm.mechanisms import CostSharing, NoPayments
from fedabm.mechanisms.cost_sharing import optimal_rate
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.trials import agree, close, convex, numbers, play, trials
from fedabm.papers.murhekar2023.rings import ring
from fedabm.papers.murhekar2025.coupled import draw
from fedabm.solving.dynamics import curvature, direction, iteration_bound, projected_gradient, step_size
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.solving.metrics import budget as budget_of
from fedabm.solving.metrics import p_mean_welfare
from fedabm.views import Reports


@row("M01", "Theorem 3.1: an equilibrium exists for concave payoffs and convex costs", preset="fedabm solve game.toml")
def theorem_3_1(budget: Budget) -> Finding:
    """Certified equilibria of random games."""
    found = trials(budget, lambda rng: solve(convex(rng, NoPayments())).gap)
    return holds(f"certified gap at most 1e-9: {found}", found.holds)


@row("M02", "Theorem 3.2: convergence within the iteration bound", published="T = 2 n^2 L^2 / lambda^2 log(|g_0|/eps)")
def theorem_3_2(budget: Budget) -> Finding:
    """Projected gradients on coupled games, and lambda for payoffs of the total, to which the text applies it."""
    found = trials(budget, _late, 0.0, share=0.3)
    strength, _ = curvature(Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()), np.array([1.0, 1.0]))
    reason = (
        f"not for payoffs of the total with linear costs, as the text implies: there lambda = {abs(strength):.1g}, "
        "because the Jacobian has rank one; steps must be projected onto [0, tau]"
    )
    return corrected(f"|g| below 0.001 after T steps: {found}", found.holds, reason, as_printed=strength > 1e-9)


def _late(rng: np.random.Generator, precision: float = 1e-3) -> float:
    """|g| / precision - 1 after as many steps as the theorem asks for, where all contributions are coupled."""
    coupled = draw(rng)
    game, (strength, bound) = coupled.game(NoPayments()), coupled.without_payments()
    start, step = rng.uniform(0, 1, game.owners), step_size(strength, bound, game.owners, None)
    enough = iteration_bound(
        strength, bound, game.owners, float(np.linalg.norm(direction(game, start, step))), precision
    )
    end = next(islice(projected_gradient(game, start, step), enough, None))
    return float(np.linalg.norm(direction(game, end, step))) / precision - 1.0


@row(
    "M03",
    "Example 1: NE (0, 0.5), Nash welfare 24 against 25.25 at (0.2, 0.4)",
    published="NE (0, 0.5); 24 and 25.25",
    preset="fedabm run welfare_two_owners",
)
def example_1(budget: Budget) -> Finding:
    """The scenario's table."""
    table = play("welfare_two_owners")["summary"]
    points, products = table[["s_1", "s_2"]].to_numpy(), table["Nash product"].to_numpy()
    equal = close(points, [[0, 0.5], [0.2, 0.4], [0.172678, 0.498142], [0, 0.6708204]], 1e-6)
    ours = (
        f"NE {numbers(points[0])}: {products[0]:.6g}; at {numbers(points[1])}: {products[1]:.6g}; largest "
        f"{products[2]:.8g} at {numbers(points[2])}; under M_beta* NE {numbers(points[3])}"
    )
    right = equal and agree(products[:3], [24.0, 25.244444, 25.500932], 6)
    reason = "25.25 should read 25.2444, and the costs 5 s_1 and 4 s_2; Theorem 4.1 says nothing here (s_1 = 0)"
    return corrected(ours, right, reason, as_printed=agree(products[1], 25.25, 2))


@row("M04", "Lemma 1: eq. (6) has a real root in [0, 1-1/n]")
def lemma_1(budget: Budget) -> Finding:
    """The root put into the equation."""

    def error(rng: np.random.Generator) -> float:
        costs = 10.0 ** rng.uniform(-3, 3, int(rng.integers(2, 9)))
        beta = optimal_rate(costs)
        n = len(costs)
        total = costs.sum()
        harmonic = 1 / np.sum(1 / costs)
        terms = total * beta**2, -(harmonic * n * (n - 2) + total) * beta, harmonic * (n - 1) ** 2
        return max(abs(sum(terms)) / abs(terms[1]), -beta, beta - (1 - 1 / n))

    found = trials(budget, error, 1e-12)
    return holds(f"residual and range: {found}", found.holds)


def _utilities(s: Array, costs: Array, budgets: Array, weights: Array) -> Array:
    """u_i = b_i^(1-w_i) S^w_i with b_i what M_beta* leaves of the budget (eq. 5); 0 where it is overspent."""
    reports = Reports(np.abs(s), np.full(len(s), 1e9), stack([Linear(cost) for cost in costs]))
    return np.maximum(CostSharing().budget_left(reports, budgets), 0.0) ** (1 - weights) * np.sum(np.abs(s)) ** weights


def positive_equilibrium(rng: np.random.Generator, *, equal: bool) -> tuple[Array, Array, Array, Array]:
    """A positive equilibrium of M_beta*: budgets follow from (1-w)(1-beta) c / b = w / S at random contributions."""
    n = int(rng.integers(2, 5))
    s, weights = rng.uniform(0.5, 5.0, n), rng.uniform(0.2, 0.8, n)
    costs = np.full(n, rng.uniform(0.5, 2.0)) if equal else rng.uniform(0.5, 2.0, n)
    left = (1 - weights) * (1 - optimal_rate(costs)) * costs * s.sum() / weights
    reports = Reports(s, np.full(n, 1e9), stack([Linear(cost) for cost in costs]))
    return s, costs, left - CostSharing().budget_left(reports, np.zeros(n)), weights


def _gain(s: Array, costs: Array, budgets: Array, weights: Array, p: float) -> float:
    """How much the p-mean can still be raised from the equilibrium, relative to what it is there."""
    here = p_mean_welfare(_utilities(s, costs, budgets, weights), p)

    def missed(x: Array) -> float:
        return -p_mean_welfare(_utilities(x, costs, budgets, weights), p)

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 3000}
    return -minimize(missed, s, method="Nelder-Mead", options=options).fun / here - 1.0


@row("M05", "Theorem 4.1: the NE of M_beta* maximises every p-mean welfare", preset="fedabm run welfare_two_owners")
def theorem_4_1(budget: Budget) -> Finding:
    """How much welfare is missed at equilibria with equal and with unequal costs."""
    powers = (1.0, 0.3, -2.0)

    def missed(rng: np.random.Generator, *, equal: bool) -> float:
        return _gain(*positive_equilibrium(rng, equal=equal), p=powers[int(rng.integers(3))])

    equal = trials(budget, lambda rng: missed(rng, equal=True), 1e-7, share=0.25)
    unequal = trials(budget, lambda rng: missed(rng, equal=False), 1e-7, share=0.25)
    printed = (np.array([4.0, 5.0]), np.array([1.0, 2.0]), np.array([12.0, 20.0]), np.array([0.5, 0.5]))
    here = p_mean_welfare(_utilities(*printed))
    best = here * (1 + _gain(*printed, p=1.0))
    ours = f"equal costs: {equal}; unequal costs: maximal in {unequal.good} of {len(unequal.violations)}"
    reason = (
        f"false for unequal costs (Lemma 3 checks only eq. 26): u=sqrt(b S), c=(1, 2), B=(12, 20) has the NE (4, 5) "
        f"with mean {here:.6g}, {best:.6g} can be reached"
    )
    right = equal.holds and agree([here, best], [8.8704, 10.4271], 4)
    return corrected(ours, right, reason, as_printed=unequal.holds)


@row("M06", "Identical costs give beta* = 1-1/n", published="1 - 1/n")
def identical_costs(budget: Budget) -> Finding:
    """Equal costs of any size; and the values of four other cost vectors."""

    def error(rng: np.random.Generator) -> float:
        n = int(rng.integers(1, 300))
        return abs(optimal_rate([10.0 ** rng.uniform(-6, 6)] * n) - (1 - 1 / n))

    found = trials(budget, error, 1e-15)
    others = [optimal_rate(costs) for costs in ([1, 2], [1, 2, 3], [1, 1, 1, 9], [5, 4])]
    right = agree(others, [1 / 3, 0.4330847293, 0.25, 4 / 9], 10)
    ours = f"{found}; beta* of (1,2), (1,2,3), (1,1,1,9): {numbers(others[:3], 10)}"
    return holds(ours, found.holds and right, "a double root, which float root finders miss by 1e-8: closed form here")


@row("M07", "Payments sum to zero for every profile", published="0")
def balanced(budget: Budget) -> Finding:
    """Affine costs, random rates and profiles."""

    def error(rng: np.random.Generator) -> float:
        owners = int(rng.integers(2, 10))
        costs = [Affine(*pair) for pair in rng.uniform(0, 5, (owners, 2))]
        game = Game(PowerLaw(), costs, 10.0, CostSharing(rng.uniform(0, 1)))
        return abs(budget_of(game.payments(rng.uniform(0, 10, owners))))

    found = trials(budget, error, 1e-11)
    return holds(str(found), found.holds)


@row("M08", "Theorem A.1: separable payoffs have an equilibrium")
def theorem_a1(budget: Budget) -> Finding:
    """Non-concave own parts; best responses against anything are an equilibrium."""

    def gap(rng: np.random.Generator) -> float:
        owners = int(rng.integers(2, 5))
        middle = rng.uniform(0.2, 1.0, owners)
        steep = rng.uniform(1.0, 9.0, owners)
        pull = rng.uniform(-1, 1)
        payoff = Separable(
            own=lambda s: 1.0 / (1.0 + np.exp(-steep * (s - middle))),
            others=lambda s: pull * np.sin(s.sum(axis=1, keepdims=True)) + 0 * s,
            owners=owners,
            monotone=True,
        )
        game = Game(payoff, rng.uniform(0.05, 0.5, owners), 2.0, NoPayments())
        return game.gap(game.best_responses(rng.uniform(0, 2, owners)), 1e-7)

    found = trials(budget, gap, 1e-6, share=0.5)
    return holds(f"best responses to random profiles are equilibria, gap at most 1e-6: {found}", found.holds)


@row(
    "M09",
    "Theorem A.2: an instance without equilibrium",
    published="eps < 1/16; best responses 0 and 1/2 + eps",
    preset="fedabm run no_equilibrium",
)
def theorem_a2(budget: Budget) -> Finding:
    """Best responses take two values only, and none of the eight profiles of these is an equilibrium."""
    game = Game(ring(1 / 32), [0.25] * 3, 1.0, NoPayments())
    replies = np.unique([game.best_responses([x] * 3) for x in np.linspace(0, 1, 101)])
    least = min(game.gap(np.array(profile)) for profile in itertools.product(replies, repeat=3))
    found = solve(game)
    length = 0 if found.cycle is None else len(found.cycle)
    ours = f"best responses {numbers(replies)}, a cycle of {length}; smallest gap of their profiles {least:.4g}"
    right = close(replies, [0, 0.53125], 1e-12) and length == 6 and least > 0.1 and not found.converged
    return holds(ours, len(replies) == 2 and right)


@row("M10", "Section 2.1: the payoff families are bounded, non-decreasing, concave")
def families(budget: Budget) -> Finding:
    """Values along the own contribution in each family."""

    def bent(accuracy: Accuracy, rng: np.random.Generator, top: float = 3.0) -> tuple[float, float]:
        x = np.linspace(0, top, 61)[None].repeat(3, axis=0)
        value = accuracy.curves(rng.uniform(0, top, 3)).value(x)
        falls = max(0.0, -float(np.min(np.diff(value))))
        kinks = np.nan_to_num(accuracy.kinks(rng.uniform(0, top, 3)), posinf=0.0)
        beyond = np.all(x[:, :-2] >= kinks.max(axis=1, initial=0.0)[:, None], axis=0)
        rises = np.diff(value, n=2)
        return max(falls, float(np.max(rises[:, beyond], initial=0.0))), float(np.max(rises))

    def violation(rng: np.random.Generator) -> float:
        chances = rng.dirichlet(np.ones(4), size=3)
        smooth = [RandomDiscovery(chances), RandomCoverage(chances), PowerLaw(exponent=rng.uniform(0.1, 1.0))]
        smooth.append(GroupWeighted(rng.random((2, 2)), (0, 1, 1)))
        return max(bent(one, rng)[0] for one in smooth)

    found = trials(budget, violation, 1e-12)
    pac, rng = PacBound(), np.random.default_rng(0)
    kink = bent(pac, rng, 2 * pac.viable)[1]
    nothing = RandomCoverage(rng.dirichlet(np.ones(4), size=3)).at_zero(3)
    ours = f"non-decreasing and concave: {found}; PAC bound convex by {kink:.2g} where it becomes positive"
    reason = (
        "the PAC bound and the power law without offset are concave beyond their minimum viability only; random "
        f"coverage is {nothing[0]:.2g}, not 0, without data; random discovery is bounded by capacities only, and "
        "diag(QQ^T) is not 1"
    )
    return corrected(ours, found.holds and agree(nothing, 0.5, 12), reason, as_printed=kink < 1e-12)


@row("M11", "Lemma 2: program (19) is convex")
def lemma_2(budget: Budget) -> Finding:
    """Midpoints of segments between feasible profiles: budgets left are linear, p-means of utilities concave."""

    def violation(rng: np.random.Generator) -> float:
        s, *game = positive_equilibrium(rng, equal=False)
        p = (1.0, 0.5, 0.0, -3.0)[int(rng.integers(4))]
        ends = [s * rng.uniform(0.8, 1.2, len(s)) for _ in range(2)]
        first, second, middle = (p_mean_welfare(_utilities(x, *game), p) for x in (*ends, 0.5 * (ends[0] + ends[1])))
        return (0.5 * (first + second) - middle) / middle

    found = trials(budget, violation, 1e-12)
    return holds(f"concave along random segments: {found}", found.holds)


#: Table 1 as printed: p = 0.2, 0.4, 0.6, 0.8, 1
TABLE_1 = {
    "mnist": {
        "FedAvg": (48985.23, 154.99, 22.763, 8.726, 4.909),
        "MWFed": (51326.49, 158.92, 21.648, 8.803, 5.230),
        "FedBR": (53395.21, 168.85, 24.784, 9.495, 5.340),
        "FedBR-BG": (54589.31, 172.63, 25.340, 9.708, 5.459),
    },
    "cifar10": {
        "FedAvg": (42386.21, 135.92, 23.528, 8.381, 4.582),
        "MWFed": (48178.29, 142.91, 23.981, 8.879, 4.891),
        "FedBR": (58297.23, 178.32, 26.187, 9.675, 5.681),
        "FedBR-BG": (60385.32, 183.23, 27.958, 9.981, 5.891),
    },
}


def impossible_rows(data: str) -> str:
    """Which printed rows of Table 1 cannot be: p-means of one utility vector never fall as p grows."""
    powers = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    means = {name: np.array(printed) / 10.0 ** (1 / powers) for name, printed in TABLE_1[data].items()}
    # A fall by a ten-thousandth is rounding.
    odd = [name for name, mean in means.items() if np.any(mean[1:] < mean[:-1] * (1 - 1e-4))]
    return (
        "rows as printed that no utility vector of 10 owners can give (p-means must not fall as p grows): "
        f"{', '.join(odd) or 'none'}"
    )
