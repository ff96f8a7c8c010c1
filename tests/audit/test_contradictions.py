"""No card contradicts itself, on closed forms or on models that train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Game, Scenario, population
from fedabm.auditing.card import Card, Thoroughness, audit, card_of
from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.plans import MeasuredPlan, Plans
from fedabm.auditing.runs import Interval, Runs, interval, moves
from fedabm.auditing.trained_card import TrainedAudit
from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.games.accuracy import PacBound, PowerLaw
from fedabm.games.costs import Linear
from fedabm.learning import Learning
from fedabm.mechanisms import ContributionSubsidy, CostSharing, NoPayments, ShapleyShare
from fedabm.strategies import FixedShare, Honest
from tests.audit.contradictions import contradictions
from tests.audit.stages import RULES, random_stage
from tests.knowledge.worlds import CAPACITY, RECIPE, engine

QUICK = Thoroughness.quick()


def training(rule, strategy=None, **options) -> Scenario:
    """Four owners that train a small model for four rounds; a curve is announced."""
    owners = population([0.001, 0.002, 0.003, 0.004], CAPACITY, strategy or Honest())
    known = Learning(engine(), RECIPE, announced=PowerLaw(exponent=0.5))
    return Scenario(owners, known, rule, steps=4, **options)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_cards_of_closed_forms_do_not_contradict_themselves(rule):
    assert contradictions(audit(Game(PowerLaw(), [0.02, 0.03, 0.05], 12.0, rule), thoroughness=QUICK)) == []


def test_nor_do_cards_of_a_pac_bound():
    for rule in (NoPayments(), ShapleyShare(), ContributionSubsidy(0.01)):
        assert contradictions(audit(Game(PacBound(), [0.001, 0.002, 0.003], 400.0, rule), thoroughness=QUICK)) == []


def test_nor_do_cards_of_random_games():
    for number in range(12):
        try:
            stage = random_stage(np.random.default_rng([5, number]))
            card = card_of(stage, LieLimits(), QUICK)
        except InputError:
            continue
        assert contradictions(card) == []


@pytest.mark.parametrize("rule", [NoPayments(), CostSharing(), ShapleyShare()], ids=lambda rule: type(rule).__name__)
def test_nor_do_cards_of_models_that_train(rule):
    card = audit(training(rule), thoroughness=QUICK)
    assert contradictions(card) == []
    assert {claim.status for claim in card.claims} == {"found", "unknown"}
    done = card.claim("training").words
    assert "runs of 4 rounds" in done
    assert "measured with 5 others" in done
    assert "tampering" in {one.kind for one in card.tried}


def test_the_first_training_reads_without_contradiction(capsys, monkeypatch):
    cards: list[Card] = []

    def kept(*arguments):
        cards.append(audit(*arguments))
        return cards[-1]

    monkeypatch.setattr("fedabm.cli.audit.audit", kept)
    assert main(["audit", "first_training", "--quick", "--set", "rounds=2"]) == 0
    text = capsys.readouterr().out
    assert "inf" not in text.split()
    assert "closed forms" not in text
    assert "95%" in text
    assert [contradictions(card) for card in cards] == [[]]
    assert "take the noise of fewer than 10 seeds for normal" in cards[0].claim("training").words


def measured(kind: str, gain: Interval, hoped: float = 0.0) -> MeasuredPlan:
    """A move of owner 0 that was measured like this."""
    return MeasuredPlan((0,), kind, gain, Interval(0.0, 0.0, 0.0), hoped, 0.0)


@pytest.fixture(scope="module")
def trained() -> TrainedAudit:
    runs = Runs.of(training(NoPayments()), 2)
    return TrainedAudit(Plans(NoPayments(), runs, LieLimits(), chooses=0, measures=(1, 2)), [0, 1], [(0, 1)])


ABOVE, BELOW, OPEN = Interval(0.4, 0.3, 0.5), Interval(-0.4, -0.5, -0.3), Interval(-0.001, -0.5, 0.498)


@pytest.mark.parametrize(("gain", "holds"), [(ABOVE, False), (BELOW, True), (OPEN, None), (Interval(0, 0, 0), True)])
def test_a_claim_is_open_unless_its_whole_interval_is_on_one_side(trained, gain, holds):
    assert trained._about("lies: claim", measured("claim", gain)).holds is holds


def test_joining_pays_only_where_the_whole_interval_says_so(trained, monkeypatch):
    for surplus, holds in (([1.0, 1.1], True), ([-0.5, 0.6], None), ([-1.0, -1.1], False)):
        monkeypatch.setattr(Plans, "surplus", lambda plans, seed, row, told=surplus: told[seed % 2])
        assert trained._rationality().holds is holds


@pytest.mark.parametrize(
    ("claim", "size", "holds"),
    [(BELOW, ABOVE, None), (BELOW, OPEN, None), (BELOW, BELOW, True), (OPEN, ABOVE, None), (ABOVE, BELOW, False)],
)
def test_the_best_lie_is_what_the_choosing_seed_prefers_and_truth_is_best_only_if_no_lie_may_gain(
    trained, claim, size, holds
):
    tried = {"claim": measured("claim", claim, hoped=2.0), "size": measured("size", size, hoped=1.0)}
    best = trained.claims(tried)[0]
    assert (best.name, best.holds) == ("truthfulness", holds)
    assert best.words.startswith("claim: ")


def test_what_contradicts_itself_is_noticed():
    card = audit(Game(PowerLaw(), [0.1, 0.2], 10, ContributionSubsidy(0.05)), thoroughness=QUICK)
    assert contradictions(card) == []
    spoilt = {
        "price of anarchy": {"value": 0.1, "words": "the best total is 0.8073, the worst equilibrium found has 7.53"},
        "reciprocity": {"words": "for each unit of its Shapley share the worst owner gets inf"},
        "truthfulness": {"value": 0.0},
        "lies: claim": {"status": "certified", "bound": 0.0},
    }
    for name, wrong in spoilt.items():
        claims = tuple(replace(one, **wrong) if one.name == name else one for one in card.claims)
        assert contradictions(replace(card, claims=claims)), name


def test_a_run_that_is_paired_is_a_run_of_the_federation():
    scenario = training(CostSharing())
    runs = Runs.of(scenario, 10)
    model = Federation(replace(scenario, record=1), seed=3).run()
    mean = model.frames().owners.groupby("owner")["utility"].mean().to_numpy()
    np.testing.assert_allclose(runs.score(3).utility, mean, rtol=1e-12)
    assert runs.score(3) is runs.score(3)


def test_who_is_alone_has_no_others():
    runs = Runs.of(training(NoPayments()), 2)
    alone = runs.score(1, among=(2,))
    assert alone.contribution.tolist() == [0.0, 0.0, CAPACITY, 0.0]
    assert len(runs.together) == 0


def test_what_was_chosen_with_one_seed_is_measured_with_others():
    """Owners that stand at half find that contributing nothing saves their cost, at the same gain in either way."""
    runs = Runs.of(training(NoPayments(), FixedShare(0.5)), 2)
    plans = Plans(NoPayments(), runs, LieLimits(), chooses=0, measures=(1, 2, 3))
    best = plans.of_each_kind([0, 3])["contribution"]
    gains = []
    for seed in (1, 2, 3):
        move = next(
            one for one in moves(runs.owners[best.members[0]], NoPayments(), LieLimits()) if one.words in best.words
        )
        after, before = runs.score(seed, {best.members[0]: move.strategy}), runs.score(seed)
        gains.append((after.utility - before.utility)[best.members[0]])
    assert best.gain == interval(gains)


def test_a_joint_lie_is_not_praised_for_what_one_of_the_two_does_honestly():
    """Costs are so high that giving less is worth more than any lie, and the other owner's data are worth having."""
    scenario = training(NoPayments())
    dear = [
        replace(one, cost=Linear(cost)) for one, cost in zip(scenario.owners, (1e-4, 0.001, 0.002, 0.02), strict=True)
    ]
    plans = Plans(NoPayments(), Runs.of(replace(scenario, owners=dear), 2), LieLimits(), chooses=0, measures=(1, 2))
    for plan in plans._together((0, 3)):
        honest = {row: move for row, move in plan.items() if move.honest}
        brought, without = (plans._sum(0, (0, 3), one) for one in (plan, honest))
        assert plans._chosen(plan) <= brought - without + 1e-12


def test_an_interval_by_hand():
    """Mean 2, standard deviation 1, t of two degrees of freedom 4.3027."""
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.high - found.mean == pytest.approx(4.302653 / np.sqrt(3))
    assert str(interval([0.5, 0.5])) == "0.5 with every seed"
