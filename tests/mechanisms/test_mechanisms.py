"""The contract of every mechanism: legal, balanced where promised, fair where promised, pure, and free of secrets.

A new mechanism enters `fedabm.mechanisms.__all__`, and the examples here if it needs parameters; its theorems have
tests of their own.  Rules with a model per owner are handed models made up for the purpose.
"""

import copy
import itertools
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedabm.mechanisms
from fedabm import Federation, InputError, Scenario
from fedabm.games.accuracy import Accuracy, GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import Linear, PowerCost
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    Deposit,
    Mechanism,
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
from fedabm.simulation import checkpoint
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import GradientResponse, Honest, Quitter, Random
from fedabm.views import SERVER, Outcome, Reports, Sent, ServerView
from tests.conftest import assert_equal_frames, one_of_each
from tests.models import StandingModels, plain_models


def half_of_the_accuracy(accuracy: Accuracy, reports: Reports) -> np.ndarray:
    """A rule of one's own."""
    return 0.5 * accuracy.values(reports.contribution[None])[0]


EXAMPLES: dict[str, Mechanism] = one_of_each(
    fedabm.mechanisms,
    ContributionSubsidy(0.02),
    CostSharing(0.3),
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

OWNERS = 5
ACCURACIES: dict[str, Accuracy] = {
    "power_law": PowerLaw(exponent=0.7),
    "viability": PowerLaw(scale=1.4, exponent=0.5),
    "groups": GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 0, 1, 1, 0)),
    "coverage": RandomCoverage([[0.2, 0.1, 0.3]] * 2 + [[0.4, 0.2, 0.1]] * 3),
}
#: the first two owners are equal in the accuracies above

contract = pytest.mark.parametrize("mechanism", CASES.values(), ids=CASES.keys())
PROMISING = {name: mechanism for name, mechanism in CASES.items() if mechanism.promises}
EXCHANGING = {name: mechanism for name, mechanism in CASES.items() if not mechanism.promises}
promises = pytest.mark.parametrize("mechanism", PROMISING.values(), ids=PROMISING.keys())
exchanges = pytest.mark.parametrize("mechanism", EXCHANGING.values(), ids=EXCHANGING.keys())
oracles = pytest.mark.parametrize("accuracy", ACCURACIES.values(), ids=ACCURACIES.keys())


