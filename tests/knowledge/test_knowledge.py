"""What the server knows decides what rules can do; without what they need they are refused, or declared empty."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, population
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.knowledge import AnnouncedCurve, Context, Knowledge, Nothing, Public, SumsOnly
from fedabm.mechanisms import (
    Clarke,
    ContributionSubsidy,
    Deposit,
    FedAvgExchange,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    PaymentRule,
    ProportionalShapley,
    ShapleyShare,
    Verification,
)
from fedabm.results.columns import COLUMNS
from fedabm.simulation.stack import StackedRuns
from fedabm.simulation.stopping import Never
from fedabm.strategies import Attacker, FixedShare
from fedabm.views.known import KINDS, NEEDS, Known, enough

OWNERS = population([0.01, 0.02, 0.03], [10.0, 20.0, 30.0], FixedShare(0.5))
WORTH = PowerLaw(exponent=0.5)


def scenario(**changes: object) -> Scenario:
    return replace(Scenario(OWNERS, WORTH, ShapleyShare(), steps=3), **changes)


def columns(frames: object) -> str:
    """All that frames hold of owners and steps."""
    return "\n".join(getattr(frames, name).to_csv() for name in ("owners", "steps"))


def test_kinds_and_needs_are_one_order():
    assert set(NEEDS.values()) <= set(KINDS)
    order = list(KINDS)
    for kind in KINDS:
        assert [enough(kind, need) for need in NEEDS] == [
            order.index(kind) >= order.index(weakest) for weakest in NEEDS.values()
        ]


def test_by_default_the_server_knows_what_the_accuracy_announces():
    assert columns(Federation(scenario()).run().frames()) == columns(
        Federation(scenario(knowledge=Public())).run().frames()
    )
    assert Federation(scenario()).run().frames().runs["knowledge"].tolist() == ["curve"]


def test_an_announced_curve_pays_by_itself_whatever_is_true():
    told = PowerLaw(exponent=1.0)
    paid = Federation(scenario(knowledge=AnnouncedCurve(told))).run().population.payment
    alone = Federation(scenario(accuracy=told)).run().population.payment
    true = Federation(scenario()).run().population.payment
    np.testing.assert_allclose(paid, alone)
    assert not np.allclose(paid, true)


def test_an_announced_curve_is_for_as_many_owners_as_there_are():
    two = GroupWeighted([[1.0]], [0, 0])
    with pytest.raises(InputError, match="3 owners but an announced curve for 2"):
        scenario(knowledge=AnnouncedCurve(two))


def test_nothing_makes_a_rule_equal_to_no_payments_and_says_so():
    with pytest.warns(UserWarning, match="ShapleyShare needs .* it changes nothing here"):
        empty = Federation(scenario(knowledge=Nothing())).run().frames()
    free = Federation(scenario(mechanism=NoPayments(), knowledge=Nothing())).run().frames()
    assert columns(empty) == columns(free)
    assert empty.runs["knowledge"].tolist() == ["none"]
    assert empty.runs["without_effect"].str.startswith("ShapleyShare needs").all()
    assert free.runs["without_effect"].tolist() == [""]


def test_under_nothing_owners_are_not_told_what_data_do():
    """So responding owners see flat offers, and give nothing."""
    owners = population([0.01, 0.02], 10.0, starts=5.0)
    with pytest.warns(UserWarning, match="not told what their data do"):
        model = Federation(Scenario(owners, WORTH, steps=3, knowledge=Nothing())).run()
    assert model.population.contribution.tolist() == [0.0, 0.0]


def test_secure_aggregation_refuses_rules_that_read_single_updates():
    for rule in (Deposit(), FedAvgExchange(), Deposit(ContributionSubsidy(0.1))):
        with pytest.raises(InputError, match="reads single updates"):
            scenario(mechanism=rule, knowledge=SumsOnly(AnnouncedCurve(WORTH)))


def test_sums_alone_are_too_little_for_shares_and_enough_beside_a_curve():
    with pytest.raises(InputError, match=r"ShapleyShare needs .* sum of all updates only"):
        scenario(knowledge=SumsOnly())
    assert scenario(knowledge=SumsOnly(AnnouncedCurve(WORTH))).knows.kind(WORTH) == "curve"
    frames = Federation(scenario(mechanism=NoPayments(), knowledge=SumsOnly())).run().frames()
    assert frames.runs["knowledge"].tolist() == ["sums"]


class Unsaid(ContributionSubsidy):
    """A rule that needs what nobody has heard of."""

    needs = "miracles"  # type: ignore[assignment]


def test_a_need_that_nobody_has_heard_of_is_refused():
    with pytest.raises(InputError, match="needs 'miracles'"):
        scenario(mechanism=Unsaid(0.1))


@pytest.mark.parametrize(
    ("rule", "needs"),
    [
        (NoPayments(), "nothing"),
        (ContributionSubsidy(0.1), "nothing"),
        (Deposit(), "nothing"),
        (Deposit(ShapleyShare()), "coalitions"),
        (Verification(), "coalitions"),
        (Verification(Clarke()), "curve"),
        (LeaveOneOut(), "coalitions"),
        (PartialReciprocity(0.5), "coalitions"),
        (PartialReciprocity(0.0), "nothing"),
        (ProportionalShapley(0.0), "nothing"),
        (Clarke(), "curve"),
        (PaymentRule(lambda accuracy, reports: 0.1 * reports.contribution), "nothing"),
        (PaymentRule(lambda accuracy, reports: accuracy.values(reports.contribution[None])[0]), "coalitions"),
        (PaymentRule(lambda accuracy, reports: 0.1 * reports.contribution, needs="scores"), "scores"),
    ],
)
def test_rules_say_what_they_need_and_rules_around_others_the_more_of_both(rule: Mechanism, needs: str):
    assert rule.needs == needs


def test_attacks_where_nobody_sends_updates_are_said_and_kept_alone_and_stacked():
    attacked = replace(
        scenario(mechanism=NoPayments()), owners=population([0.01, 0.02], 10.0, Attacker(FixedShare(0.5), "sign_flip"))
    )
    with pytest.warns(UserWarning, match="attacks on updates change nothing: PowerLaw is no training"):
        alone = Federation(attacked).run().frames()
    rows = StackedRuns([attacked, attacked], [0, 1])
    with pytest.warns(UserWarning, match="attacks on updates change nothing"):
        rows.run()
    assert alone.runs["without_effect"].tolist() == ["attacks on updates change nothing: PowerLaw is no training"]
    assert {row["without_effect"] for row in rows.rows} == set(alone.runs["without_effect"])
    assert {row["knowledge"] for row in rows.rows} == {"curve"}
    assert "without_effect" in COLUMNS["runs"]


class Learned(Knowledge):
    """Knowledge of one's own, which finds out something every second step."""

    def kind(self, accuracy: object) -> str:
        return "curve"

    def before(self, context: Context) -> Known:
        if context.last is not None and context.step - context.last.since < 2:
            return context.last
        return Known("curve", PowerLaw(exponent=0.1 * context.step), error=0.25, trainings=3, since=context.step)


def test_knowledge_has_a_state_and_its_cost_and_error_are_kept():
    model = Federation(scenario(knowledge=Learned(), stopping=Never())).run()
    runs = model.frames().runs
    assert runs["knowledge_cost"].tolist() == [6]
    assert runs["knowledge_error"].tolist() == [0.25]
    assert model.known is not None
    assert model.known.since == 3
