"""Murhekar et al. 2025: Shapley shares and reciprocity, the theory: rows R01 to R14 and R22."""

from __future__ import annotations

import numpy as np

from fedabm.common.errors import FedabmError
from fedabm.games.accuracy import Accuracy, GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Affine, Linear
from fedabm.mechanisms import CostSharing, NoPayments, ShapleyShare, ValueShaping
from fedabm.mechanisms.value_shaping import shaped_equilibrium
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.trials import agree, convex, numbers, random_game, trials
from fedabm.papers.murhekar2025 import coupled
from fedabm.shapley import shapley
from fedabm.solving.dynamics import step_size
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.solving.metrics import accuracy_gain, data_gain, equal_treatment, reciprocity
from fedabm.solving.metrics import budget as budget_of

#: the game of the README, whose owners are those of Examples 3, 4 and 7
_TWO = "fedabm solve game.toml --mechanism "


def _two(mechanism: NoPayments | ShapleyShare | ValueShaping) -> Game:
    """Examples 3, 4 and 7: a = 1 - 1/(1 + s_1 + s_2), costs 0.1 and 0.25."""
    return Game(PowerLaw(), [0.1, 0.25], 100, mechanism)


def _coverage(rng: np.random.Generator) -> tuple[Accuracy, np.ndarray]:
    """Random coverage is worth 1/2 to everybody before any data."""
    owners = int(rng.integers(2, 7))
    return RandomCoverage(rng.dirichlet(np.ones(4), size=owners)), rng.uniform(0, 5, owners)


@row("R01", "Lemma 2.3: Shapley shares sum to the total accuracy", published="sum_i phi_i = A(s)")
def lemma_2_3(budget: Budget) -> Finding:
    """Exact shares against enumeration, and their sum with and without A(0) = 0."""

    def error(rng: np.random.Generator) -> float:
        game = random_game(rng, NoPayments())
        profile = rng.uniform(0, 20, game.owners)
        shares, defined = (shapley(game.accuracy, profile, method) for method in ("auto", "enumeration"))
        return max(abs(shares.sum() - game.accuracies(profile).sum()), float(np.max(np.abs(shares - defined))))

    def rest(rng: np.random.Generator) -> tuple[float, float]:
        accuracy, profile = _coverage(rng)
        missing = accuracy.values(profile[None]).sum() - shapley(accuracy, profile).sum()
        return abs(missing - accuracy.at_zero(len(profile)).sum()), missing

    found, offset = trials(budget, error, 1e-11), trials(budget, lambda rng: rest(rng)[0], 1e-11)
    missing = rest(np.random.default_rng(0))[1]
    reason = f"needs A(0) = 0; otherwise shares sum to A(s) - A(0), with random coverage {missing:.3g} less"
    ours = f"sum A(s) where A(0) = 0: {found}; else A(s) - A(0): {offset.good} of {len(offset.violations)}"
    return corrected(ours, found.holds and offset.holds, reason, as_printed=abs(missing) < 1e-9)


@row("R02", "Example 3: NE of M^0 is (2.16, 0)", published="(2.16, 0)", preset=_TWO + "no_payments")
def example_3(budget: Budget) -> Finding:
    """Solved and certified."""
    found = solve(_two(NoPayments()))
    right = found.converged and agree(found.profile, [2.16227766, 0], 8)
    return holds(f"{numbers(found.profile, 8)}, gap {found.gap:.1g}", right and agree(found.profile, [2.16, 0], 2))


@row(
    "R03",
    "Example 4: NE of M^Shap is (3, 1.17), almost twice the data",
    published="(3, 1.17)",
    preset=_TWO + "shapley_share",
)
def example_4(budget: Budget) -> Finding:
    """Solved and certified; data gain over M^0."""
    found, before = solve(_two(ShapleyShare())), solve(_two(NoPayments()))
    gain = data_gain(found.profile, before.profile)
    right = found.converged and agree(found.profile, [2.99839298, 1.16904814], 8) and 1.9 < gain < 2
    ours = f"{numbers(found.profile, 8)}, gap {found.gap:.1g}, {gain:.4g} times the data"
    return holds(ours, right and agree(found.profile, [3, 1.17], 2))


