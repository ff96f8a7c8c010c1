"""Payoffs of accuracy where models train: what owners receive is the payoff of the accuracy, under every rule."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, Scenario, Thoroughness, audit, population
from fedabm.accuracy import CurvedPayoff, LinearPayoff, PowerLaw, Valued
from fedabm.auditing.search import SearchEffort
from fedabm.games.accuracy.training import training_of
from fedabm.games.messages import OwnerMessages
from fedabm.learning import Learning, Personal
from fedabm.learning.knowledge import FromUpdates, Measured
from fedabm.learning.oracles import Rounds
from fedabm.mechanisms import FedAvgExchange, NoPayments, ProportionalData, RealFM, ShapleyShare
from fedabm.simulation import checkpoint
from fedabm.strategies import BestResponse, FixedShare, Honest, MeasuredResponse
from tests.knowledge.worlds import CAPACITY, RECIPE, engine

CURVE = PowerLaw(exponent=0.25)
WEIGHTS = [0.5, 1.0, 1.5, 2.0]
UNEQUAL = [FixedShare(share) for share in (0.2, 0.5, 0.8, 1.0)]


def played(accuracy, rule, strategies=None, steps=3, **options):
    people = population([0.001] * 4, CAPACITY, strategies or Honest())
    return Federation(Scenario(tuple(people), accuracy, rule, steps=steps, **options), seed=1).run()


def owners_of(model):
    return model.frames().owners.set_index(["step", "owner"])


def curved(accuracy):
    """w ((1 - a)^-2 - 1) by hand."""
    return np.tile(WEIGHTS, len(accuracy) // 4) * ((1.0 - accuracy) ** -2.0 - 1.0)


@pytest.mark.parametrize(
    ("training", "rule"),
    [
        (Learning(engine(), RECIPE, announced=CURVE), NoPayments()),
        (Learning(engine(), RECIPE), NoPayments()),
        (Personal(engine(), RECIPE), FedAvgExchange()),
        (Rounds(engine(), RECIPE), NoPayments()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_received_is_the_payoff_of_the_accuracy_of_the_same_models(training, rule):
    """Owners give all whatever models are worth, so that the same models are trained with payoffs and without."""
    plain = owners_of(played(training, rule))
    paid = owners_of(played(Valued(training, CurvedPayoff(WEIGHTS)), rule))
    np.testing.assert_array_equal(paid["contribution"], plain["contribution"])
    np.testing.assert_allclose(paid["accuracy"], curved(plain["accuracy"].to_numpy()), rtol=1e-9)
    assert paid["accuracy"].groupby("step").mean().nunique() > 1  # it learns
    np.testing.assert_allclose(paid["utility"], paid["accuracy"] - 0.001 * paid["contribution"], rtol=1e-9)


def test_owners_respond_to_the_payoff_of_what_is_announced():
    """phi(a) = sqrt(1 + S) - 1 here, with slope 1 / (2 sqrt(1 + S)); that of a is at most a quarter."""
    cost = 0.25
    people = tuple(population([cost] * 4, CAPACITY, [BestResponse(), *[FixedShare(0.0)] * 3]))
    training = Learning(engine(), RECIPE, announced=CURVE)
    given = []
    for accuracy in (Valued(training, CurvedPayoff(1.0)), training):
        model = Federation(Scenario(people, accuracy, NoPayments(), steps=2), seed=1).run()
        given.append(model.population.contribution[0])
    assert given[0] == pytest.approx((1.0 / (2.0 * cost)) ** 2 - 1.0, rel=1e-4)
    assert given[1] == pytest.approx(0.0, abs=1e-9)


def test_real_fm_hands_out_models_whose_worth_leaves_owners_what_they_announced():
    """Promised is phi(a(alone)) + (c + slack)(x - alone) in worth; models handed out are no better than that."""
    cost, rule = 0.25, RealFM(slack=0.01)
    worth = Valued(Learning(engine(), RECIPE, announced=CURVE), CurvedPayoff(1.0))
    people = tuple(population([cost] * 4, CAPACITY, Honest()))
    model = Federation(Scenario(people, worth, rule, steps=3), seed=1).run()
    alone = (1.0 / (2.0 * cost)) ** 2 - 1.0
    promised = np.sqrt(1.0 + alone) - 1.0 + (cost + 0.01) * (CAPACITY - alone)
    share = promised / (np.sqrt(1.0 + 4 * CAPACITY) - 1.0)
    assert 0 < share < 1
    full = model.accuracy.values(np.full((1, 4), CAPACITY))[0]
    last = owners_of(model).loc[3]
    assert np.all(last["accuracy"] <= share * full + 1e-9)
    assert np.all(last["accuracy"] < full)
    wanted = 1.0 - (share * full + 1.0) ** -0.5
    np.testing.assert_allclose(model._promised, wanted, rtol=1e-9)


def test_parts_of_models_are_parts_of_their_worth():
    training = Learning(engine(), RECIPE, announced=CURVE, seed=0)
    worth = Valued(training, CurvedPayoff(WEIGHTS))
    state, given = training.begin(0), np.full(4, CAPACITY)
    for _ in range(3):
        state, _ = training.round(state, OwnerMessages.honest(given))
    rows, promised = np.array([1, 3]), np.array([0.2, 0.4])
    accuracy = 1.0 - (promised / np.array([1.0, 2.0]) + 1.0) ** -0.5
    plain = training.hand_out(state, rows, given, accuracy)
    got = worth.hand_out(state, rows, given, promised)
    np.testing.assert_allclose(got, np.array([1.0, 2.0]) * ((1.0 - plain) ** -2.0 - 1.0), rtol=1e-9)


def test_what_the_server_finds_out_is_valued_too():
    """A straight payoff of weight 3 triples Shapley payments of what was measured, and of updates."""
    training = Learning(engine(), RECIPE, announced=CURVE)
    for knowledge in (FromUpdates(), Measured(rounds=1, points=3, checks=0)):
        plain, paid = (
            owners_of(played(one, ShapleyShare(), UNEQUAL, knowledge=knowledge, steps=2))
            for one in (training, Valued(training, LinearPayoff(3.0)))
        )
        assert np.abs(plain["payment"]).max() > 0
        np.testing.assert_allclose(paid["payment"], 3.0 * plain["payment"], rtol=1e-6, atol=1e-12)


def test_what_own_training_gains_is_told_in_payoffs():
    training = Learning(engine(), RECIPE, seed=0)
    messages = replace(OwnerMessages.honest(np.full(4, CAPACITY)), measured=True)
    plain = training.round(training.begin(0), messages)[1].progress
    worth = Valued(training, CurvedPayoff(WEIGHTS))
    told = worth.round(worth.begin(0), messages)[1].progress
    before = training.worth(training.begin(0)).values(np.zeros((1, 4)))[0]
    assert told == pytest.approx(curved(before + plain) - curved(before))
    played(worth, NoPayments(), MeasuredResponse(1.0))


def test_with_weight_one_a_straight_payoff_changes_no_frame():
    training = Learning(engine(), RECIPE, announced=CURVE)
    for rule in (NoPayments(), ShapleyShare(), ProportionalData(1.0)):
        plain, paid = (played(one, rule).frames().owners for one in (training, Valued(training, LinearPayoff(1.0))))
        assert plain.drop(columns="run").equals(paid.drop(columns="run"))


@pytest.mark.parametrize("knowledge", [FromUpdates(), Measured(rounds=1, points=3, checks=0)])
def test_a_run_with_payoffs_is_saved_and_gone_on_with(tmp_path, knowledge):
    people = tuple(population([0.001] * 4, CAPACITY, UNEQUAL))
    worth = Valued(Learning(engine(), RECIPE, announced=CURVE), CurvedPayoff(WEIGHTS))
    scenario = Scenario(people, worth, ShapleyShare(), steps=4, knowledge=knowledge)
    whole, half = Federation(scenario, seed=1).run(), Federation(scenario, seed=1)
    half.step()
    half.step()
    file = checkpoint.save(half, tmp_path / "half")
    again = checkpoint.restore(file, scenario).run()
    assert again.frames().owners.equals(whole.frames().owners)


def test_an_audit_of_payoffs_is_in_their_unit():
    """Twice the worth and twice the cost of everything: twice what the best move gains, and no other verdict."""
    cards = []
    for factor, worth in ((1.0, training := Learning(engine(), RECIPE)), (2.0, Valued(training, LinearPayoff(2.0)))):
        people = tuple(population([0.002 * factor] * 4, CAPACITY, Honest()))
        how = replace(Thoroughness.quick(), effort=SearchEffort(questions=10, owners=1), seeds=2)
        cards.append(audit(Scenario(people, worth, NoPayments(), steps=2), thoroughness=how))
    for name in ("truthfulness", "secession", "individual rationality"):
        plain, paid = (card.claim(name) for card in cards)
        assert paid.value == pytest.approx(2.0 * plain.value)
        assert paid.holds == plain.holds


def test_a_training_has_no_value_at_a_profile():
    worth = Valued(Learning(engine(), RECIPE), CurvedPayoff())
    with pytest.raises(InputError, match="Learning trains while owners decide and has no value at a profile; give it"):
        worth.values(np.ones((1, 4)))
    assert training_of(worth) is worth
    assert worth.takes_updates
    assert worth.keeps_updates
    with pytest.raises(InputError, match="accuracy must be an"):
        Valued("digits", CurvedPayoff())
