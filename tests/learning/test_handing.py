"""Models that are handed out instead of the full one are really worse, and never better than promised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario, population
from fedabm.data.datasets import load_dataset
from fedabm.games.accuracy import PowerLaw
from fedabm.games.accuracy.training import training_of
from fedabm.games.messages import OwnerMessages
from fedabm.learning.oracles import Learning, Measure, MeasuredCurve, Trained
from fedabm.learning.oracles.handing import by_noise, by_subset
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import NoPayments, ProportionalData, ProportionalValue, ValueShaping
from fedabm.papers.presets import Size, engine_for
from fedabm.strategies import Keep

SIZE = Size(3, 100, 50, "logistic")


@pytest.fixture(scope="module")
def engine():
    return engine_for(load_dataset("digits"), SIZE, 0)


@pytest.fixture(scope="module")
def trained(engine):
    return Trained(engine, rounds=4, recipe=Recipe())


def test_closed_forms_keep_promises_to_the_digit():
    training, promised = training_of(PowerLaw()), np.array([0.3, 0.1])
    assert training.hand_out(training.begin(0), np.arange(2), np.ones(2), promised).tolist() == [0.3, 0.1]


def test_noise_brings_a_model_down_to_the_promise_from_below(engine, trained):
    """Test parts have 50 samples: a promise is missed by little more than some of them."""
    training = Learning(engine, Recipe(), seed=0)
    state = training.begin(0)
    for _ in range(4):
        state, _ = training.round(state, OwnerMessages.honest(np.full(3, 100.0)))
    full = training.worth(state).values(np.full((1, 3), 100.0))[0]
    promised = full * np.array([0.9, 0.6, 0.3])
    got = by_noise(engine, training.weights(state), np.arange(3), promised, Measure(), seed=0).worth
    assert np.all(got <= promised)
    assert np.all(got >= promised - 0.1)
    assert np.all(got < full - 0.02)
    np.testing.assert_array_equal(
        got, training.hand_out(state, np.arange(3), np.full(3, 100.0), promised * 0 + promised)
    )


def test_a_promise_below_chance_is_kept_as_well_as_a_guess_allows(engine, trained):
    got = by_noise(engine, engine.initial(0), np.arange(3), np.zeros(3), Measure(), seed=0).worth
    assert np.all(got < 0.4)


def test_noise_that_does_good_is_not_handed_out(engine):
    """Always the same answer is right for a tenth or so; a louder noise guesses, which is right more often for some."""
    for answer in range(10):
        model = torch.zeros(engine.size)
        model[answer - 10] = 1.0  # the biases are the last ten numbers
        full = engine.evaluate(model).accuracy[0].numpy()
        got = by_noise(engine, model, np.arange(3), full, Measure(), seed=0).worth
        assert np.all(got <= full)


def test_subsets_are_really_trained_on_less(trained):
    """The best of the models on 0, 1/4, 2/4, 3/4 of the data that is worth no more than promised."""
    contributions = np.array([100.0, 80.0, 60.0])
    worth = trained.values(np.array([[0, 0, 0], [25, 20, 15], [50, 40, 30], [75, 60, 45]], dtype=float))
    promised = np.array([worth[2, 0] + 1e-9, worth[1, 1] + 1e-9, -1.0])
    got = by_subset(trained.values, np.arange(3), contributions, promised, levels=4)
    allowed = [worth[worth[:, owner] <= promised[owner], owner].max() for owner in (0, 1)]
    np.testing.assert_array_equal(got, [*allowed, worth[:, 2].min()])


@pytest.mark.parametrize("oracle", ["learning", "trained"])
def test_a_run_hands_out_worse_models_to_those_who_give_less(engine, trained, oracle):
    """Two give everything, one a tenth: (1/10)^0.5 = 0.316 of the full accuracy is promised."""
    curve = MeasuredCurve([0, 100, 200, 300], [0.1, 0.7, 0.8, 0.85], concave=True)
    accuracy = trained if oracle == "trained" else Learning(engine, Recipe(), announced=curve, seed=0)
    given = np.array([100.0, 100.0, 10.0])
    people = population([1e-4] * 3, 100, Keep(), given)
    base = Scenario(people, accuracy, ProportionalData(0.5), steps=4)
    shaped, full = (Federation(replace(base, mechanism=rule)).run() for rule in (ProportionalData(0.5), NoPayments()))
    got, whole = shaped.population.accuracy, full.population.accuracy
    np.testing.assert_array_equal(got[:2], whole[:2])
    assert got[2] <= 0.1**0.5 * whole[2] + 1e-12 or got[2] < 0.25
    assert got[2] < whole[2] - 0.2
    # what is received is the share of right answers of a model, not a product
    assert got[2] * 50 == pytest.approx(round(got[2] * 50))


@pytest.mark.parametrize(
    ("rule", "share"),
    [(ValueShaping(), 0.16 / 0.805), (ProportionalValue(1.0), 0.16 / 0.7), (ProportionalData(1.0), 0.1)],
)
def test_every_rule_that_pays_with_models_hands_out_one_that_is_really_worse(engine, rule, share):
    """v(10) = 0.1 + 10 * 0.006 is what an owner of 10 samples has alone, v(210) = 0.805 what the full model is worth.

    Value shaping promises v(10), proportional value v(10) / v(100) of the full model beside owners of 100 samples.
    """
    curve = MeasuredCurve([0, 100, 200, 300], [0.1, 0.7, 0.8, 0.85], concave=True)
    model = Learning(engine, Recipe(), announced=curve, seed=0)
    people = population([1e-4] * 3, 100, Keep(), np.array([100.0, 100.0, 10.0]))
    made = Federation(Scenario(people, model, rule, steps=4)).run()
    full, got = made.judge(np.arange(3)), made.population.accuracy
    promised = full * made.settle(np.arange(3), full).access
    assert promised[2] == pytest.approx(share * full[2], rel=1e-6)
    assert got[2] <= max(promised[2], 0.25)  # a guess may be right more often than promised
    assert got[2] < full[2] - 0.4
    assert np.all(got <= full)
