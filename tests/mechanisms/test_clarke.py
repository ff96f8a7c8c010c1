"""Clarke payments: truthful in costs, efficient, rational, and not balanced; pivots are computed once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Federation, Game, Scenario, population, solve
from fedabm.games.accuracy import Accuracy, Custom, GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Linear, PowerCost, Quadratic
from fedabm.games.efficient import efficient_profile, welfare_without_each
from fedabm.games.welfare import welfare_optimum
from fedabm.mechanisms import Clarke
from fedabm.simulation.activation import Sequential
from fedabm.strategies import BestResponse, Liar
from fedabm.views import Reports

ACCURACIES: list[Accuracy] = [
    PowerLaw(),
    PowerLaw(scale=1.4, exponent=0.5),
    GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 0, 1)),
    RandomCoverage([[0.2, 0.1, 0.3]] * 2 + [[0.4, 0.2, 0.1]]),
]
rates = st.lists(st.floats(0.01, 0.5), min_size=3, max_size=3)
CAPACITY = np.array([3.0, 10.0, 2.0])


def test_two_owners_by_hand():
    """a(S) = 1 - 1/(1 + S): together 2/(1 + S)^2 = .1, alone 1/(1 + S)^2 = c: W_-0 = 1/4, W_-1 = (1 - .1^.5)^2."""
    found = solve(Game(PowerLaw(), [0.1, 0.25], 100, Clarke()))
    total = 20**0.5 - 1
    accuracy = 1 - 20**-0.5
    assert found.converged
    assert found.profile == pytest.approx([total, 0.0])
    assert found.payments == pytest.approx([accuracy - 0.25, accuracy - 0.1 * total - (1 - 0.1**0.5) ** 2])
    assert found.payments.sum() > 0.4


@given(rates=rates, accuracy=st.sampled_from(ACCURACIES), lie=st.floats(0.0, 20.0), seed=st.integers(0, 99))
def test_no_lie_about_a_cost_changes_the_own_payment_at_any_profile(rates, accuracy, lie, seed):
    """Truth is a dominant strategy: u_i is the same whatever i says it costs, and others' best replies are too."""
    claimed = CAPACITY * np.random.default_rng(seed).uniform(size=3)
    said = np.array([rates[0] * lie, *rates[1:]])
    honest, liar = (
        Clarke().offers(accuracy, Reports(claimed, CAPACITY, Linear(np.array(rate)))) for rate in (rates, said)
    )
    x = CAPACITY[:, None] * np.linspace(0, 1, 9)
    assert np.array_equal(honest.payment.value(x)[0], liar.payment.value(x)[0])
    change = honest.payment.value(x) - liar.payment.value(x)
    np.testing.assert_allclose(change, change[:, :1] + 0 * x, atol=1e-12)


@given(rates=rates, accuracy=st.sampled_from([ACCURACIES[0], *ACCURACIES[2:]]))
def test_what_is_best_for_all_is_an_equilibrium_and_nobody_is_worse_off_than_outside(rates, accuracy):
    game = Game(accuracy, rates, CAPACITY, Clarke())
    best = Clarke().efficient(accuracy, game.reports(CAPACITY))
    assert game.gap(best) < 1e-7
    assert np.all(game.utilities(best) >= -1e-9)
    found = solve(game)
    assert found.converged
    plain = accuracy.values(found.profile[None])[0] - game.costs.value(found.profile)
    assert plain.mean() == pytest.approx(welfare_optimum(accuracy, rates, CAPACITY).welfare, abs=1e-9)


