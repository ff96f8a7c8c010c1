"""Federations that learn by any rule: every oracle honours it, and its memory goes on with the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario, population
from fedabm.cli import main
from fedabm.common.errors import InputError
from fedabm.games.messages import OwnerMessages
from fedabm.learning import CoordinateMedian, FedAdam, FedAvg, FedProx, GeometricMedian, Krum, Rule, Scaffold
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Coalition, Learning, Measure, MeasuredCurve, Rounds, Trained
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import federate, one_round
from fedabm.simulation import checkpoint
from fedabm.strategies import Attacker, FixedShare, Honest, Liar
from tests.conftest import assert_equal_frames, run
from tests.learning.test_rules import RULES, every_rule, tensors
from tests.learning.test_trained_runs import engine

FULL = np.full(4, 80.0)
MEANS = [FedAvg(), FedProx(0.1), Scaffold()]
#: those whose change follows from updates, so that coalitions' models can be made of them
MIXED = [*MEANS, *(rule for rule in RULES.values() if rule.of_updates and rule not in MEANS)]
LOSS = Measure("loss", 2.0)


def scenario(rule: Rule, strategies: Any = Honest(), steps: int = 4) -> Scenario:  # noqa: B008
    owners = population([0.001, 0.002, 0.003, 0.004], 80.0, strategies)
    return Scenario(owners, Learning(engine(), Recipe(rule=rule)), steps=steps)


# Every oracle honours the rule


@every_rule
def test_a_run_learns_as_the_rule_says_round_by_round(rule: Rule) -> None:
    made = run(scenario(rule), seed=3)
    model, memory = engine().initial(3), None
    for number in range(4):
        done = one_round(engine(), model, FULL, Recipe(rule=rule), 3, number, memory=memory)
        model, memory = done.model, done.memory
    assert torch.equal(made.training.weights(made.state), model)
    assert_equal_frames(made.frames(), run(made.scenario, seed=3).frames())
    assert made.population.accuracy.mean() > 0.5


@every_rule
def test_models_trained_afresh_follow_the_rule(rule: Rule) -> None:
    oracle = Trained(engine(), 3, Recipe(rule=rule), seed=5, measure=LOSS)
    model, _ = federate(engine(), FULL, oracle.recipe, 3, 5)
    np.testing.assert_array_equal(oracle.values(FULL[None]), 2.0 - engine().evaluate(model).numpy()[0])
    again = Learning(engine(), oracle.recipe, seed=5)
    state = again.begin(0)
    for _ in range(3):
        state, _ = again.round(state, OwnerMessages.honest(FULL))
    assert torch.equal(again.weights(state), model)


@every_rule
def test_a_restored_run_goes_on_with_what_the_rule_remembers(rule: Rule, tmp_path: Path) -> None:
    people = [Liar(FixedShare(0.7), contribution_factor=2.0), Attacker(Honest(), "noise"), Honest(), Honest()]
    model = Federation(scenario(rule, people, steps=5), seed=1)
    for _ in range(3):
        model.step()
    path = checkpoint.save(model, tmp_path / "run")
    rest = checkpoint.restore(path, scenario(rule, people, steps=5))
    remembered = tensors(model.state.memory)
    assert all(torch.equal(a, b) for a, b in zip(remembered, tensors(rest.state.memory), strict=True))
    assert_equal_frames(rest.run().frames(), model.run().frames())


@pytest.mark.parametrize("rule", MIXED, ids=repr)
def test_the_grand_coalition_learns_as_the_rule_says(rule: Rule) -> None:
    recipe = Recipe(rule=rule)
    grand = Coalition(engine(), FULL, 3, recipe, measure=LOSS).values(FULL[None])
    np.testing.assert_allclose(grand, Trained(engine(), 3, recipe, measure=LOSS).values(FULL[None]), rtol=1e-5)


@pytest.mark.parametrize("rule", MIXED, ids=repr)
@pytest.mark.parametrize("whole", [False, True])
def test_rounds_of_coalitions_go_on_as_the_rule_says(rule: Rule, whole: bool) -> None:
    owners = population([0.001] * 4, 80.0, FixedShare(0.5))
    oracle = Rounds(engine(), Recipe(rule=rule), measure=LOSS, start=40.0, whole=whole)
    made = run(Scenario(owners, oracle, steps=3), seed=2)
    model, _ = federate(engine(), np.full(4, 40.0), Recipe(rule=rule), 3, 2)
    np.testing.assert_allclose(made.population.accuracy, 2.0 - engine().evaluate(model).numpy()[0][0], rtol=1e-5)


@pytest.mark.parametrize("rule", [one for one in RULES.values() if one.mean is None and not one.of_updates], ids=repr)
def test_coalitions_refuse_rules_that_remember(rule: Rule) -> None:
    recipe = Recipe(rule=rule)
    for make in (lambda: Coalition(engine(), FULL, recipe=recipe), lambda: Rounds(engine(), recipe)):
        with pytest.raises(
            InputError, match=r"makes models of coalitions from updates alone, got .*; use FedAvg\(\)"
        ) as told:
            make()
        assert "\n" not in str(told.value)


# Attacks


@pytest.mark.parametrize(
    "rule", [CoordinateMedian(), Krum(), GeometricMedian(), FedAdam(inner=CoordinateMedian())], ids=repr
)
def test_a_robust_rule_learns_where_averaging_is_ruined(rule: Rule) -> None:
    people = [Attacker(Honest(), "sign_flip", scale=20.0), Honest(), Honest(), Honest()]
    ruined, withstood = (run(scenario(one, people, steps=8)).population.accuracy.mean() for one in (FedAvg(), rule))
    assert ruined < 0.4
    assert withstood > 0.7


def test_a_lie_about_ones_data_gains_no_weight_under_a_robust_rule() -> None:
    boasting = [Liar(Honest(), contribution_factor=1e6), Honest(), Honest(), Honest()]
    for rule in (CoordinateMedian(), Krum(), GeometricMedian()):
        made = [run(scenario(rule, people, steps=2)) for people in (boasting, Honest())]
        assert torch.equal(*(one.training.weights(one.state) for one in made))


# Nothing is trained or judged before it is asked for


def test_making_and_changing_oracles_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("nobody asked for that")

    ours = engine()
    for name in ("train", "evaluate", "score", "initial", "part"):
        monkeypatch.setattr(Engine, name, work)
    monkeypatch.setattr(Engine, "content", property(work))
    made = [
        Trained(ours, folder=tmp_path),
        Coalition(ours, FULL, folder=tmp_path),
        Rounds(ours, start=40.0),
        Learning(ours, announced=MeasuredCurve([0, 10], [0.1, 0.5])),
    ]
    for oracle in made:
        other = replace(oracle, seed=3, recipe=Recipe(rule=Scaffold()))
        assert other.seed == 3
        assert other.owners == 4
        assert repr(other)


def test_what_was_learned_is_not_taken_along_to_other_settings() -> None:
    first = Coalition(engine(), FULL, measure=LOSS)
    before = first.values(FULL[None])
    other = replace(first, seed=7)
    assert np.any(other.values(FULL[None]) != before)
    np.testing.assert_array_equal(first.values(FULL[None]), before)
    one, two = (Learning(engine(), seed=seed) for seed in (1, 2))
    found = [training.worth(training.begin(0)).values(FULL[None]) for training in (one, two)]
    assert np.any(found[0] != found[1])


# The command line


def test_a_rule_is_chosen_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--set", "owners=3", "--set", "free_riders=1", "--set", "interval=600", "--set", "rounds=1"]
    words = ["run", "first_training", "--quiet", "--steps", "2", *small]
    assert main([*words, "--set", "rule=krum", "--out", str(tmp_path / "krum")]) == 0
    assert main([*words, "--set", "rule={kind='trimmed_mean', share=0.3}", "--out", str(tmp_path / "mean")]) == 0
    assert main([*words, "--set", "rule=crum", "--out", str(tmp_path / "no")]) != 0
    assert "did you mean 'krum'" in capsys.readouterr().err
