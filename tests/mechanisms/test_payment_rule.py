"""A plain function of the reports is a mechanism: as good as one with curves of its own, and never certified."""

import numpy as np
import pytest

from fedabm import Federation, Game, InputError, Scenario, UserCodeError, population, solve
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, PaymentRule
from fedabm.simulation.activation import Sequential


def subsidy(accuracy, reports):
    claimed = reports.contribution
    return 0.05 * (claimed - (claimed.sum() - claimed) / (len(claimed) - 1))


def convex(accuracy, reports):
    return 0.02 * reports.contribution**2


def test_it_offers_what_a_mechanism_of_the_same_formula_does():
    games = [Game(PowerLaw(), [0.1, 0.25], 100, rule) for rule in (PaymentRule(subsidy), ContributionSubsidy(0.05))]
    for question in ("payments", "utilities", "best_responses", "slopes"):
        one, two = (getattr(game, question)([1.0, 3.0]) for game in games)
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-8)


def test_its_equilibrium_is_found_and_not_certified():
    found = solve(Game(PowerLaw(), [0.1, 0.25], 100, PaymentRule(subsidy)))
    assert found.profile == pytest.approx([20**0.5 - 1, 0.0], abs=1e-3)
    assert found.gap == np.inf
    assert not found.converged


def test_a_convex_payment_is_no_trap():
    """Where `full_access` would have believed in an affine payment: the best reply is all that the owner has."""
    game = Game(PowerLaw(), [0.1, 0.25], 20.0, PaymentRule(convex))
    assert game.best_responses([1.0, 1.0]) == pytest.approx([20.0, 20.0])
    assert game.gap([1.0, 1.0]) == np.inf


def test_it_runs_in_a_federation():
    owners = population([0.1, 0.25], 100.0)
    runs = [
        Federation(Scenario(owners, PowerLaw(), rule, Sequential(), steps=20)).run()
        for rule in (PaymentRule(subsidy, budget_balanced=True), ContributionSubsidy(0.05))
    ]
    one, two = (model.population.utility for model in runs)
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda accuracy, reports: 1.0, r"gave 1.0; return one finite number for each of 2 owners"),
        (lambda accuracy, reports: np.full(2, np.nan), r"gave \[nan, nan\]; return one finite number"),
        (lambda accuracy, reports: reports.cost, "gave None; return one"),
    ],
)
def test_what_a_function_does_wrong_is_told_in_one_line(function, told):
    with pytest.raises(InputError, match=told) as error:
        Game(PowerLaw(), [0.1, 0.25], 100, PaymentRule(function)).payments([1.0, 1.0])
    assert "\n" not in str(error.value)


def test_costs_are_asked_for_where_it_says_so():
    rule = PaymentRule(lambda accuracy, reports: reports.cost.value(reports.contribution), asks_cost=True)
    assert Game(PowerLaw(), [0.1, 0.25], 100, rule).payments([1.0, 2.0]) == pytest.approx([0.1, 0.5])
    with pytest.raises(InputError, match="a payment rule is a function"):
        PaymentRule(3)


def test_it_hears_only_what_it_asks_for():
    heard = []

    def curious(accuracy, reports):
        heard.append(reports)
        return np.zeros(2)

    for asks in (False, True):
        Game(PowerLaw(), [0.1, 0.25], 100, PaymentRule(curious, asks_size=asks, asks_cost=asks)).payments([1.0, 1.0])
        assert np.isnan(heard[-1].size[0]) == (heard[-1].cost is None) == (not asks)


def test_a_function_that_fails_is_named_in_one_line():
    def bad(accuracy, reports):
        return 1 / 0

    with pytest.raises(
        UserCodeError, match="the payment rule bad failed: ZeroDivisionError: division by zero; mend what raised it"
    ):
        solve(Game(PowerLaw(), [0.1, 0.2], 5.0, PaymentRule(bad)))