def everything(seed: int, n: int = OWNERS) -> Reports:
    """Reports of all that a mechanism could ask for."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(2.0, 12.0, n)
    claimed = size * rng.choice([0.0, 0.2, 0.7, 1.0], n) * rng.uniform(0.5, 1.0, n)
    cost = PowerCost(rng.uniform(0.01, 0.08, n), np.ones(n), np.zeros(n))
    return Reports(claimed, size, cost, rng.uniform(1.0, 5.0, n), np.arange(n))


def reports_of(seed: int, mechanism: Mechanism, n: int = OWNERS) -> Reports:
    """Reports of what the mechanism asks for."""
    full = everything(seed, n)
    cost, eagerness = full.cost if mechanism.asks_cost else None, full.eagerness if mechanism.asks_eagerness else None
    return replace(full, cost=cost, eagerness=eagerness)


def settle(mechanism: Mechanism, accuracy: Accuracy, reports: Reports, sent: Sent | None = None) -> Outcome:
    return mechanism.settle(ServerView(1, reports, accuracy, sent or plain_models(reports)))


def test_every_mechanism_has_an_example():
    assert set(EXAMPLES) == set(fedabm.mechanisms.__all__) - {"Mechanism"}
    assert all(type(mechanism).__name__ == name for name, mechanism in EXAMPLES.items())
    assert {"ModelMarket", "FedAvg", "CFL"} <= set(EXCHANGING) == set(EXAMPLES) - set(PROMISING)
    assert {"NoPayments", "ShapleyShare"} <= set(PROMISING)


@contract
@oracles
@pytest.mark.parametrize("seed", range(2))
def test_outcomes_are_legal(mechanism, accuracy, seed):
    reports = reports_of(seed, mechanism)
    outcome = settle(mechanism, accuracy, reports)
    assert outcome.access.shape == outcome.payments.shape == (OWNERS,)
    assert np.all((outcome.access >= 0) & (outcome.access <= 1))
    assert np.all(np.isfinite(outcome.payments))
    offers = outcome.offers
    assert offers.kinks.shape[0] == OWNERS
    claimed = reports.contribution
    full, received = offers.accuracy.value(claimed), offers.received.value(claimed)
    np.testing.assert_allclose(full, accuracy.values(claimed[None])[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(received, outcome.access * full, rtol=1e-9, atol=1e-12)


@contract
@oracles
@pytest.mark.parametrize("seed", range(2))
def test_nobody_gets_more_than_the_full_model(mechanism, accuracy, seed):
    reports = reports_of(seed, mechanism)
    offers = mechanism.offers(accuracy, reports)
    x = reports.size[:, None] * np.linspace(0, 1, 40)
    assert np.all(offers.received.value(x) <= offers.accuracy.value(x) + 1e-9)
    assert np.all(offers.received.value(x) >= -1e-9)


@contract
@oracles
@pytest.mark.parametrize("seed", range(2))
def test_payments_balance_where_promised_and_are_what_the_transfers_say(mechanism, accuracy, seed):
    outcome = settle(mechanism, accuracy, reports_of(seed, mechanism))
    if mechanism.budget_balanced:
        assert abs(outcome.payments.sum()) <= 1e-9 * max(np.abs(outcome.payments).sum(), 1e-3)
    moved, book = outcome.transfers, np.zeros(OWNERS + 1)
    assert np.all(moved.amount > 0)
    assert np.all(((moved.payer == SERVER) | (moved.payee == SERVER)) == mechanism.promises)
    np.add.at(book, moved.payee, moved.amount)
    np.subtract.at(book, moved.payer, moved.amount)
    np.testing.assert_allclose(book[:-1], outcome.payments, rtol=0, atol=1e-15)


@contract
@oracles
def test_equal_owners_are_treated_equally_where_promised(mechanism, accuracy):
    reports = reports_of(3, mechanism)
    asked = [] if reports.cost is None else [reports.cost.rate]
    asked += [] if reports.eagerness is None else [reports.eagerness]
    for column in (reports.contribution, reports.size, *asked):
        column[1] = column[0]
    sent = plain_models(reports)
    for rows in (sent.models, sent.start, sent.best):
        rows[1] = rows[0]
    outcome = settle(mechanism, accuracy, reports, sent)
    if mechanism.equal_treatment:
        np.testing.assert_allclose(outcome.access[0], outcome.access[1], rtol=1e-9)
        np.testing.assert_allclose(outcome.payments[0], outcome.payments[1], rtol=1e-9, atol=1e-12)


@contract
@oracles
def test_the_same_view_gives_the_same_outcome_and_stays_untouched(mechanism, accuracy):
    reports = reports_of(4, mechanism)
    before = copy.deepcopy(reports)
    one, two = (settle(mechanism, accuracy, reports) for _ in range(2))
    np.testing.assert_array_equal(one.access, two.access)
    np.testing.assert_array_equal(one.payments, two.payments)
    np.testing.assert_array_equal(before.contribution, reports.contribution)
    np.testing.assert_array_equal(before.size, reports.size)


@contract
def test_mechanisms_are_frozen_values(mechanism):
    again = pickle.loads(pickle.dumps(mechanism))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert is_dataclass(mechanism)
    assert repr(mechanism).startswith(type(mechanism).__name__)
    for part in fields(mechanism):
        with pytest.raises(FrozenInstanceError):
            setattr(mechanism, part.name, None)
        replace(mechanism)


@contract
def test_costs_are_needed_only_where_they_are_asked_for(mechanism):
    reports, accuracy = everything(5), PowerLaw(exponent=0.7)
    silent = replace(reports, cost=None)
    if mechanism.asks_cost:
        with pytest.raises(InputError, match="needs the owners' reported costs"):
            settle(mechanism, accuracy, silent)
    else:
        one, two = settle(mechanism, accuracy, reports), settle(mechanism, accuracy, silent)
        np.testing.assert_array_equal(one.payments, two.payments)
        np.testing.assert_array_equal(one.access, two.access)


@promises
@oracles
@pytest.mark.parametrize("seed", range(2))
def test_an_offer_says_what_settling_would_bring(mechanism, accuracy, seed):
    """The heart of the design: owner i's curves at x are the outcome if i had reported x and nobody else had moved."""
    reports = reports_of(seed, mechanism)
    offers = mechanism.offers(accuracy, reports)
    rng = np.random.default_rng(seed)
    x = reports.size * rng.uniform(0, 1, OWNERS)
    received, payment = offers.received.value(x), offers.payment.value(x)
    for owner in range(OWNERS):
        claimed = np.where(np.arange(OWNERS) == owner, x, reports.contribution)
        changed = replace(reports, contribution=claimed)
        outcome = settle(mechanism, accuracy, changed)
        full = accuracy.values(claimed[None])[0]
        np.testing.assert_allclose(payment[owner], outcome.payments[owner], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(received[owner], (outcome.access * full)[owner], rtol=1e-7, atol=1e-9)


@contract
@oracles
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_an_offer_are_what_the_owners_alone_need(mechanism, accuracy, seed):
    """To the last bit: an owner decides the same alone, in a cohort and in any order of turns."""
    rng, reports = np.random.default_rng(seed), reports_of(seed, mechanism)
    if mechanism == CASES["CostSharing"]:
        reports = replace(reports, cost=replace(reports.cost, exponent=rng.choice([1.0, 1.5, 2.0], OWNERS)))
    offers = mechanism.offers(accuracy, reports)
    trials = reports.size[:, None] * rng.uniform(0.0, 1.0, (OWNERS, 33))
    for rows in ([3], [4, 0], list(range(OWNERS))):
        mine = offers.take(rows)
        np.testing.assert_array_equal(mine.kinks, offers.kinks[rows])
        assert mine.shape == offers.shape
        for name, x in itertools.product(("accuracy", "received", "payment"), (trials, trials[:, :1], trials[:, 0])):
            whole, part = getattr(offers, name), getattr(mine, name)
            np.testing.assert_array_equal(part.value(x[rows]), whole.value(x)[rows])
            np.testing.assert_array_equal(part.slope(x[rows]), whole.slope(x)[rows])


@contract
@oracles
def test_many_trials_at_once_are_the_same_as_one_by_one(mechanism, accuracy):
    reports = reports_of(7, mechanism)
    offers = mechanism.offers(accuracy, reports)
    x = reports.size[:, None] * np.linspace(0.05, 0.95, 7)
    for curve in (offers.accuracy, offers.received, offers.payment):
        for question in (curve.value, curve.slope):
            together = question(x)
            assert together.shape == x.shape
            apart = np.column_stack([question(trial) for trial in x.T])
            np.testing.assert_allclose(together, apart, rtol=1e-9, atol=1e-11)


@contract
@oracles
@pytest.mark.parametrize("seed", range(2))
def test_slopes_are_derivatives_away_from_kinks(mechanism, accuracy, seed):
    reports = reports_of(seed, mechanism)
    offers = mechanism.offers(accuracy, reports)
    step = 1e-5
    x = reports.size[:, None] * np.random.default_rng(seed).uniform(0.01, 0.99, (OWNERS, 8))
    near = np.any(np.abs(x[:, :, None] - offers.kinks[:, None, :]) < 10 * step, axis=2)
    assert near.mean() < 0.2
    for curve in (offers.accuracy, offers.received, offers.payment):
        difference = (curve.value(x + step) - curve.value(x - step)) / (2 * step)
        np.testing.assert_allclose(curve.slope(x)[~near], difference[~near], rtol=2e-4, atol=2e-6)


@contract
@oracles
@pytest.mark.parametrize("seed", range(2))
def test_the_promised_shape_holds_between_kinks(mechanism, accuracy, seed):
    """The certified gap relies on it."""
    reports = reports_of(seed, mechanism)
    offers = mechanism.offers(accuracy, reports)
    assert offers.shape in ("concave", "monotone", "unknown")
    edges = np.clip(np.column_stack([np.zeros(OWNERS), offers.kinks, reports.size]), 0.0, reports.size[:, None])
    edges = np.sort(edges, axis=1)
    for low, high in zip(edges.T[:-1], edges.T[1:], strict=True):
        inside = low[:, None] + (high - low)[:, None] * np.linspace(1e-9, 1 - 1e-9, 41)
        value = offers.benefit.value(inside)
        if offers.shape == "monotone":
            assert np.all(np.diff(value, axis=1) >= -1e-9)
        if offers.shape == "concave":
            assert np.all(np.diff(value, 2, axis=1) <= 1e-9)


@contract
def test_an_owner_that_is_alone_neither_pays_nor_is_paid(mechanism):
    outcome = settle(mechanism, PowerLaw(exponent=0.7), reports_of(2, mechanism, n=1))
    if mechanism.budget_balanced:
        np.testing.assert_allclose(outcome.payments, 0.0, atol=1e-12)


@contract
@oracles
def test_nobody_contributing_is_no_problem(mechanism, accuracy):
    reports = reports_of(2, mechanism)
    outcome = settle(mechanism, accuracy, replace(reports, contribution=np.zeros(OWNERS)))
    assert np.all(np.isfinite(outcome.payments))
    assert np.all(np.isfinite(outcome.access))


@contract
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 7))
def test_legal_and_balanced_on_random_federations(mechanism, seed, n):
    outcome = settle(mechanism, PowerLaw(scale=1.2, exponent=0.6), reports_of(seed, mechanism, n))
    assert np.all((outcome.access >= 0) & (outcome.access <= 1))
    assert np.all(np.isfinite(outcome.payments))
    if mechanism.budget_balanced:
        assert abs(outcome.payments.sum()) <= 1e-9 * max(np.abs(outcome.payments).sum(), 1e-3)