@row(
    "R04",
    "Example 7: value shaping NE (3.98, 2.46), reciprocity 0.9",
    published="(3.98, 2.46), 0.9",
    preset=_TWO + "value_shaping",
)
def example_7(budget: Budget) -> Finding:
    """Solved and certified; the closed form of the equilibrium; reciprocity by exact shares."""
    game = _two(ValueShaping())
    profile = shaped_equilibrium(PowerLaw(), Linear(np.array([0.1, 0.25])))
    shares, gap = shapley(game.accuracy, profile), game.gap(profile)
    ratio = reciprocity(game.accuracies(profile), game.payments(profile), shares)
    right = gap < 1e-8 and agree(profile, [3.98115436, 2.46263961], 8)
    right = right and agree(shares, [0.95370025, 0.77761956], 8) and agree(ratio, 0.9076855, 7)
    ours = f"{numbers(profile, 8)}, gap {gap:.1g}, shares {numbers(shares, 8)}, reciprocity {ratio:.7f}"
    return holds(ours, right and agree(profile, [3.98, 2.46], 2) and agree(ratio, 0.9, 1))


@row("R05", "Lemma 3.4: reciprocity of a weakly budget-balanced mechanism is at most 1", published="<= 1")
def lemma_3_4(budget: Budget) -> Finding:
    """Random payments that sum to at most zero, and the package's own mechanisms."""

    def excess(rng: np.random.Generator) -> float:
        game = random_game(rng, CostSharing(rng.uniform(0, 1)))
        profile = rng.uniform(0.1, 20, game.owners)
        drawn = rng.normal(0, 0.3, game.owners)
        shares, accuracies = shapley(game.accuracy, profile), game.accuracies(profile)
        paid = (drawn - drawn.mean() - rng.exponential(0.05), game.payments(profile))
        return max(reciprocity(accuracies, payments, shares) for payments in paid) - 1.0

    found = trials(budget, excess, 1e-12)
    return holds(str(found), found.holds)


@row("R06", "Lemma 4.2: M^Shap is budget balanced", published="0", preset=_TWO + "shapley_share")
def lemma_4_2(budget: Budget) -> Finding:
    """Sums of payments with and without A(0) = 0, and with the payments as printed."""

    def left(rng: np.random.Generator) -> float:
        game = random_game(rng, ShapleyShare())
        accuracy, profile = _coverage(rng)
        other = Game(accuracy, [0.1] * len(profile), 5.0, ShapleyShare())
        return max(
            abs(budget_of(game.payments(rng.uniform(0, 20, game.owners)))), abs(budget_of(other.payments(profile)))
        )

    found = trials(budget, left, 1e-11)
    accuracy, profile = _coverage(np.random.default_rng(0))
    printed = Game(accuracy, [0.1] * len(profile), 5.0, ShapleyShare(printed=True))
    unpaid = budget_of(printed.payments(profile))
    reason = (
        f"needs A(0) = 0: with random coverage the printed payments sum to {unpaid:.3g} = -A(0); shared: A(s) - A(0)"
    )
    return corrected(str(found), found.holds, reason, as_printed=abs(unpaid) < 1e-9)


@row("R07", "Theorem 4.3: M^Shap admits an equilibrium", preset=_TWO + "shapley_share")
def theorem_4_3(budget: Budget) -> Finding:
    """Certified equilibria with convex costs."""
    found = trials(budget, lambda rng: solve(convex(rng, ShapleyShare())).gap, share=0.75)
    return holds(f"certified gap at most 1e-9: {found}", found.holds)


def _single(active: int) -> bool:
    """Whether Theorem 4.4 has a step size for so few owners at a time."""
    try:
        return step_size(0.5, 1.0, 3, active) > 0
    except FedabmError:
        return False


@row("R08", "Theorem 4.4: stochastic best response converges within the bound", published="T = 2 n^2 L^2/lambda^2 log")
def theorem_4_4(budget: Budget) -> Finding:
    """Payoffs of all contributions together, without payments; two or more owners move at a time."""

    def violation(rng: np.random.Generator) -> float:
        drawn = coupled.draw(rng)
        active = int(rng.integers(2, len(drawn.rates) + 1))
        return coupled.late(rng, drawn.game(NoPayments()), *drawn.without_payments(), active)

    found = trials(budget, violation, 0.0, share=0.3)
    reason = "undefined for k = 1, where the step size divides by k - 1; eq. (9): s_i^* is s_i^t"
    ours = f"|g| below 0.01 after T steps, coupled payoffs, 2 or 3 owners, k from 2: {found}"
    return corrected(ours, found.holds, reason, as_printed=_single(1))


