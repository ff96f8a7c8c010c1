"""A deposit costs honest owners nothing, and whoever sends what cannot be used just the amount."""

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import CostSharing, Deposit, MultiplicativeWeights, ShapleyShare, Verification
from fedabm.strategies import AsAsked, BestResponse, Honest
from fedabm.views import SERVER
from tests.conftest import Says


def play(rule, strategy):
    owners = population([0.01, 0.02, 0.03], 5.0, [strategy, Honest(), BestResponse()])
    return Federation(Scenario(owners, PowerLaw(), rule, steps=3)).run()


def test_honest_owners_get_it_back():
    plain, staked = play(ShapleyShare(), Honest()), play(Deposit(ShapleyShare(), 0.4), Honest())
    np.testing.assert_array_equal(plain.population.utility, staked.population.utility)
    assert plain.gap == staked.gap


def test_whoever_is_rejected_loses_just_the_amount_and_nobody_gets_it():
    """A report that is no number is rejected; so is an update that holds any."""
    broken = Says(5.0, claimed=np.nan)
    plain, staked = play(ShapleyShare(), broken), play(Deposit(ShapleyShare(), 0.4), broken)
    lost = plain.population.utility - staked.population.utility
    np.testing.assert_allclose(lost, [0.4, 0.0, 0.0], atol=1e-12)
    assert staked.ledger.balance(SERVER) - plain.ledger.balance(SERVER) == pytest.approx(0.4 * staked.steps)


def test_it_asks_what_its_rule_asks_and_adds_to_what_that_one_takes():
    assert Deposit(CostSharing()).asks_cost
    assert not Deposit(ShapleyShare()).asks_cost
    assert not Deposit(ShapleyShare()).budget_balanced
    both = play(Deposit(Verification(ShapleyShare(), fine=0.0), 0.4), Says(5.0, claimed=np.nan))
    one = play(Deposit(ShapleyShare(), 0.4), Says(5.0, claimed=np.nan))
    np.testing.assert_allclose(both.population.utility, one.population.utility)


def test_a_rule_beside_a_deposit_still_asks_for_data():
    rule = MultiplicativeWeights(0.5, 8.0)
    people = population([0.01, 0.01], 20.0, AsAsked())
    for mechanism in (rule, Deposit(rule)):
        run = Federation(Scenario(people, PowerLaw(), mechanism, steps=3)).run()
        assert run.population.contribution == pytest.approx([4.0, 4.0])
