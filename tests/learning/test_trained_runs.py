"""Federations that really train: rounds with any mechanism and strategy, and updates that were tampered with."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario, population
from fedabm.common.errors import InputError, UserCodeError
from fedabm.common.random import Streams
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import IID
from fedabm.games.messages import OwnerMessages
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Learning, Measure, MeasuredCurve, Trained
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import CostSharing, NoPayments
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import RandomSubset, Sequential
from fedabm.strategies import (
    Attacker,
    BestResponse,
    FixedShare,
    FreeRider,
    Honest,
    Liar,
    Quitter,
    Random,
    RegretMatching,
    Strategy,
    Wrapper,
)
from fedabm.testing.privacy import parts
from fedabm.views import Action, OwnerView
from tests.conftest import STRATEGIES, assert_equal_frames, run
from tests.mechanisms.test_mechanisms import PROMISING
from tests.simulation.test_privacy import Spy

CURVE = MeasuredCurve([0, 20, 60, 150, 400], [0.1, 0.5, 0.7, 0.8, 0.85])


@cache
def digits(samples: int = 80) -> FederatedData:
    """Four owners with this many training samples each."""
    data = from_partition(load_dataset("digits"), IID(4), test_share=0.2)
    rows = np.concatenate([np.arange(first, first + samples) for first in data.offsets[:-1]])
    return replace(data, x_train=data.x_train[rows], y_train=data.y_train[rows], offsets=samples * np.arange(5))


@cache
def engine(samples: int = 80) -> Engine:
    return Engine("logistic", digits(samples), device="cpu")


def scenario(strategies: Strategy | list[Strategy], accuracy=None, samples: int = 80, **changes) -> Scenario:
    owners = population([0.001, 0.002, 0.003, 0.004], float(samples), strategies, changes.pop("starts", 0.0))
    accuracy = accuracy or Learning(engine(samples), announced=CURVE)
    return replace(Scenario(owners, accuracy, steps=4), **changes)


@dataclass(frozen=True)
class Multiplier(Wrapper):
    """Does what `truth` does and multiplies its updates by any number, from step `first` to step `last`."""

    factor: float = 1.0
    first: int = 1
    last: int = 10**9

    def act(self, view: OwnerView) -> Action:
        armed = self.first <= view.step <= self.last
        return replace(self.truth.act(view), tamper=self.change if armed else None)

    def change(self, rows: torch.Tensor, received: torch.Tensor, rng: Streams) -> torch.Tensor:
        return self.factor * rows


NOISY = Attacker(Honest(), "gaussian")


def accuracies(model: Federation) -> np.ndarray:
    """Received accuracies, (steps, owners)."""
    return model.frames().owners.pivot(index="step", columns="owner", values="accuracy").to_numpy()


def flags(model: Federation) -> np.ndarray:
    return model.frames().owners.pivot(index="step", columns="owner", values="rejected").to_numpy()


# Rounds without tampering


def test_honest_owners_run_plain_federated_averaging():
    ours = accuracies(run(scenario(Honest()), seed=3))
    model, full = engine().initial(3), digits().capacities.astype(float)
    for number in range(4):
        model = one_round(engine(), model, full, Recipe(), 3, number).model
        np.testing.assert_allclose(ours[number], engine().evaluate(model).numpy()[1][0], atol=1e-12)
    assert ours[-1].mean() > 0.75


def test_training_follows_the_seed_of_the_run_unless_it_has_its_own():
    free, fixed = scenario(Honest()), scenario(Honest(), Learning(engine(), seed=5))
    assert_equal_frames(run(free, 1).frames(), run(free, 1).frames())
    assert np.any(accuracies(run(free, 1)) != accuracies(run(free, 2)))
    np.testing.assert_array_equal(accuracies(run(fixed, 1)), accuracies(run(fixed, 2)))


def test_early_training_uses_what_was_announced_before_owners_decided():
    early = run(scenario(Honest(), Learning(engine(), announced=CURVE, early=True)), seed=3)
    late = run(scenario(Honest()), seed=3)
    np.testing.assert_array_equal(accuracies(early)[0], engine().evaluate(engine().initial(3)).numpy()[1][0])
    np.testing.assert_array_equal(accuracies(early)[1:], accuracies(late)[:-1])


def test_best_responses_go_by_the_announced_curve_and_receive_the_real_model():
    made = run(scenario(BestResponse(), activation=Sequential(), steps=6), seed=1)
    # The curve climbs by 0.0011 per sample up to 150 of them: more than 0.001, the cost of the first owner only.
    assert made.population.contribution == pytest.approx([80.0, 0.0, 0.0, 0.0])
    assert made.gap < 1e-9
    assert made.frames().runs["status"][0] == "stopped"
    assert accuracies(made)[-1].mean() != pytest.approx(CURVE.curve(np.array(80.0)), abs=1e-6)


def test_without_an_announcement_nobody_sees_a_reason_to_contribute():
    with pytest.warns(UserWarning, match="not told what their data do to the accuracy"):
        made = run(scenario(BestResponse(), Learning(engine()), starts=40.0))
    with pytest.warns(UserWarning, match="not told what their data do to the accuracy"):
        run(scenario(RegretMatching(), Learning(engine()), starts=40.0))
    assert np.all(made.population.contribution == 0)
    assert made.converged
    assert made.gap == 0


def test_one_step_on_given_contributions_is_one_round():
    training = Learning(engine(), seed=2)
    after, _ = training.round(training.begin(0), OwnerMessages.honest([10.0, 20.0, 0.0, 5.0]))
    direct = one_round(engine(), engine().initial(2), np.array([10, 20, 0, 5]), Recipe(), 2, 0)
    torch.testing.assert_close(training.weights(after), direct.model)
    assert after.round == 1
    assert training.round(after, OwnerMessages.honest(np.zeros(4)))[0] is after
    np.testing.assert_array_equal(training.worth(after).marginals(np.zeros(4)), 0)


def test_the_server_weighs_updates_by_what_owners_claim():
    boasting = run(scenario([Liar(Honest(), contribution_factor=1e6), Honest(), Honest(), Honest()], steps=1))
    alone = one_round(engine(), engine().initial(0), np.array([80, 0, 0, 0]), Recipe(), 0, 0).model
    torch.testing.assert_close(boasting.training.weights(boasting.state), alone, atol=1e-4, rtol=0)


@pytest.mark.parametrize("mechanism", PROMISING.values(), ids=PROMISING.keys())
def test_every_mechanism_settles_on_a_model_in_training(mechanism):
    made = run(scenario(FixedShare(0.5), mechanism=mechanism, steps=2))
    assert np.all(np.isfinite(made.population.utility))
    assert len(made.frames().steps) == 2


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())
def test_every_strategy_acts_on_a_model_in_training(strategy):
    made = run(scenario([strategy, Honest(), Honest(), Honest()], mechanism=CostSharing(), steps=3))
    assert np.all(np.isfinite(made.frames().owners["utility"]))


@pytest.mark.parametrize("name", ["NoPayments", "CostSharing", "ShapleyShare", "ProportionalData"])
def test_trained_oracles_take_the_place_of_closed_forms(name):
    mechanism = next(one for one in PROMISING.values() if type(one).__name__ == name)
    oracle = Trained(engine(6), rounds=1, step=2)
    strategies = [BestResponse(), STRATEGIES["GradientResponse"], Honest(), FreeRider()]
    made = run(scenario(strategies, oracle, samples=6, mechanism=mechanism, steps=2))
    frames = made.frames()
    assert np.all(np.isfinite(frames.owners["utility"]))
    assert frames.runs["gap"][0] == np.inf
    best = made.population.contribution
    np.testing.assert_array_equal(made.population.contribution[2:], [6.0, 0.0])
    received = oracle.values(best[None])[0]
    if name == "NoPayments":
        np.testing.assert_array_equal(made.population.accuracy, received)


def test_owners_that_leave_train_no_more():
    strategies = [Quitter(Honest()), Honest(), Honest(), Honest()]
    expensive = population([10.0, 0.001, 0.001, 0.001], 80.0, strategies)
    made = run(Scenario(expensive, Learning(engine(), announced=CURVE), steps=3))
    assert made.population.stayed.tolist() == [False, True, True, True]
    first = one_round(engine(), engine().initial(0), np.full(4, 80), Recipe(), 0, 0).model
    second = one_round(engine(), first, np.array([0, 80, 80, 80]), Recipe(), 0, 1).model
    np.testing.assert_allclose(accuracies(made)[1, 1:], engine().evaluate(second).numpy()[1][0, 1:], atol=1e-12)


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path):
    made = Federation(scenario([NOISY, Random(), Honest(), BestResponse()]), 4)
    made.step()
    made.step()
    again = checkpoint.restore(checkpoint.save(made, tmp_path / "run"), made.scenario)
    assert_equal_frames(again.run().frames(), made.run().frames())


def test_views_show_no_data_of_a_federation_in_training():
    spies = [Spy(BestResponse(), number) for number in range(4)]
    run(scenario(list(spies), activation=RandomSubset(2), steps=2))
    seen, waiting = set(), deque(view for spy in spies for view in spy.views)
    while waiting:
        thing = waiting.popleft()
        if id(thing) in seen or isinstance(thing, str | bytes | int | float | bool | np.ndarray | type | None):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Engine | FederatedData | torch.Tensor)
        waiting.extend(parts(thing))
    assert len(seen) > 20


# Tampering


def test_a_broken_update_is_dropped_recorded_and_hurts_nobody():
    for number in (np.nan, np.inf):
        attacked = run(scenario([Honest(), Multiplier(Honest(), number), Honest(), Honest()]))
        without = run(scenario([Honest(), FreeRider(), Honest(), Honest()]))
        np.testing.assert_allclose(accuracies(attacked), accuracies(without), atol=1e-12)
        assert torch.isfinite(attacked.training.weights(attacked.state)).all()
        assert flags(attacked).tolist() == [[False, True, False, False]] * 4
        assert attacked.frames().steps["rejected"].tolist() == [1] * 4


def test_the_record_is_of_the_step_in_which_it_happened():
    attacked = run(scenario([Honest(), Multiplier(Honest(), np.nan, first=2, last=3), Honest(), Honest()]))
    assert flags(attacked)[:, 1].tolist() == [False, True, True, False]


def test_owners_that_do_not_act_go_on_as_before():
    people = [Multiplier(Honest(), np.nan) for _ in range(4)]
    attacked = run(scenario(people, activation=RandomSubset(1), steps=3))
    assert [sorted(row) for row in flags(attacked).tolist()] != [[False, False, False, True]] * 3
    assert np.all(np.diff(flags(attacked).sum(axis=1)) >= 0)


def test_broken_data_make_a_broken_update_only_for_their_owner():
    data = digits()
    spoiled = replace(data, x_train=data.x_train.astype(np.float32) * (2 / 255) - 1)
    spoiled.x_train[data.offsets[2]] = np.nan
    made = run(scenario(Honest(), Learning(Engine("mlp", spoiled, device="cpu"), announced=CURVE)))
    assert flags(made).tolist() == [[False, False, True, False]] * 4
    assert torch.isfinite(made.training.weights(made.state)).all()
    assert accuracies(made)[-1].mean() > 0.5
    again = run(scenario(Honest(), Trained(made.training.engine, rounds=4), steps=2))
    assert flags(again).tolist() == [[False, False, True, False]] * 2
    np.testing.assert_allclose(accuracies(again)[0], accuracies(made)[-1], atol=1e-12)


def test_a_flipped_update_pulls_the_model_back():
    honest = run(scenario(Honest()))
    flipped = run(scenario([Multiplier(Honest(), -3.0), Honest(), Honest(), Honest()]))
    assert accuracies(flipped)[-1].mean() < accuracies(honest)[-1].mean() - 0.1
    assert not flags(flipped).any()
    start, full = engine().initial(0), np.full(4, 80.0)
    sent = one_round(engine(), start, full, Recipe(), 0, 0).updates
    made = run(scenario([Multiplier(Honest(), -3.0), Honest(), Honest(), Honest()], steps=1))
    once = made.training.weights(made.state)
    torch.testing.assert_close(once, start + (sent[1] + sent[2] + sent[3] - 3 * sent[0]) / 4)


def test_huge_updates_leave_the_model_finite():
    made = run(scenario([Multiplier(Honest(), 1e38), Honest(), Honest(), Honest()]))
    assert torch.isfinite(made.training.weights(made.state)).all()
    assert np.all(np.isfinite(accuracies(made)))


def test_tampering_changes_nobody_elses_draws():
    quiet = run(scenario([Honest(), Random(), Random(), Honest()]))
    noisy = run(scenario([NOISY, Random(), Random(), Honest()]))
    drawn = [one.frames().owners.query("owner in (1, 2)")["contribution"].to_numpy() for one in (quiet, noisy)]
    np.testing.assert_array_equal(*drawn)
    assert np.any(accuracies(quiet) != accuracies(noisy))
    assert_equal_frames(noisy.frames(), run(noisy.scenario).frames())


def test_trained_oracles_are_tampered_with_too_but_the_server_does_not_know():
    oracle, mechanism = Trained(engine(), rounds=3), NoPayments()
    people = [Multiplier(Honest(), -3.0), Honest(), Honest(), Honest()]
    attacked = run(scenario(people, oracle, mechanism=mechanism, steps=2))
    clean = oracle.values(np.full((1, 4), 80.0))[0]
    assert attacked.population.accuracy.mean() < clean.mean() - 0.1
    assert attacked.accuracy.public is oracle.public
    broken = run(scenario([Multiplier(Honest(), np.nan), Honest(), Honest(), Honest()], oracle, steps=2))
    without = oracle.values(np.array([[0.0, 80.0, 80.0, 80.0]]))[0]
    np.testing.assert_allclose(broken.population.accuracy, without, atol=1e-12)
    assert flags(broken).tolist() == [[True, False, False, False]] * 2


# Bad input


@dataclass(frozen=True)
class Clumsy(Honest):
    """Loses part of its update."""

    def act(self, view: OwnerView) -> Action:
        return replace(super().act(view), tamper=lambda rows, received, rng: rows[:, :-1])


def test_an_update_of_another_shape_is_one_clear_line():
    with pytest.raises(UserCodeError, match="keep their shape"):
        run(scenario([Clumsy(), Honest(), Honest(), Honest()]))


@pytest.mark.parametrize("accuracy", ["learning", "trained"])
def test_an_owner_cannot_contribute_more_than_its_data(accuracy):
    oracle = Learning(engine(), announced=CURVE) if accuracy == "learning" else Trained(engine(), rounds=1)
    people = replace(scenario(Honest(), oracle), owners=population([0.001] * 4, [80, 80, 81, 80], Honest()))
    with pytest.raises(InputError, match="owner 2 contributes 81 of 80 samples"):
        run(people)


def test_an_announcement_must_fit():
    with pytest.raises(InputError, match="must be an accuracy"):
        Learning(engine(), announced=0.9)
    with pytest.raises(InputError, match="4 owners but an announced accuracy for 2"):
        Learning(engine(), announced=Trained(_two(), rounds=1))
    with pytest.raises(InputError, match="3 owners but an accuracy for 4"):
        Scenario(population([0.1] * 3, 80.0), Learning(engine(), measure=Measure("loss", 2.0)))


def _two() -> Engine:
    return Engine("logistic", from_partition(load_dataset("digits"), IID(2), test_share=0.2), device="cpu")