@row("R09", "Lemma 4.5: the same for M^Shap")
def lemma_4_5(budget: Budget) -> Finding:
    """The lemma's own constants, from payoffs and costs; and whether the game is as concave and bounded as it says."""
    missed: list[float] = []

    def violation(rng: np.random.Generator) -> float:
        drawn = coupled.draw(rng)
        game, (strength, bound) = drawn.game(ShapleyShare()), drawn.shapley_shares()
        matrix = coupled.slopes_of_slopes(game)
        concave = -float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[-1])
        missed.append(max(strength - concave, float(np.max(np.abs(matrix))) - bound, np.max(np.abs(matrix - matrix.T))))
        return coupled.late(rng, game, strength, bound, int(rng.integers(2, game.owners + 1)))

    found = trials(budget, violation, 0.0, share=0.2)
    reason = "costs must be strongly convex (printed: concave) and k at least 2"
    ours = (
        f"|g| below 0.01 after T steps with lambda = n lambda_1 + lambda_2, L = 2 n L_1 + L_2: {found}; the Jacobian "
        f"is symmetric and within both, up to {max(0.0, *missed):.0e}"
    )
    return corrected(ours, found.holds and max(missed) < 1e-8, reason, as_printed=_single(1))


def _solved(rng: np.random.Generator) -> tuple[Game, Equilibrium]:
    game = random_game(rng, ShapleyShare())
    return game, solve(game)


@row("R10", "Lemma 4.6: individually rational", published="u_i >= 0", preset=_TWO + "shapley_share")
def lemma_4_6(budget: Budget) -> Finding:
    """Least utilities in equilibrium, and an owner with a fixed cost."""
    found = trials(budget, lambda rng: -float(np.min(_solved(rng)[1].utilities)))
    fixed = solve(Game(PowerLaw(), [Affine(0.1, 0.0), Affine(0.25, 2.0)], 100, ShapleyShare())).utilities.min()
    reason = f"fails if c_i(0) > 0: an owner with a fixed cost of 2 ends with {fixed:.3g}"
    return corrected(f"nobody below 0: {found}", found.holds, reason, as_printed=fixed >= 0)


@row("R11", "Theorem 4.7: reciprocity 1 and equal treatment of equals", published="1", preset=_TWO + "shapley_share")
def theorem_4_7(budget: Budget) -> Finding:
    """Measured by enumerated shares, not assumed; two owners made equal."""

    def error(rng: np.random.Generator) -> float:
        game, found = _solved(rng)
        shares = shapley(game.accuracy, found.profile, method="enumeration")
        twins = Game(PowerLaw(), [0.1, 0.1, 0.2], 50.0, ShapleyShare())
        profile = np.array([1.0, 1.0, 0.0]) * rng.uniform(0.1, 9) + np.array([0.0, 0.0, rng.uniform(0, 9)])
        apart = equal_treatment(twins.payments(profile), twins.costs.rate)
        return max(abs(reciprocity(found.accuracies, found.payments, shares) - 1.0), apart)

    found = trials(budget, error)
    return holds(f"reciprocity 1 and equal payments: {found}", found.holds)


@row("R12", "Theorem 4.8: no profile with at least the same data has higher welfare", preset=_TWO + "shapley_share")
def theorem_4_8(budget: Budget) -> Finding:
    """Random profiles above the equilibrium, near and far."""

    def gain(rng: np.random.Generator) -> float:
        game, found = _solved(rng)
        more = [found.profile + reach * rng.random(game.owners) * (1 + found.profile) for reach in (1e-3, 0.1, 10.0)]
        best = max(game.welfare(np.minimum(profile, game.capacities)) for profile in more)
        return best - game.welfare(found.profile)

    found = trials(budget, gain, 1e-12)
    return holds(str(found), found.holds)


def _gains(rng: np.random.Generator) -> tuple[float, float]:
    """By how much the two bounds of Theorem 4.9 are missed where capacities do not bind."""
    owners = int(rng.integers(2, 7))
    scale = rng.uniform(0.2, 1.0)
    power = rng.uniform(0.2, 1.0)
    costs, accuracy = rng.uniform(0.1, 0.9, owners) * scale * power, PowerLaw(scale=scale, exponent=power)
    before, after = (solve(Game(accuracy, costs, 1e6, mechanism)) for mechanism in (NoPayments(), ShapleyShare()))
    share = power / (power + 1)
    least = 1 + scale ** (1 / (power + 1)) * power**-share * costs.min() ** share * (1 - owners**-share)
    data = owners ** (1 / (power + 1)) - data_gain(after.profile, before.profile)
    return data, least - accuracy_gain(after.accuracies, before.accuracies)


