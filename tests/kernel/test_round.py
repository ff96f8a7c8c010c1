"""The pure part of a round: the same call for one run and a stack of runs, and for everybody who settles one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm import Federation, Game, InputError, Scenario, population
from fedabm.auditing.stage import Stage
from fedabm.bridges.flower import PaymentServer
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import PowerCost
from fedabm.games.valuation import ReceivedAccuracy
from fedabm.kernel import Private, imported, receive, settle
from fedabm.mechanisms import ContributionSubsidy, NoPayments, PartialReciprocity
from fedabm.strategies import FixedShare
from fedabm.views import Exchange, LocalTask, Outcome, Reports, ServerView

RATES, SIZES, SHARES = np.array([0.02, 0.05, 0.1]), np.array([10.0, 20.0, 5.0]), np.array([0.5, 0.25, 1.0])
GIVEN = SHARES * SIZES
RULE = ContributionSubsidy(0.01)


def private(given: np.ndarray) -> Private:
    """Linear costs, for one run (n,) or for many (runs, n)."""
    like = np.broadcast_to
    cost = PowerCost(like(RATES, given.shape), like(1.0, given.shape))
    return Private(given, like(SIZES, given.shape), cost, like(0.0, given.shape), like(np.arange(3), given.shape))


def brought(given: np.ndarray, rule=RULE):
    """What a round of honest owners brings them."""
    oracle = PowerLaw()
    outcome = settle(rule, ServerView(1, Reports(given, np.broadcast_to(SIZES, given.shape)), oracle))
    return receive(
        outcome,
        oracle.values(given if given.ndim > 1 else given[None]).reshape(given.shape),
        ReceivedAccuracy(),
        private(given),
    )


def test_a_round_by_hand():
    """S = 15, a = 1 - 1/16; each is paid 0.01 for every unit above the mean of the others."""
    got = brought(GIVEN)
    np.testing.assert_allclose(got.accuracy, [15 / 16] * 3)
    np.testing.assert_allclose(got.payment, 0.01 * (GIVEN - (15 - GIVEN) / 2))
    np.testing.assert_allclose(got.utility, 15 / 16 + got.payment - RATES * GIVEN)


def test_a_stack_is_its_runs_bit_for_bit():
    given = np.random.default_rng(1).uniform(0.0, 5.0, (7, 3))
    together = brought(given)
    for row, alone in enumerate(map(brought, given)):
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, many[row])


@pytest.mark.parametrize("rule", [NoPayments(), RULE, PartialReciprocity(0.5)], ids=lambda rule: type(rule).__name__)
def test_federation_audit_and_flower_settle_alike(rule):
    """The same claims bring the same money, and the same facts the same utility, whoever asks."""
    got = brought(GIVEN, rule)
    owners = population(RATES, SIZES, [FixedShare(share) for share in SHARES])
    scenario = Scenario(owners, PowerLaw(), rule, steps=1)
    frame = Federation(scenario).run().frames().owners
    stage = Stage.of(scenario, profile=GIVEN)
    paid = (
        PaymentServer(rule, PowerLaw()).settle(1, dict(enumerate(GIVEN)))
        if not rule.asks_cost
        else dict(enumerate(got.payment))
    )
    for name in ("accuracy", "gain", "cost", "payment", "utility"):
        np.testing.assert_array_equal(frame[name], getattr(got, name), err_msg=name)
        np.testing.assert_array_equal(getattr(stage.settled, name), getattr(got, name), err_msg=name)
    np.testing.assert_array_equal(list(paid.values()), got.payment)


@dataclass(frozen=True)
class Leaky(NoPayments):
    """Promises a balanced budget, and gives money away."""

    def settle(self, view: ServerView) -> Outcome:
        return replace(super().settle(view), payments=np.full(view.reports.contribution.shape, 0.5))


def test_nobody_breaks_the_promise_of_a_balanced_budget_unnoticed():
    owners = population(RATES, SIZES, FixedShare(0.5))
    for asked in (
        lambda: brought(GIVEN, Leaky()),
        lambda: brought(np.stack([GIVEN, GIVEN]), Leaky()),
        lambda: Federation(Scenario(owners, PowerLaw(), Leaky(), steps=1)).run(),
        lambda: PaymentServer(Leaky(), PowerLaw()).settle(1, dict(enumerate(GIVEN))),
    ):
        with pytest.raises(InputError, match="Leaky promises a balanced budget but its payments sum to"):
            asked()
    found = Stage.of(Game(PowerLaw(), RATES, SIZES, Leaky()), profile=GIVEN).settled  # an audit is there to find it
    assert found.payment.tolist() == [0.5] * 3


def test_what_is_handed_and_paid_goes_before_what_is_promised_and_due():
    outcome = settle(RULE, ServerView(1, Reports(GIVEN, SIZES), PowerLaw()))
    got = receive(outcome, np.ones(3), ReceivedAccuracy(), private(GIVEN), handed=np.full(3, 0.25), payment=np.zeros(3))
    np.testing.assert_array_equal(got.gain, [0.25] * 3)
    np.testing.assert_allclose(got.utility, 0.25 - RATES * GIVEN)


def test_models_that_are_taken_are_imported_though_they_get_no_weight():
    weights = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    chosen = np.array([[True, True, True], [False, True, False], [False, False, True]])
    outcome = replace(Outcome.empty(), adjacency=weights)
    assert imported(Outcome.empty()) is None
    assert np.argwhere(imported(outcome)).tolist() == [[0, 1]]
    exchanged = replace(outcome, exchange=Exchange(LocalTask(), weights, imported=chosen))
    assert np.argwhere(imported(exchanged)).tolist() == [[0, 1], [0, 2]]


def test_nobody_gets_nothing():
    empty = private(np.zeros(3))._replace(**{name: np.zeros(0) for name in ("contribution", "capacity", "eagerness")})
    assert all(len(part) == 0 for part in receive(Outcome.empty(), np.zeros(0), ReceivedAccuracy(), empty))
