"""The contract of every mechanism: legal, balanced where promised, fair where promised, pure, and free of secrets.

A new mechanism enters `fedabm.mechanisms.__all__`, and the examples here if it needs parameters; its theorems have
tests of their own.
"""

import copy
import itertools
import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedabm.mechanisms
from fedabm import InputError
from fedabm.games.accuracy import Accuracy, GroupWeighted, PowerLaw, RandomCoverage
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    Mechanism,
    PartialReciprocity,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
)
from fedabm.scenarios.mechanism_by_population import MECHANISMS, SLOW
from fedabm.views import SERVER, Outcome, Reports, ServerView
from tests.conftest import one_of_each

EXAMPLES: dict[str, Mechanism] = one_of_each(
    fedabm.mechanisms,
    ContributionSubsidy(0.02),
    CostSharing(0.3),
    PartialReciprocity(0.5),
    ProportionalData(0.5),
    ProportionalShapley(0.5),
    ProportionalValue(0.5),
    Screening(0.02, 0.06, 0.4),
)
CASES = {**EXAMPLES, "CostSharing-optimal": CostSharing(), "ShapleyShare-printed": ShapleyShare(printed=True)}

OWNERS = 5
ACCURACIES: dict[str, Accuracy] = {
    "power_law": PowerLaw(exponent=0.7),
    "viability": PowerLaw(scale=1.4, exponent=0.5),
    "groups": GroupWeighted(weights=((1.0, 0.5), (0.2, 1.0)), groups=(0, 0, 1, 1, 0)),
    "coverage": RandomCoverage([[0.2, 0.1, 0.3]] * 2 + [[0.4, 0.2, 0.1]] * 3),
}
#: the first two owners are equal in the accuracies above

contract = pytest.mark.parametrize("mechanism", CASES.values(), ids=CASES.keys())
oracles = pytest.mark.parametrize("accuracy", ACCURACIES.values(), ids=ACCURACIES.keys())


def reports_of(seed: int, mechanism: Mechanism, n: int = OWNERS) -> Reports:
    rng = np.random.default_rng(seed)
    size = rng.uniform(2.0, 12.0, n)
    claimed = size * rng.choice([0.0, 0.2, 0.7, 1.0], n) * rng.uniform(0.5, 1.0, n)
    cost = PowerCost(rng.uniform(0.01, 0.08, n), np.ones(n), np.zeros(n))
    return Reports(claimed, size, cost if mechanism.asks_cost else None)


def settle(mechanism: Mechanism, accuracy: Accuracy, reports: Reports) -> Outcome:
    return mechanism.settle(ServerView(1, reports, accuracy))


def test_every_mechanism_has_an_example():
    assert set(EXAMPLES) == set(fedabm.mechanisms.__all__) - {"Mechanism"}
    assert all(type(mechanism).__name__ == name for name, mechanism in EXAMPLES.items())


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
    assert np.all((moved.payer == SERVER) | (moved.payee == SERVER))
    np.add.at(book, moved.payee, moved.amount)
    np.subtract.at(book, moved.payer, moved.amount)
    np.testing.assert_allclose(book[:-1], outcome.payments, rtol=0, atol=1e-15)


@contract
@oracles
def test_equal_owners_are_treated_equally_where_promised(mechanism, accuracy):
    reports = reports_of(3, mechanism)
    for column in (reports.contribution, reports.size, *([] if reports.cost is None else [reports.cost.rate])):
        column[1] = column[0]
    outcome = settle(mechanism, accuracy, reports)
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
    reports, accuracy = reports_of(5, CASES["CostSharing"]), PowerLaw(exponent=0.7)
    silent = replace(reports, cost=None)
    if mechanism.asks_cost:
        with pytest.raises(InputError, match="needs the owners' reported costs"):
            settle(mechanism, accuracy, silent)
    else:
        one, two = settle(mechanism, accuracy, reports), settle(mechanism, accuracy, silent)
        np.testing.assert_array_equal(one.payments, two.payments)
        np.testing.assert_array_equal(one.access, two.access)


@contract
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
