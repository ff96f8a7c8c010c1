"""Every mechanism on every accuracy, with owners that respond, are fixed, lie and attack: none is empty in silence."""

import tomllib
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fedabm import InputError
from fedabm.learning import ComFedSV, FedSV, GTGShapley, UpdateNorms
from fedabm.learning.knowledge import FromUpdates, Measured
from fedabm.mechanisms import FedAMP, Mechanism, NoPayments, Screening
from fedabm.strategies import AdaptiveAttacker, Attacker, FixedShare, LeastData
from fedabm.strategies.attackers import ATTACKS, SEEING
from tests.knowledge.worlds import ACCURACIES, engine, outcome, play
from tests.mechanisms.test_mechanisms import EXAMPLES

#: one of each; FedAMP pulls hard enough to be seen within a few steps, Screening's menu is made for costs like these
RULES: dict[str, Mechanism] = {**EXAMPLES, "FedAMP": FedAMP(strength=1.0), "Screening": Screening(0.002, 0.006, 0.4)}
EMPTY: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "empty.toml").read_text())
#: rules that were NoPayments on models in training, without a word
ONCE_SILENT = (
    "BanzhafShare",
    "LeaveOneOut",
    "PartialReciprocity",
    "ProportionalShapley",
    "Screening",
    "ShapleyShare",
    "ValueShaping",
    "Verification",
)
MEASURED = Measured(rounds=3, points=4, checks=1)
#: worlds in which nothing is trained
CLOSED = ("PowerLaw", "PacBound", "RandomCoverage", "JointQuadratic", "MeanEstimation", "Valued")


