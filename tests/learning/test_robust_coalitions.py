"""Models of coalitions under rules that take no mean, against the rule applied by hand to the members' updates."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fedabm import Federation, Scenario, population
from fedabm.games.messages import OwnerMessages
from fedabm.learning import (
    Coalition,
    CoordinateMedian,
    Engine,
    FedAvg,
    FedProx,
    Krum,
    Measure,
    NormBound,
    Recipe,
    Rounds,
    Rule,
    TrimmedMean,
)
from fedabm.learning.rules.base import Received
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import ShapleyShare
from fedabm.simulation import checkpoint
from fedabm.strategies import Attacker, FixedShare
from fedabm.testing.contract import expect_equal_frames
from tests.learning.plain import random_data

LOSS = Measure("loss", 2.0)
PROFILE = np.array([8.0, 5.0, 6.0, 0.0, 7.0])
EVERY = np.array(list(itertools.product([False, True], repeat=5)))
RULES = [CoordinateMedian(), TrimmedMean(0.3), Krum(1), NormBound(0.8), FedProx(0.5, CoordinateMedian())]
each_rule = pytest.mark.parametrize("rule", RULES, ids=repr)


@cache
def engine() -> Engine:
    return Engine("logistic", random_data((6,), sizes=(8, 8, 8, 8, 8), tests=(9, 4, 5, 6, 7)), device="cpu")


def recipe(rule: Rule) -> Recipe:
    return Recipe(steps=3, batch=4, rule=rule)


def by_hand(rule: Rule, start: Tensor, rounds: list[Tensor]) -> Tensor:
    """What the rule makes of rows (k, P) that are all there is, round after round."""
    for rows in rounds:
        if len(rows):
            sound = torch.ones(len(rows), dtype=torch.bool)
            start = start + rule.step(Received(rows, sound, np.ones(len(rows)), np.ones(len(rows))), ()).change
    return start


def worth(model: Tensor) -> np.ndarray:
    return 2.0 - engine().evaluate(model).loss.numpy().reshape(-1)


def trajectory(rule: Rule, rounds: int) -> list[Tensor]:
    """Everybody's updates as the whole federation learns by the rule."""
    model, found = engine().initial(0), []
    for number in range(rounds):
        done = one_round(engine(), model, PROFILE, recipe(rule), 0, number)
        model, found = done.model, [*found, done.updates]
    return found


@each_rule
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_coalition_is_what_the_rule_makes_of_its_members_updates(rule: Rule, rounds: int) -> None:
    updates, start = trajectory(rule, rounds), engine().initial(0)
    found = Coalition(engine(), PROFILE, rounds, recipe(rule), measure=LOSS).values(np.where(EVERY, PROFILE, 0.0))
    for members, values in zip(EVERY & (PROFILE > 0), found, strict=True):
        np.testing.assert_allclose(values, worth(by_hand(rule, start, [rows[members] for rows in updates])), atol=1e-5)
    assert np.ptp(found[:, 0]) > 0.01


def test_a_coalition_under_the_median_is_the_median_of_its_members_by_numpy() -> None:
    (updates,), start = trajectory(CoordinateMedian(), 1), engine().initial(0)
    oracle = Coalition(engine(), PROFILE, recipe=recipe(CoordinateMedian()), measure=LOSS)
    members = np.array([True, True, False, False, True])
    median = torch.from_numpy(np.median(updates[members].numpy(), axis=0)).float()
    np.testing.assert_allclose(oracle.values((PROFILE * members)[None])[0], worth(start + median), atol=1e-5)