@given(rates=rates, scale=st.sampled_from([0.7, 1.0, 1.5]), exponent=st.floats(0.4, 2.0))
def test_the_cheapest_data_come_first_and_nothing_beats_them(rates, scale, exponent):
    """The exact way by totals against climbing in all contributions, of all owners and of all but one."""
    accuracy, cost = PowerLaw(scale, exponent), PowerCost(np.array(rates), fixed=np.array([0.1, 0.0, 0.3]))
    profile = efficient_profile(accuracy, cost, CAPACITY)
    welfare = float(np.mean(accuracy.values(profile[None])[0] - cost.value(profile)))
    assert welfare == pytest.approx(welfare_optimum(accuracy, cost, CAPACITY).welfare, abs=1e-9)
    without = welfare_without_each(accuracy, cost, CAPACITY)
    for owner in range(3):
        others = np.delete(np.arange(3), owner)
        climbed = welfare_optimum(accuracy, cost.take(others), CAPACITY[others])
        assert without[owner] == pytest.approx(2 * climbed.welfare, abs=1e-9)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_spillovers_are_the_others_accuracies_along_the_own_contribution(accuracy):
    profile, x = np.array([0.5, 0.0, 1.5]), np.array([[0.2, 4.0], [1.0, 2.0], [0.0, 3.0]])
    curve = accuracy.spillovers(profile)
    for owner, trial in np.ndindex(3, 2):
        changed = profile.copy()
        changed[owner] = x[owner, trial]
        others = np.delete(accuracy.values(changed[None])[0], owner).sum()
        assert curve.value(x)[owner, trial] == pytest.approx(others)
        assert curve.take([owner]).value(x[[owner]])[0, trial] == curve.value(x)[owner, trial]
    step = 1e-5
    rise = (curve.value(x + step + 0.1) - curve.value(x - step + 0.1)) / (2 * step)
    np.testing.assert_allclose(curve.slope(x + 0.1), rise, rtol=1e-4, atol=1e-7)


def test_a_run_of_liars_about_costs_reaches_what_honest_owners_do():
    honest = population([0.1, 0.25, 0.05], [3.0, 10.0, 2.0])
    lying = population(
        [0.1, 0.25, 0.05], [3.0, 10.0, 2.0], [Liar(BestResponse(), cost_factor=3), *[BestResponse()] * 2]
    )
    runs = [Federation(Scenario(owners, PowerLaw(), Clarke(), Sequential())).run() for owners in (honest, lying)]
    one, two = (model.population for model in runs)
    np.testing.assert_allclose(one.contribution, two.contribution)
    assert one.utility[0] == pytest.approx(two.utility[0])
    assert abs(one.utility[1] - two.utility[1]) > 0.1


def test_pivots_are_computed_once_while_types_stand_and_again_when_they_change(monkeypatch):
    asked = []

    def counted(self, accuracy, types):
        assert np.all(np.isnan(types.contribution))
        asked.append(types)
        return welfare_without_each(accuracy, types.cost, types.size)

    monkeypatch.setattr(Clarke, "terms", counted)
    game = Game(PowerLaw(exponent=0.9), [Quadratic(0.1), Quadratic(0.05), Linear(0.2)], CAPACITY, Clarke())
    assert solve(game).converged
    assert len(asked) == 1
    game.gap(CAPACITY)
    asked.clear()
    reports = game.reports(CAPACITY)
    before = game.mechanism.offers(game.accuracy, reports).payment.value(CAPACITY)
    assert len(asked) == 0
    other = replace(reports, cost=reports.cost.scaled(2.0))
    after = game.mechanism.offers(game.accuracy, other).payment.value(CAPACITY)
    assert len(asked) == 1
    assert np.all(before != after)
    other.size[0] = 1.0
    game.mechanism.offers(game.accuracy, other)
    assert len(asked) == 2
    owners = population([0.1, 0.25, 0.05], [3.0, 10.0, 2.0])
    Federation(Scenario(owners, PowerLaw(), Clarke(), Sequential(), steps=5)).run()
    assert len(asked) == 3


def test_an_accuracy_of_a_users_own_that_says_no_number_of_owners_is_solved():
    """The pivots are computed for as many as there are."""
    worth = Custom(
        lambda s: np.broadcast_to(np.log1p(s.sum(axis=1, keepdims=True)), s.shape), concave=True, monotone=True
    )
    found = solve(Game(worth, [0.1, 0.2, 0.3], 5.0, Clarke()))
    same = solve(Game(replace(worth, owners=3), [0.1, 0.2, 0.3], 5.0, Clarke()))
    assert found.converged
    assert found.profile == pytest.approx(same.profile)