# Rules with a model per owner


@exchanges
@pytest.mark.parametrize("seed", range(3))
def test_whoever_sent_nothing_sound_is_imported_by_nobody_and_pays_nobody(mechanism, seed):
    reports = reports_of(seed, mechanism)
    reports = replace(reports, contribution=reports.size)
    sent = plain_models(reports, seed)
    sent.sound[[1, 3]], sent.models[[1, 3]] = False, np.nan
    outcome = settle(mechanism, PowerLaw(), reports, sent)
    others = ~np.eye(OWNERS, dtype=bool)
    assert outcome.adjacency.shape == (OWNERS, OWNERS)
    assert np.all(np.isfinite(outcome.adjacency) & (outcome.adjacency >= 0))
    assert not outcome.adjacency[:, [1, 3]][others[:, [1, 3]]].any()
    assert {1, 3}.isdisjoint({*outcome.transfers.payer.tolist(), *outcome.transfers.payee.tolist()})
    for task in (outcome.exchange.task, outcome.exchange.personal):
        for rows in (None, None) if task is None else (task.start, task.pull):
            assert rows is None or (rows.shape == sent.models.shape and np.isfinite(rows).all())


@exchanges
def test_rules_that_exchange_models_say_so_where_all_share_one(mechanism):
    reports = reports_of(0, mechanism)
    with pytest.raises(InputError, match=r"exchanges models.*give the scenario.*a model per owner"):
        mechanism.settle(ServerView(1, reports, PowerLaw()))