def _bound_by_capacity() -> tuple[float, float]:
    """Data and accuracy gain of two owners that have little to give, over the theorem's bounds."""
    games = (Game(PowerLaw(), [0.1, 0.25], [2.2, 0.1], mechanism) for mechanism in (ShapleyShare(), NoPayments()))
    after, before = (solve(game) for game in games)
    least = 1 + 0.1**0.5 * (1 - 2**-0.5)
    return data_gain(after.profile, before.profile) - 2**0.5, accuracy_gain(after.accuracies, before.accuracies) - least


@row("R13", "Theorem 4.9 (i): data gain at least n^(1/(beta+1))", published=">= n^(1/(beta+1))")
def theorem_4_9_data(budget: Budget) -> Finding:
    """Random costs, scales and exponents."""
    found, tight = trials(budget, lambda rng: _gains(rng)[0]), _bound_by_capacity()[0]
    reason = f"needs capacities that do not bind: with capacities (2.2, 0.1) the bound is missed by {-tight:.2g}"
    return corrected(str(found), found.holds, reason, as_printed=tight >= 0)


@row("R14", "Theorem 4.9 (ii): accuracy gain bound", published="1 + alpha^(1/(beta+1)) beta^(-beta/(beta+1)) ...")
def theorem_4_9_accuracy(budget: Budget) -> Finding:
    """The same instances."""
    found, tight = trials(budget, lambda rng: _gains(rng)[1]), _bound_by_capacity()[1]
    reason = f"needs capacities that do not bind: with capacities (2.2, 0.1) the bound is missed by {-tight:.2g}"
    return corrected(str(found), found.holds, reason, as_printed=tight >= 0)


@row("R22", "Appendix E: n log n permutations suffice", published="102 permutations for n = 30; spread at most 0.1")
def permutations(budget: Budget) -> Finding:
    """What sampled shares do to single shares, and to what owners contribute: weights and costs as in Appendix E.

    There everybody gives all it has, whatever the sample; so also with costs at which nobody wants to move.
    """
    errors: list[float] = []
    undecided: list[float] = []

    def moved(rng: np.random.Generator) -> float:
        accuracy = GroupWeighted(10.0 ** rng.uniform(-4, -2.2, (3, 3)), np.repeat(np.arange(3), 10))
        costs, profile = rng.uniform(0, 0.001, 30), rng.uniform(0, 100, 30)
        exact = shapley(accuracy, profile)
        sampled = shapley(accuracy, profile, "monte_carlo", permutations=102, rng=rng)
        errors.append(float(np.sqrt(np.mean((sampled / exact - 1) ** 2))))
        drawn = ShapleyShare(method="monte_carlo", permutations=102, seed=int(rng.integers(2**31)))
        margins = Game(accuracy, costs, 100, ShapleyShare()).slopes(profile) + costs
        undecided.append(_shift(accuracy, margins, profile, drawn))
        return _shift(accuracy, costs, profile, drawn)

    found = trials(budget, moved, 0.1, share=0.15)
    ours = (
        f"best responses move by at most {max(found.violations):.2g} of the capacity on average ({found.good} of "
        f"{len(found.violations)} instances); by up to {max(undecided):.2g} where costs equal marginal shares"
    )
    reason = (
        "at the paper's costs everybody gives all it has, whatever is sampled, so a small spread says nothing; single "
        f"Shapley shares are off by {np.mean(errors):.1%}, in the worst instance by {max(errors):.1%}"
    )
    return corrected(ours, found.holds, reason, as_printed=max(undecided) <= 0.1)


def _shift(accuracy: Accuracy, costs: np.ndarray, profile: np.ndarray, drawn: ShapleyShare) -> float:
    """How far sampled shares move best responses from those to exact ones, as a share of the capacity of 100."""
    exact, sampled = (Game(accuracy, costs, 100, rule).best_responses(profile) for rule in (ShapleyShare(), drawn))
    return float(np.mean(np.abs(exact - sampled))) / 100
