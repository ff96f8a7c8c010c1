"""The papers' theorems about equilibria, on random games: solve, certify, then check what the theorem promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.costs import Affine, Power
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, PartialReciprocity, ShapleyShare
from fedabm.shapley import shapley
from fedabm.solving.dynamics import iteration_bound, projected_gradient, step_size, stochastic_gradient
from fedabm.solving.equilibrium import Equilibrium, solve
from fedabm.solving.game import Game
from fedabm.solving.metrics import accuracy_gain, budget, data_gain, individually_rational, reciprocity

few = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 2**32 - 1)
PAYING = [ContributionSubsidy(0.05), CostSharing(), ShapleyShare(), PartialReciprocity(0.4)]


def random_game(seed: int, mechanism, capacity: float = 1e4) -> Game:  # type: ignore[no-untyped-def]
    """Two to six owners, one payoff for all or three groups, linear costs."""
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(2, 7))
    exponent = rng.uniform(0.3, 1.0)
    if rng.random() < 0.5:
        accuracy = PowerLaw(exponent=exponent)
    else:
        accuracy = GroupWeighted(rng.uniform(0.1, 1.0, (3, 3)), rng.integers(0, 3, owners), exponent=exponent)
    return Game(accuracy, rng.uniform(0.01, 0.3, owners), capacity, mechanism)


def certified(game: Game) -> Equilibrium:
    found = solve(game)
    assert found.converged
    assert found.gap <= 1e-9
    return found


@few
@given(seeds, st.sampled_from([NoPayments(), *PAYING]))
def test_an_equilibrium_exists_for_concave_payoffs_and_convex_costs(seed: int, mechanism: object) -> None:
    """Murhekar et al. 2023, Theorem 3.1; Murhekar et al. 2025, Theorem 4.3."""
    game = random_game(seed, mechanism, capacity=50.0)
    rng = np.random.default_rng(seed)
    convex = [Power(rate, rng.uniform(1.0, 2.5)) for rate in game.costs.rate]
    if isinstance(mechanism, CostSharing):
        convex = list(game.costs.rate)  # beta* is defined for linear costs
    found = certified(Game(game.accuracy, convex, 50.0, game.mechanism))
    trials = rng.uniform(0, 50, (len(convex), 40))
    offers = Game(game.accuracy, convex, 50.0, game.mechanism)
    gains = offers.offers(found.profile).benefit.value(trials) - offers.costs.value(trials)
    assert np.all(gains <= found.utilities[:, None] + 1e-8)


@few
@given(seeds, st.sampled_from(PAYING))
def test_budgets_balance_in_and_out_of_equilibrium(seed: int, mechanism: object) -> None:
    """Murhekar et al. 2023, Section 4; 2025, Lemma 4.2; Doshi et al. 2025, eq. (7)."""
    game = random_game(seed, mechanism)
    anywhere = np.random.default_rng(seed).uniform(0, 20, game.owners)
    for profile in (anywhere, certified(game).profile):
        payments = game.payments(profile)
        assert abs(budget(payments)) <= 1e-12 * max(1.0, float(np.abs(payments).sum()))


@few
@given(seeds)
def test_shapley_shares_are_rational_and_fully_reciprocal(seed: int) -> None:
    """Murhekar et al. 2025, Lemma 4.6 and Theorem 4.7, with shares that are measured, not assumed."""
    game = random_game(seed, ShapleyShare())
    found = certified(game)
    shares = shapley(game.accuracy, found.profile, method="enumeration")
    assert individually_rational(found.utilities, tolerance=1e-9)
    assert reciprocity(found.accuracies, found.payments, shares) == pytest.approx(1.0, abs=1e-9)


def test_a_fixed_cost_can_make_shapley_shares_irrational() -> None:
    """Lemma 4.6 needs c_i(0) = 0: a fixed cost is paid even by an owner that contributes nothing."""
    found = certified(Game(PowerLaw(), [Affine(0.1, 0.0), Affine(0.25, 2.0)], 100, ShapleyShare()))
    assert found.utilities[1] < 0


@few
@given(seeds, st.floats(0.0, 1.0))
def test_partial_reciprocity_is_at_least_r(seed: int, r: float) -> None:
    """a_i + r (phi_i - a_i) >= r phi_i for non-negative accuracies."""
    game = random_game(seed, PartialReciprocity(r))
    found = certified(game)
    assert reciprocity(found.accuracies, found.payments, shapley(game.accuracy, found.profile)) >= r - 1e-9


@few
@given(seeds)
def test_no_profile_with_at_least_the_data_has_more_welfare(seed: int) -> None:
    """Murhekar et al. 2025, Theorem 4.8."""
    game = random_game(seed, ShapleyShare())
    found = certified(game)
    rng = np.random.default_rng(seed)
    for reach in (1e-3, 0.1, 10.0):
        more = found.profile + reach * rng.random(game.owners) * (1 + found.profile)
        assert game.welfare(np.minimum(more, game.capacities)) < game.welfare(found.profile) + 1e-12


@few
@given(seeds, st.integers(2, 6), st.floats(0.2, 1.0), st.floats(0.2, 1.0))
def test_shapley_shares_gain_data_and_accuracy(seed: int, owners: int, scale: float, exponent: float) -> None:
    """Murhekar et al. 2025, Theorem 4.9, where capacities do not bind and somebody contributes without payments."""
    costs = np.random.default_rng(seed).uniform(0.1, 0.9, owners) * scale * exponent
    accuracy = PowerLaw(scale=scale, exponent=exponent)
    before = certified(Game(accuracy, costs, 1e6, NoPayments()))
    after = certified(Game(accuracy, costs, 1e6, ShapleyShare()))
    assert np.all(after.profile < 1e6)
    assert data_gain(after.profile, before.profile) >= owners ** (1 / (exponent + 1)) - 1e-9
    power = exponent / (exponent + 1)
    bound = 1 + scale ** (1 / (exponent + 1)) * exponent**-power * costs.min() ** power * (1 - owners**-power)
    assert accuracy_gain(after.accuracies, before.accuracies) >= bound - 1e-9


def test_the_data_gain_fails_where_capacities_bind() -> None:
    """The erratum to Theorem 4.9: with little data to give there is little to gain."""
    games = [Game(PowerLaw(), [0.1, 0.25], [2.2, 0.1], mechanism) for mechanism in (ShapleyShare(), NoPayments())]
    after, before = (certified(game) for game in games)
    assert data_gain(after.profile, before.profile) < np.sqrt(2)


@pytest.mark.parametrize("active", [None, 2, 3])
def test_stochastic_best_response_converges_within_the_bound(active: int | None) -> None:
    """Murhekar et al. 2023, Theorem 3.2; 2025, Theorem 4.4 and Lemma 4.5: strongly convex costs make it apply.

    With quadratic costs the Jacobian is that of the shares, whose entries are small here, minus 2 rate on the diagonal.
    """
    costs, capacity = [Power(rate, 2.0) for rate in (0.5, 0.6, 0.8)], 2.0
    game = Game(PowerLaw(scale=0.05), costs, capacity, ShapleyShare())
    corners = np.stack(np.meshgrid(*[[0.0, capacity]] * 3), axis=-1).reshape(-1, 3)
    jacobians = np.array([game.jacobian(corner) for corner in corners])
    strength = 0.9 * min(-np.linalg.eigvalsh(0.5 * (j + j.T))[-1] for j in jacobians)
    bound = 1.1 * float(np.max(np.abs(jacobians)))
    step, start, precision = step_size(strength, bound, 3, active), np.full(3, capacity), 1e-3
    enough = iteration_bound(strength, bound, 3, float(np.linalg.norm(game.slopes(start))), precision)
    path = (
        projected_gradient(game, start, step)
        if active is None
        else stochastic_gradient(game, start, step, active, np.random.default_rng(1))
    )
    for _ in range(enough + 1):
        profile = next(path)
    moved = np.clip(profile + game.slopes(profile), 0, capacity) - profile
    assert np.linalg.norm(moved) < precision
    assert profile == pytest.approx(certified(game).profile, abs=1e-2)
