"""The contract of every mechanism: legal, balanced where promised, fair where promised, pure, and free of secrets.

A new mechanism enters `fedabm.mechanisms.__all__`, and the examples here if it needs parameters; its theorems have
tests of their own.  Rules with a model per owner are handed models made up for the purpose.
"""

import subprocess
import sys

import numpy as np
import pytest

import fedabm.mechanisms
from fedabm.common.bounds import unbounded
from fedabm.games.accuracy import Accuracy, PowerLaw
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    Deposit,
    Mechanism,
    MultiplicativeWeights,
    PartialReciprocity,
    PaymentRule,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
    TullockContest,
)
from fedabm.scenarios.mechanism_by_population import MECHANISMS, SLOW
from fedabm.testing import MECHANISM_CHECKS, name_of
from fedabm.testing.federations import settle
from fedabm.testing.mechanisms import runs_repeat_and_can_be_interrupted
from fedabm.views import SERVER, Reports
from tests.conftest import one_of_each


def half_of_the_accuracy(accuracy: Accuracy, reports: Reports) -> np.ndarray:
    """A rule of one's own."""
    return 0.5 * accuracy.values(reports.contribution[None])[0]


EXAMPLES: dict[str, Mechanism] = one_of_each(
    fedabm.mechanisms,
    Mechanism,
    ContributionSubsidy(0.02),
    CostSharing(0.3),
    MultiplicativeWeights(0.5, 20.0),
    PartialReciprocity(0.5),
    PaymentRule(half_of_the_accuracy),
    ProportionalData(0.5),
    ProportionalShapley(0.5),
    ProportionalValue(0.5),
    Screening(0.02, 0.06, 0.4),
    TullockContest(0.3),
)
CASES = {
    **EXAMPLES,
    "CostSharing-optimal": CostSharing(),
    "ShapleyShare-printed": ShapleyShare(printed=True),
    "TullockContest-steep": TullockContest(0.3, exponent=2.0),
    "TullockContest-flat": TullockContest(0.3, exponent=0.5),
    "Deposit-cost_sharing": Deposit(CostSharing(0.3)),
}

contract = pytest.mark.parametrize("mechanism", CASES.values(), ids=CASES.keys())
PROMISING = {name: mechanism for name, mechanism in CASES.items() if mechanism.promises}
EXCHANGING = {name: mechanism for name, mechanism in CASES.items() if not mechanism.promises}


def test_every_mechanism_has_an_example():
    bases_and_parts = {"Mechanism", "Menu", "Personalised", "Proportional", "optimal_rate", "shaped_equilibrium"}
    assert set(EXAMPLES) == set(fedabm.mechanisms.__all__) - bases_and_parts
    assert all(type(mechanism).__name__ == name for name, mechanism in EXAMPLES.items())
    assert {"ModelMarket", "FedAvgExchange", "CFL"} <= set(EXCHANGING) == set(EXAMPLES) - set(PROMISING)
    assert {"NoPayments", "ShapleyShare"} <= set(PROMISING)


@contract
@pytest.mark.parametrize("check", MECHANISM_CHECKS, ids=name_of)
def test_the_contract_holds(mechanism, check):
    for seed in range(1 if check is runs_repeat_and_can_be_interrupted else 3):
        check(mechanism, seed=seed)


@pytest.mark.parametrize("kind", [type(one) for one in EXAMPLES.values()], ids=list(EXAMPLES))
def test_every_number_says_within_which_bounds_it_may_be_tuned_or_why_not(kind):
    assert unbounded(kind) == []


def test_mechanisms_need_neither_torch_nor_mesa():
    check = "import sys, fedabm.mechanisms; print(*{'torch', 'mesa'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


# Examples


def test_the_server_books_payments_through_its_own_account():
    """Claims 3 and 1, rate .02: the first gets .02 (3 - 1) and the second pays it."""
    outcome = settle(ContributionSubsidy(0.02), PowerLaw(), Reports(np.array([3.0, 1.0]), np.full(2, 9.0)))
    np.testing.assert_allclose(outcome.payments, [0.04, -0.04])
    assert outcome.transfers.payer.tolist() == [SERVER, 1]
    assert outcome.transfers.payee.tolist() == [0, SERVER]
    np.testing.assert_allclose(outcome.transfers.amount, [0.04, 0.04])


def test_the_study_of_all_mechanisms_misses_none():
    """The scenario has all rules that the papers propose; whoever adds one of his own may leave the study as it is."""
    studied = {type(mechanism).__name__ for mechanism in (*MECHANISMS, *SLOW)}
    money = {"NoPayments", "ContributionSubsidy", "CostSharing", "ShapleyShare", "PartialReciprocity"}
    models = {"ValueShaping", "Screening", "ProportionalData", "ProportionalValue", "ProportionalShapley"}
    assert studied >= money | models