def test_mechanisms_need_neither_torch_nor_mesa():
    check = "import sys, fedabm.mechanisms; print(*{'torch', 'mesa'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


# In a federation


def federation(mechanism: Mechanism) -> Scenario:
    """Owners that come, go and throw dice."""
    strategies = [Random(0.2, 0.9), Honest(), Quitter(Random(), chance=0.3), GradientResponse(0.5), Honest()]
    joins = [1, 1, 1, 3, 2]
    owners = [
        OwnerProfile(Linear(0.02 + 0.01 * i), 5.0 + i, strategy, eagerness=20.0, joins=joins[i])
        for i, strategy in enumerate(strategies)
    ]
    return Scenario(owners, PowerLaw() if mechanism.promises else StandingModels(OWNERS), mechanism, steps=6)


@contract
def test_equal_seeds_give_equal_frames_also_after_an_interruption(mechanism, tmp_path):
    scenario = federation(mechanism)
    whole = Federation(scenario, 3).run().frames()
    assert_equal_frames(Federation(scenario, 3).run().frames(), whole)
    part = Federation(scenario, 3)
    for _ in range(3):
        part.step()
    again = checkpoint.restore(checkpoint.save(part, tmp_path / "run"), federation(mechanism))
    assert_equal_frames(again.run().frames(), whole)


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