def test_values_of_coalitions_outlive_the_process_and_depend_on_the_rule(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def oracle(rule: Rule) -> Coalition:
        return Coalition(engine(), PROFILE, recipe=recipe(rule), folder=tmp_path)

    known = oracle(CoordinateMedian()).values(PROFILE[None])
    kept = len(list(tmp_path.iterdir()))
    other = oracle(NormBound(0.8)).values(PROFILE[None])
    assert len(list(tmp_path.iterdir())) > kept
    monkeypatch.setattr(Engine, "score", None)
    np.testing.assert_array_equal(oracle(CoordinateMedian()).values(PROFILE[None]), known)
    np.testing.assert_array_equal(oracle(NormBound(0.8)).values(PROFILE[None]), other)


def test_an_owner_whose_update_was_ever_broken_is_in_no_coalition_and_one_that_was_refused_is() -> None:
    broken = random_data((6,), sizes=(8, 8, 8, 8, 8), tests=(9, 4, 5, 6, 7))
    broken.x_train[:8] = np.nan
    oracle = Coalition(Engine("logistic", broken, device="cpu"), PROFILE, 2, recipe(CoordinateMedian()))
    assert oracle.dropped.tolist() == [True, False, False, False, False]
    alone = np.where([True, False, False, False, False], PROFILE, 0.0)
    np.testing.assert_array_equal(oracle.values(alone[None]), oracle.values(0.0 * alone[None]))
    refusing = Coalition(engine(), PROFILE, recipe=recipe(NormBound(0.9, refuses=True)), measure=LOSS)
    assert not refusing.dropped.any()
    (updates,) = trajectory(NormBound(0.9, refuses=True), 1)
    longest = int(updates.norm(dim=1).argmax())
    alone = np.where(np.arange(5) == longest, PROFILE, 0.0)
    # Alone it is of the median length, which is more than 0.9 times that: nobody is trusted, so that all count.
    expected = worth(engine().initial(0) + updates[longest])
    np.testing.assert_allclose(refusing.values(alone[None])[0], expected, atol=1e-5)


# Rounds


#: what owners give in three rounds; the second one stays away once
GIVEN = np.array([[8.0, 5.0, 6.0, 4.0, 7.0], [8.0, 0.0, 6.0, 4.0, 7.0], [6.0, 5.0, 6.0, 4.0, 7.0]])


def played(rule: Rule, whole: bool) -> tuple[Rounds, list[Tensor], Tensor]:
    """The third round of three, everybody's updates in all, and the model it began with."""
    oracle = Rounds(engine(), recipe(rule), more=1, measure=LOSS, seed=0, whole=whole)
    state, model, updates = oracle.begin(0), engine().initial(0), []
    for number, given in enumerate(GIVEN):
        start = model
        state, _ = oracle.round(state, OwnerMessages.honest(given))
        done = one_round(engine(), model, given, recipe(rule), 0, number)
        model, updates = done.model, [*updates, done.updates]
    return state.accuracy, updates, start


@each_rule
@pytest.mark.parametrize("whole", [False, True])
def test_coalitions_of_a_round_are_what_the_rule_makes_of_their_members(rule: Rule, whole: bool) -> None:
    models, updates, start = played(rule, whole)
    found = models.values(np.where(EVERY, GIVEN[-1], 0.0))
    rounds = updates if whole else updates[-1:]
    begun = engine().initial(0) if whole else start
    there = GIVEN > 0 if whole else GIVEN[-1:] > 0
    for members, values in zip(EVERY, found, strict=True):
        rows = [sent[members & who] for sent, who in zip(rounds, there, strict=True)]
        np.testing.assert_allclose(values, worth(by_hand(rule, begun, rows)), atol=1e-5)


def test_another_contribution_of_one_owner_is_on_the_way_to_its_other_training() -> None:
    rule = CoordinateMedian()
    models, updates, start = played(rule, whole=False)
    more = GIVEN[-1] + np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    other = updates[-1].clone()
    other[0] = recipe(rule).train(engine(), start, more, 0, 2)[0]
    one, two = (worth(by_hand(rule, start, [rows])) for rows in (updates[-1], other))
    half = 0.5 * (GIVEN[-1] + more)
    np.testing.assert_allclose(models.values(np.stack([more, half])), [two, 0.5 * (one + two)], atol=1e-5)
    assert np.abs(one - two).max() > 1e-4


def scenario(whole: bool, rule: Rule = CoordinateMedian()) -> Scenario:  # noqa: B008
    oracle = Rounds(engine(), recipe(rule), more=1, measure=LOSS, start=4.0, whole=whole)
    kinds = [*[FixedShare(0.5)] * 4, Attacker(FixedShare(0.5), "sign_flip", scale=20.0)]
    return Scenario(population([0.001] * 5, 8.0, kinds), oracle, ShapleyShare(), steps=3)


@pytest.mark.parametrize("whole", [False, True])
def test_a_run_under_the_median_withstands_and_goes_on_from_where_it_was_saved(whole: bool, tmp_path: Path) -> None:
    model = Federation(scenario(whole), seed=3).run()
    part = Federation(scenario(whole), seed=3)
    for _ in range(2):
        part.step()
    again = checkpoint.restore(checkpoint.save(part, tmp_path / "run"), scenario(whole)).run()
    expect_equal_frames(again.frames(), model.frames(), "it goes on otherwise")
    ruined = Federation(scenario(whole, FedAvg()), seed=3).run()
    assert model.population.accuracy.mean() > ruined.population.accuracy.mean() + 0.1
