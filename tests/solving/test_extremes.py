"""Games at the edge: capacities of any size, ramps without slope, first-order proofs, few owners in odd groups."""

import numpy as np
import pytest

import fedabm
from fedabm import Game, solve
from fedabm.games.accuracy import Custom, GroupWeighted, PacBound, PowerLaw, RandomCoverage
from fedabm.games.best import best_response
from fedabm.games.costs import Linear
from fedabm.games.individual import individual_optimum
from fedabm.games.intervals import ProofLimits, _split, prove
from fedabm.mechanisms import (
    BanzhafShare,
    CostSharing,
    NoPayments,
    PartialReciprocity,
    ProportionalShapley,
    Screening,
    ShapleyShare,
    ValueShaping,
)
from fedabm.mechanisms.value_shaping import shaped_equilibrium
from fedabm.shapley import shapley
from fedabm.solving import equilibrium
from fedabm.solving.clock import TimeUp

SCREENING = Screening(low=0.1, high=0.25, probability_low=0.5)


@pytest.mark.parametrize("capacity", [1e3, 1e6, 1e12])
@pytest.mark.parametrize(
    "mechanism", [NoPayments(), CostSharing(), ShapleyShare(), PartialReciprocity(0.5), ValueShaping(), SCREENING]
)
def test_capacities_that_nobody_can_reach_change_nothing(mechanism, capacity):
    near, far = (solve(Game(PowerLaw(), [0.1, 0.25], top, mechanism)) for top in (100.0, capacity))
    assert far.converged
    assert far.profile == pytest.approx(near.profile, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("capacity", [1e-3, 1e3, 1e12])
def test_best_responses_are_as_sharp_in_a_wide_range_as_in_a_narrow_one(scale, capacity):
    accuracy, cost = PowerLaw(scale=scale, offset=scale, ceiling=1.0), Linear(np.array([0.1 / scale]))
    offers = NoPayments().offers(accuracy, Game(accuracy, cost, capacity * scale, NoPayments()).reports(np.zeros(1)))
    best = best_response(offers, cost, np.array([capacity * scale]), certify=ProofLimits())
    root = min(10.0**0.5 * scale - scale, capacity * scale)
    assert best.contribution[0] == pytest.approx(root, rel=1e-9)
    assert best.bound[0] - best.utility[0] < 1e-14
    assert individual_optimum(accuracy, cost, np.array([capacity * scale]))[0][0] == pytest.approx(root, rel=1e-12)


@pytest.mark.parametrize("capacity", [100.0, 1e3, 1e6])
def test_screening_ends_at_the_corners_of_its_menu(capacity):
    game = Game(PowerLaw(), [0.1, 0.25], capacity, SCREENING)
    profile = np.array([4.0, 1.5])
    for _ in range(40):
        menu = SCREENING.menu(game.accuracy, game.reports(profile))
        profile = np.array([menu.down[0], menu.up[1]])
    assert solve(game).profile == pytest.approx(profile, rel=1e-11)


def test_value_shaping_by_solver_and_by_closed_form():
    found = solve(Game(PowerLaw(), [0.1, 0.25], 1e9, ValueShaping()))
    assert found.profile == pytest.approx(shaped_equilibrium(PowerLaw(), Linear(np.array([0.1, 0.25]))), rel=1e-9)


@pytest.mark.parametrize("costs", [[0.3, 0.35, 0.4, 0.5], [0.3, 0.3], [0.24, 0.9, 2.0]])
def test_owners_who_would_do_nothing_alone_still_share_all_they_can_under_value_shaping(costs):
    # v'(0) = 0.225: nobody begins alone, so that no offer has a kink until somebody contributes
    accuracy, cost = PowerLaw(scale=0.9, offset=2.0), Linear(np.array(costs))
    assert np.all(individual_optimum(accuracy, cost, np.full(len(costs), 10.0))[0] == 0)
    found = solve(Game(accuracy, cost, 10.0, ValueShaping()))
    assert found.converged
    assert found.profile == pytest.approx(shaped_equilibrium(accuracy, cost, np.full(len(costs), 10.0)), rel=1e-8)
    assert found.profile.sum() > 0


def test_data_that_only_several_owners_together_make_viable_are_found():
    accuracy = PacBound()
    capacity = 0.8 * accuracy.viable
    found = solve(Game(accuracy, [1e-3] * 8, capacity, ValueShaping()))
    assert found.converged
    assert found.profile == pytest.approx(np.full(8, capacity))


def test_a_proof_that_needs_many_intervals_still_ends_within_the_tolerance():
    root = Custom(lambda s: np.sqrt(s.sum(axis=1, keepdims=True) + 0 * s), concave=True, monotone=True)
    found = solve(Game(root, [0.4, 0.9], 10, ShapleyShare()))
    assert found.converged
    assert found.gap <= 1e-9


def s_shaped(s):
    """Worth little until there is enough."""
    total = s @ np.array([[1.0, 0.3, 0.5], [0.6, 1.0, 0.2], [0.1, 0.9, 1.0]])
    return 1.0 / (1.0 + np.exp(-12.0 * (total / 10.0 - 0.3)))


@pytest.mark.parametrize("rule", [ShapleyShare(), PartialReciprocity(0.5), BanzhafShare()])
def test_what_takes_long_to_prove_is_proven_once(rule, monkeypatch):
    """S-shaped accuracies: first it is looked whether anybody gains, and the last digits are found before the proof."""
    proofs = []

    def counted(*given, **named):
        proofs.append(given[5].budget)
        return prove(*given, **named)

    monkeypatch.setattr("fedabm.games.best.prove", counted)
    found = solve(Game(Custom(s_shaped, monotone=True), [0.02, 0.05, 0.09], 8.0, rule))
    assert found.converged
    assert np.any((found.profile > 0.1) & (found.profile < 7.9))
    assert sum(budget > 0 for budget in proofs) == 1


@pytest.mark.parametrize("seed", range(3))
def test_proportional_shapley_on_random_coverage_with_six_owners_is_proven_in_few_intervals(seed, monkeypatch):
    """It took 20 seconds: a bound on the intervals that are cut, since seconds depend on the machine."""
    cut = []
    monkeypatch.setattr("fedabm.games.intervals._split", lambda *given: cut.append(given[3].sum()) or _split(*given))
    rng = np.random.default_rng(seed)
    accuracy = RandomCoverage(rng.uniform(0.01, 0.5, (6, 4)))
    found = solve(Game(accuracy, rng.uniform(0.01, 0.1, 6), 20.0, ProportionalShapley(0.8)))
    assert found.converged
    assert 0 < sum(cut) < 2**19


def test_when_time_is_up_it_says_what_was_reached():
    game = Game(Custom(s_shaped, monotone=True), [0.02, 0.05, 0.09], 8.0, ShapleyShare())
    found = solve(game, time_limit=1e-9)
    assert found.time_up
    assert found.verdict == "open"
    assert np.isfinite(found.gap)
    assert 0 < found.gain <= found.gap


def test_what_a_search_has_reached_is_told_though_time_was_up_before_anybody_looked_at_it(monkeypatch):
    def too_late(*_):
        raise TimeUp

    monkeypatch.setattr(equilibrium, "_first_proof", too_late)
    found = solve(Game(Custom(s_shaped, monotone=True), [0.02, 0.05, 0.09], 8.0, ShapleyShare()))
    assert found.method == "sequential best response"
    assert found.gain <= 1e-9


def test_proportional_shapley_among_groups_against_the_shares_themselves():
    accuracy, profile = GroupWeighted([[0.0, 1.0], [0.3, 0.5]], [0, 1, 1]), np.array([1.0, 2.0, 0.5])
    game = Game(accuracy, [0.1, 0.2, 0.3], 10, ProportionalShapley(0.5))
    shares = shapley(accuracy, profile)
    expected = np.sqrt(shares / shares.max()) * accuracy.values(profile[None])[0]
    assert game.accuracies(profile) == pytest.approx(expected, rel=1e-12)
    assert solve(game).converged
    # Owner 2 has no data, so its first bit of merit is worth infinitely much, whatever the others do.
    nothing_yet = np.array([1.65731403, 0.78235655, 0.0])
    assert game.slopes(nothing_yet)[2] == np.inf
    assert np.isnan(game.jacobian(nothing_yet)[2, :2]).all()


def test_the_solver_is_found_where_one_looks_for_it():
    assert fedabm.solve is fedabm.solving.equilibrium.solve
    assert fedabm.solving.equilibrium.Game is fedabm.Game
    assert isinstance(solve(Game(PowerLaw(), [0.1], 1, NoPayments())), fedabm.Equilibrium)
