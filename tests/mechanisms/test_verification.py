"""A model that falls short of what owners claim: with a fine that is high enough no over-statement pays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedabm import Federation, InputError, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, FedAvgExchange, Mechanism, NoPayments, Verification
from fedabm.strategies import FixedShare, Honest, Liar
from fedabm.views import Evidence, Reports, ServerView

CAPACITY = np.array([4.0, 6.0, 10.0])
RATE = 0.02
#: n v'(S) at the largest claims, 3 / (1 + 20)^2, is what a unit of data brings at least
ENOUGH = RATE * 21**2 / 3


def payment(rule: Mechanism, truth: np.ndarray, claimed: np.ndarray) -> np.ndarray:
    """What is paid if the model was trained on the truth."""
    law = PowerLaw()
    evidence = Evidence(np.zeros(3, dtype=bool), law.values(truth[None])[0])
    return rule.settle(ServerView(1, Reports(claimed, CAPACITY), law, evidence=evidence)).payments


@given(shares=st.lists(st.floats(0, 1), min_size=3, max_size=3), lie=st.floats(0, 1), owner=st.integers(0, 2))
def test_no_overstatement_pays_beside_honest_owners(shares, lie, owner):
    truth = CAPACITY * np.array(shares)
    claimed = truth.copy()
    claimed[owner] += lie * (CAPACITY[owner] - truth[owner])
    gains = {
        fine: (payment(rule, truth, claimed) - payment(rule, truth, truth))[owner]
        for fine, rule in ((f, Verification(ContributionSubsidy(RATE), fine=f)) for f in (0.0, ENOUGH))
    }
    assert gains[0.0] == pytest.approx(RATE * (claimed - truth)[owner])
    assert gains[ENOUGH] <= 1e-12


def test_the_shortfall_by_hand():
    """Claims of 3 in all promise 3/4, 1 is worth 1/2: three owners miss 1/4 each; a tolerance of .05 leaves .2."""
    truth, claimed = np.array([1.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.0])
    np.testing.assert_allclose(payment(Verification(NoPayments(), 2.0), truth, claimed), -2 * 3 / 4)
    np.testing.assert_allclose(payment(Verification(NoPayments(), 2.0, tolerance=0.05), truth, claimed), -2 * 0.6)
    np.testing.assert_array_equal(payment(Verification(NoPayments(), 2.0), claimed, claimed), 0.0)
    np.testing.assert_array_equal(payment(Verification(NoPayments(), 2.0), claimed, truth), 0.0)


def test_in_a_run_the_liar_gains_without_a_fine_and_loses_with_it():
    def utility(rule: Mechanism, factor: float) -> float:
        strategies = [Liar(FixedShare(0.5), contribution_factor=factor), Honest(), Honest()]
        owners = population([0.01] * 3, CAPACITY, strategies)
        return Federation(Scenario(owners, PowerLaw(), rule, steps=2)).run().population.utility[0]

    plain, fined = ContributionSubsidy(RATE), Verification(ContributionSubsidy(RATE), fine=ENOUGH)
    assert utility(plain, 2.0) > utility(plain, 1.0) == utility(fined, 1.0) > utility(fined, 2.0)


def test_it_needs_a_rule_that_promises_something():
    with pytest.raises(InputError, match="needs a rule that promises payments, got FedAvg"):
        Verification(FedAvgExchange())
