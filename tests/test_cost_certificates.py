"""No certificate is below a gain that a fine grid finds, whatever the costs: with kinks, with jumps, one's own."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Federation, Game, OwnerProfile, Scenario, solve
from fedabm.common.errors import InputError
from fedabm.games.accuracy import PacBound, PowerLaw
from fedabm.games.best import best_response
from fedabm.games.certificate import certified_gains
from fedabm.games.chords import concave_bound
from fedabm.games.costs import Cost, Linear, Piecewise, Tabulated, stack
from fedabm.games.individual import individual_optimum
from fedabm.games.offers import full_access, nothing
from fedabm.games.welfare import welfare_optimum
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ShapleyShare,
)
from fedabm.strategies import BestResponse, FixedShare, GradientResponse, Liar
from tests.own_costs import CAPACITY, Congested, Discount, Discs, any_cost, closed_costs, own_costs

accuracies = st.sampled_from([PowerLaw(), PowerLaw(0.5, 0.7, 0.5), PacBound(0.95, 0.05)])
mechanisms = st.sampled_from(
    [
        NoPayments(),
        ContributionSubsidy(0.05),
        CostSharing(0.6),
        ShapleyShare(),
        PartialReciprocity(0.5),
        ProportionalData(0.5),
    ]
)
strategies = st.sampled_from([BestResponse(), FixedShare(0.3), GradientResponse(0.5), Liar(BestResponse(), 2.0)])


def found_by_grid(offers, cost, capacity, profile):
    """The largest gain of each owner at a few thousand contributions, at its kinks and just beside them."""
    kinks = np.hstack([offers.kinks, cost.kinks(len(profile))])
    kinks = np.where(np.isfinite(kinks), kinks, 0.0)
    grid = np.linspace(0.0, 1.0, 2001) * capacity[:, None]
    trials = np.hstack([grid, kinks, kinks * (1 - 1e-9), kinks * (1 + 1e-9), kinks + 1e-9, profile[:, None]])
    trials = np.clip(trials, 0.0, capacity[:, None])
    here = offers.benefit.value(profile) - cost.value(profile)
    return np.max(offers.benefit.value(trials) - cost.value(trials), axis=1) - here


@given(owners=st.lists(any_cost, min_size=2, max_size=4), accuracy=accuracies, rule=mechanisms, seed=st.integers(0, 99))
@settings(max_examples=100)
def test_the_gains_at_any_profile_cover_what_a_grid_finds(owners, accuracy, rule, seed):
    game = Game(accuracy, owners, CAPACITY, rule)
    profile = CAPACITY * np.random.default_rng(seed).random(len(owners)) ** 3
    seen = found_by_grid(game.offers(profile), game.costs, game.capacities, profile)
    gains = game.gains(profile, 1e-6)
    assert np.all(gains >= seen - 1e-9)
    assert np.all(np.isfinite(gains))
    concave = game.offers(profile).shape == "concave"
    if concave and np.all(game.costs.convex):
        assert np.all(gains <= seen + 1e-4)  # what the grid misses


@given(owners=st.lists(any_cost, min_size=2, max_size=3), accuracy=accuracies, rule=mechanisms)
@settings(max_examples=30)
def test_a_solution_is_proven_and_no_grid_finds_more(owners, accuracy, rule):
    game = Game(accuracy, owners, CAPACITY, rule)
    found = solve(game, tolerance=1e-6)
    seen = found_by_grid(game.offers(found.profile), game.costs, game.capacities, found.profile)
    assert found.gap >= np.max(seen) - 1e-9
    assert found.converged == (found.gap <= 1e-6)
    own = [cost.value(found.profile[[i]])[0] for i, cost in enumerate(owners)]
    assert found.utilities == pytest.approx(found.accuracies + found.payments - own, abs=1e-12)


@given(
    owners=st.lists(st.tuples(any_cost, strategies), min_size=2, max_size=4),
    accuracy=accuracies,
    rule=mechanisms,
    steps=st.integers(1, 6),
)
@settings(max_examples=60)
def test_the_regrets_of_a_run_cover_what_a_grid_finds(owners, accuracy, rule, steps):
    people = [OwnerProfile(cost, CAPACITY, strategy) for cost, strategy in owners]
    model = Federation(Scenario(people, accuracy, rule, steps=steps))
    for _ in range(steps):
        model.step()
    offers, everyone = model.server.announce(*model.announce(model.population.present)), model.population
    seen = found_by_grid(offers, everyone.cost, everyone.capacity, everyone.contribution)
    assert np.all(model.regrets() >= seen - 1e-9)
    own = [cost.value(everyone.contribution[[i]])[0] for i, (cost, _) in enumerate(owners)]
    assert model.frames().owners["cost"].to_numpy()[-len(own) :] == pytest.approx(own, abs=1e-12)


@given(owners=st.lists(any_cost, min_size=2, max_size=4), accuracy=accuracies, rule=mechanisms, seed=st.integers(0, 99))
def test_a_mixed_population_answers_as_each_owner_would_alone(owners, accuracy, rule, seed):
    game = Game(accuracy, owners, CAPACITY, rule)
    offers = game.offers(CAPACITY * np.random.default_rng(seed).random(len(owners)))
    together = best_response(offers, game.costs, game.capacities)
    for i, cost in enumerate(owners):
        alone = best_response(offers.take([i]), stack([cost]), game.capacities[[i]])
        assert alone.contribution[0] == together.contribution[i]
        assert alone.utility[0] == together.utility[i]


@given(cost=st.one_of(closed_costs, own_costs), accuracy=accuracies)
def test_alone_nobody_does_better_than_its_optimum(cost, accuracy):
    found, utility = individual_optimum(accuracy, stack([cost]), np.array([CAPACITY]))
    alone = full_access(accuracy, np.zeros(1), nothing(1))
    seen = found_by_grid(alone, stack([cost]), np.array([CAPACITY]), found)
    assert seen[0] <= 1e-9
    assert utility[0] == alone.received.value(found)[0] - cost.value(found)[0]


@given(owners=st.lists(st.one_of(closed_costs, own_costs), min_size=2, max_size=2), p=st.sampled_from([1.0, 0.0]))
@settings(max_examples=15)
def test_no_grid_finds_more_welfare(owners, p):
    costs = stack([Linear(0.01), Linear(0.01)]) if p == 0 else stack(owners)  # losses have no geometric mean
    found = welfare_optimum(PowerLaw(), costs, CAPACITY, p)
    kinks = np.where(np.isfinite(costs.kinks(2)), np.minimum(costs.kinks(2), CAPACITY), 0.0)
    axes = [np.concatenate([np.linspace(0, CAPACITY, 121), own]) for own in kinks]
    profiles = np.array(np.meshgrid(*axes)).reshape(2, -1).T
    utilities = PowerLaw().values(profiles) - costs.value(profiles.T).T
    best = utilities.mean(axis=1) if p == 1 else np.sqrt(utilities.prod(axis=1))
    assert found.welfare >= best.max() - 1e-12


def test_what_starting_costs_keeps_an_owner_out_that_would_give_otherwise():
    law, capacity = PowerLaw(), np.array([100.0])
    free = individual_optimum(law, Linear(0.1), capacity)
    for start, gives in ((0.4675, free[0]), (0.4676, [0.0])):  # alone it gains 0.46754 by giving 2.162
        found, utility = individual_optimum(law, stack([Piecewise([0], [0.1], [start])]), capacity)
        assert found == pytest.approx(gives)
        assert utility[0] == pytest.approx(max(free[1][0] - start, 0.0))


def test_an_owner_stops_right_before_a_jump_and_at_a_kink():
    stairs = stack([Discs(0.3, 1.5, 0.0), Discs(0.3, 1.5, 0.0, already=True), Tabulated([0, 1.5, 3], [0, 0.01, 2])])
    found, _ = individual_optimum(PowerLaw(), stairs, np.full(3, CAPACITY))
    assert found[0] == found[2] == 1.5
    assert 1.5 - 1e-9 < found[1] < 1.5  # at 1.5 it would have to pay
    game = Game(PowerLaw(), stairs, CAPACITY, NoPayments())
    assert solve(game).converged


# What is proven rests on promises, so broken ones must be noticed


@dataclass(frozen=True)
class Hidden(Cost):
    """A jump that it does not tell of."""

    where: float

    def value(self, x):
        return 0.05 * x + 0.3 * (x > self.where)


@pytest.mark.parametrize("where", [0.01, 0.5, 2.0, 11.9])
def test_a_broken_promise_is_refused(where):
    with pytest.raises(InputError, match=r"Hidden\(where=.*\) is not convex at .*; name its jumps in `breaks`"):
        Game(PowerLaw(), [Hidden(where)], CAPACITY, NoPayments())
    with pytest.raises(InputError, match="is not convex at"):
        OwnerProfile(Hidden(where), CAPACITY)


def test_without_its_jumps_a_cost_would_have_a_false_certificate():
    """The properties above can fail: with its jump hidden, what is best before it is overlooked."""
    offers, capacity = full_access(PowerLaw(), np.zeros(1), nothing(1)), np.array([CAPACITY])
    hidden, told = stack([Hidden(2.0)]), stack([Piecewise([0, 2], [0.05, 0.05], [0, 0.3])])
    profile = np.array([20**0.5 - 1])  # the best beyond the jump
    seen = found_by_grid(offers, told, capacity, profile)[0]
    assert certified_gains(offers, hidden, capacity, profile)[0] < 1e-9 < 0.25 < seen
    assert certified_gains(offers, told, capacity, profile)[0] == pytest.approx(seen, abs=1e-9)


@given(st.floats(-3, 3), st.floats(0.01, 3), st.floats(0.0, 1.0))
def test_chords_bound_a_concave_function_tightly(middle, bend, guess):
    def benefit(x):
        return -bend * (x - middle) ** 2

    low, high = np.array([[0.0]]), np.array([[2.0]])
    top = np.clip(middle, 0.0, 2.0)
    bound = concave_bound(benefit, np.zeros_like, low, high, np.array([[2.0 * guess]]))
    assert bound >= benefit(top)
    close = concave_bound(benefit, np.zeros_like, low, high, np.array([[top]]))
    assert benefit(top) <= close <= benefit(top) + 1e-9


def test_chords_say_when_a_function_is_not_concave():
    low, high = np.zeros((1, 1)), np.full((1, 1), 2.0)
    assert concave_bound(np.square, np.zeros_like, low, high, high) == np.inf
    assert concave_bound(np.floor, np.zeros_like, low, high, high / 3) == np.inf


def test_costs_that_are_not_convex_are_proven_by_cutting_up_the_range():
    game = Game(PowerLaw(), [Discount(0.1), Congested(0.1, 0.2)], CAPACITY, NoPayments())
    found = solve(game)
    assert found.converged
    assert game.gap(found.profile) <= 1e-9