@cache
def without_rule(accuracy: str, knowledge: object = None) -> np.ndarray:
    """What NoPayments does there."""
    return outcome(play(accuracy, NoPayments(), knowledge))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.array_equal(one, other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_what_is_empty_is_in_the_table_and_said_and_nothing_else_is(accuracy):
    found = {}
    for name, rule in RULES.items():
        try:
            model = play(accuracy, rule)
        except InputError:
            continue  # refused, which is said
        if name != "NoPayments" and same(outcome(model), without_rule(accuracy)):
            found[name] = model.frames().runs["without_effect"][0]
    listed = {rule: reasons[accuracy] for rule, reasons in EMPTY.items() if accuracy in reasons}
    assert set(found) == set(listed)
    for rule, reason in listed.items():
        assert reason.startswith("by definition") or found[rule] == reason


def test_the_table_has_reasons_for_known_rules_only():
    assert set(EMPTY) <= set(RULES)
    assert all(accuracy in ACCURACIES for reasons in EMPTY.values() for accuracy in reasons)
    assert all(len(reason) > 20 for reasons in EMPTY.values() for reason in reasons.values())


@pytest.mark.parametrize(("rule", "accuracy"), [("ShapleyShare", "Learning"), ("MultiplicativeWeights", "Learning")])
def test_what_is_empty_is_said_on_the_screen(rule, accuracy):
    with pytest.warns(UserWarning, match=rule):
        play(accuracy, RULES[rule])


@pytest.mark.parametrize("accuracy", ["Learning", "Phased", "Personal"])
@pytest.mark.parametrize("rule", ONCE_SILENT)
def test_under_a_measured_curve_rules_act_on_models_in_training(rule, accuracy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = play(accuracy, RULES[rule], MEASURED)
    assert not same(outcome(model), without_rule(accuracy, MEASURED))
    assert model.frames().runs["without_effect"].tolist() == [""]


@pytest.mark.parametrize("accuracy", ["Learning", "Phased"])
@pytest.mark.parametrize("rule", ["BanzhafShare", "LeaveOneOut", "ShapleyShare"])
def test_shares_are_also_paid_by_what_the_updates_of_a_round_show(rule, accuracy):
    model = play(accuracy, RULES[rule], FromUpdates())
    assert not same(outcome(model), without_rule(accuracy, FromUpdates()))
    runs = model.frames().runs
    assert runs["knowledge"].tolist() == ["coalitions"]
    assert runs["without_effect"].tolist() == [""]
    assert int(runs["knowledge_cost"][0]) > 0


def test_false_claims_do_not_show_in_updates_and_who_would_fine_them_is_refused():
    with pytest.raises(InputError, match=r"Verification fines false claims, but of Learning .* models that were sent"):
        play("Learning", RULES["Verification"], FromUpdates())


@pytest.mark.parametrize("rule", ["Screening", "ValueShaping"])
def test_rules_that_need_a_curve_are_refused_where_coalitions_are_known(rule):
    with pytest.raises(InputError, match=f"{rule} needs the worth at every profile.*Measured"):
        play("Learning", RULES[rule], FromUpdates())


@pytest.mark.parametrize("accuracy", ["PowerLaw", "Personal", "Trained", "Coalition", "Rounds"])
def test_where_no_updates_of_one_model_are_shown_coalitions_of_them_are_refused(accuracy):
    with pytest.raises(InputError, match="shows no updates to the server"):
        play(accuracy, RULES["ShapleyShare"], FromUpdates())


@pytest.mark.parametrize("accuracy", CLOSED)
def test_where_there_are_no_data_measuring_is_refused(accuracy):
    with pytest.raises(InputError, match="no data to measure a curve on"):
        play(accuracy, RULES["ShapleyShare"], MEASURED)


#: every kind of knowledge that scores single updates
SCORES = {
    "FedSV": FedSV(),
    "GTGShapley": GTGShapley(),
    "ComFedSV": ComFedSV(),
    "UpdateNorms": UpdateNorms(),
    "cosine": FromUpdates("cosine"),
    "root": FromUpdates("root", engine()),
}
NEEDY = {name: rule for name, rule in RULES.items() if rule.needs != "nothing"}
SHOWING = ("Learning", "Phased")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accuracy", SHOWING)
@pytest.mark.parametrize("knowledge", SCORES)
def test_where_scores_are_known_a_rule_is_refused_or_pays_by_them(knowledge, accuracy):
    paid = []
    for name, rule in NEEDY.items():
        try:
            model = play(accuracy, rule, SCORES[knowledge])
        except InputError:
            assert rule.needs != "scores"
            continue  # refused, which is said
        paid.append(name)
        assert not same(outcome(model), without_rule(accuracy, SCORES[knowledge]))
        assert model.frames().runs["without_effect"].tolist() == [""]
    assert "ScorePayments" in paid


@pytest.mark.parametrize("accuracy", sorted(set(ACCURACIES) - {"Learning", "Learning, announced", "Phased"}))
@pytest.mark.parametrize("knowledge", SCORES)
def test_where_no_updates_are_shown_scores_of_them_are_refused(knowledge, accuracy):
    with pytest.raises(InputError, match="shows no updates to the server"):
        play(accuracy, RULES["ScorePayments"], SCORES[knowledge])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("attack", [*ATTACKS, *SEEING])
def test_every_attack_changes_what_is_learned_and_paid(attack):
    """Beside an owner that does the same and sends what it trained; a single Sybil is such an owner."""
    honest, bad = (
        play("Learning", RULES["ScorePayments"], FedSV(), last=last)
        for last in (FixedShare(1.0), Attacker(FixedShare(1.0), attack))
    )
    assert same(outcome(honest), outcome(bad)) == (attack == "sybils")
    assert np.isfinite(outcome(bad)).all()


#: a `Coalition` is of one profile only; `Rounds` trains everybody twice, and takes as long as all the others
OTHERS = sorted(set(ACCURACIES) - {"Coalition", "Rounds"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accuracy", OTHERS)
def test_attackers_that_adapt_change_what_is_trained_and_nothing_else(accuracy):
    rule = RULES["FedAvgExchange" if accuracy == "Personal" else "NoPayments"]
    honest, bad = (
        outcome(play(accuracy, rule, last=last, steps=2))
        for last in (FixedShare(1.0), AdaptiveAttacker(FixedShare(1.0)))
    )
    assert same(honest, bad) == (accuracy in CLOSED)
    assert np.isfinite(bad).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("accuracy", OTHERS)
def test_owners_with_a_goal_reach_it_or_give_all_they_have(accuracy):
    """Where what is offered is what is reached; where models are trained the others move at the same time."""
    model = play(accuracy, RULES["NoPayments"], last=LeastData(0.3), steps=2)
    last = model.frames().owners.query("owner == 3").iloc[-1]
    assert 0.0 <= last["contribution"] <= model.population.capacity[3]
    if accuracy in CLOSED:
        assert last["contribution"] == model.population.capacity[3] or last["accuracy"] >= 0.3 - 1e-6
