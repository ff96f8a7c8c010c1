"""Who sends an update that cannot be used is settled as if it had claimed nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.bridges.flower import PaymentServer
from fedabm.games.accuracy import PowerLaw
from fedabm.kernel import counted
from fedabm.knowledge import SumsOnly
from fedabm.learning import Learning
from fedabm.mechanisms import ContributionSubsidy, Deposit, LeaveOneOut, NoPayments, ShapleyShare
from fedabm.strategies import Attacker, FixedShare
from fedabm.views import Evidence, Reports, ServerView
from tests.knowledge.worlds import CAPACITY, RECIPE, engine

GIVEN = np.array([3.0, 4.0, 5.0, 6.0])
SENDER = 3
RULES = [ShapleyShare(), LeaveOneOut(), ContributionSubsidy(0.05)]


def scenario(rule, **options) -> Scenario:
    """Three owners that train, and one that claims all it has and sends NaN; what data are worth is announced."""
    honest = [FixedShare(share) for share in GIVEN / CAPACITY]
    owners = population([0.001] * 4, CAPACITY, [*honest[:3], Attacker(honest[3], "nan")], starts=GIVEN)
    known = Learning(engine(), RECIPE, announced=PowerLaw(exponent=0.5))
    return Scenario(owners, known, rule, steps=2, **options)


def payments(rule, claims) -> np.ndarray:
    """What the rule pays for these claims."""
    reports = Reports(np.array(claims), np.full(4, CAPACITY))
    return rule.settle(ServerView(1, reports, PowerLaw(exponent=0.5))).payments


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_sender_of_nan_is_paid_as_for_a_claim_of_nothing(rule):
    run = Federation(scenario(rule)).run()
    assert run.population.unusable.tolist() == [False, False, False, True]
    np.testing.assert_allclose(run.population.payment, payments(rule, [3.0, 4.0, 5.0, 0.0]), atol=1e-12)
    assert run.population.payment[SENDER] < payments(rule, GIVEN)[SENDER]
    # What was said stays in the frames.
    assert run.frames().owners["reported_contribution"].tolist() == GIVEN.tolist() * 2


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.budget_balanced], ids=lambda rule: type(rule).__name__)
def test_budgets_stay_balanced(rule):
    run = Federation(scenario(rule)).run()
    assert abs(run.population.payment.sum()) < 1e-12
    assert run.server_balance == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_an_option_keeps_the_letter_of_the_papers(rule):
    run = Federation(scenario(rule, pay_rejected=True)).run()
    np.testing.assert_allclose(run.population.payment, payments(rule, GIVEN), atol=1e-12)
    with pytest.raises(InputError, match="true or false"):
        scenario(rule, pay_rejected="yes")


def test_sums_hide_who_has_sent_what():
    """Under secure aggregation the server sees no single update, so a claim stands: evidence only can stop it."""
    run = Federation(scenario(ContributionSubsidy(0.05), knowledge=SumsOnly())).run()
    np.testing.assert_allclose(run.population.payment, payments(ContributionSubsidy(0.05), GIVEN), atol=1e-12)


def test_a_deposit_is_lost_beside():
    rules = (RULES[2], Deposit(RULES[2], 0.1))
    plain, secured = (Federation(scenario(rule)).run().population.payment for rule in rules)
    np.testing.assert_allclose(plain - secured, [0.0, 0.0, 0.0, 0.1], atol=1e-12)


def test_offers_of_the_next_round_stand_on_what_was_claimed():
    """Who was rejected may send a sound update next: owners are offered what the rule offers beside its claim."""
    rule = ContributionSubsidy(0.05)
    model = Federation(scenario(rule))
    model.step()
    reports, oracle = model.announce(np.arange(4))
    np.testing.assert_array_equal(reports.contribution, GIVEN)
    offers, wanted = model.server.announce(reports, oracle), rule.offers(oracle, reports)
    np.testing.assert_array_equal(offers.payment.value(GIVEN), wanted.payment.value(GIVEN))


def test_nothing_changes_where_nothing_is_rejected():
    reports = Reports(GIVEN, np.full(4, CAPACITY))
    view = ServerView(1, reports, PowerLaw(), evidence=Evidence(np.zeros(4, dtype=bool), np.ones(4)))
    assert counted(view) is view
    some = counted(replace(view, evidence=Evidence(GIVEN > 5, np.ones(4))))
    assert some.reports.contribution.tolist() == [3.0, 4.0, 5.0, 0.0]
    assert view.reports.contribution.tolist() == GIVEN.tolist()


def test_flower_settles_dropped_nodes_in_the_same_way():
    payment_server = PaymentServer(ShapleyShare(), PowerLaw(exponent=0.5))
    paid = payment_server.settle(1, dict(enumerate(GIVEN.tolist())), rejected={SENDER})
    np.testing.assert_allclose(list(paid.values()), payments(ShapleyShare(), [3.0, 4.0, 5.0, 0.0]), atol=1e-12)
    assert payment_server.claims[SENDER] == GIVEN[SENDER]
    assert PaymentServer(NoPayments(), PowerLaw()).settle(1, {0: 2.0}, rejected=[0]) == {0: 0.0}
