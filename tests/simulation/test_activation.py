from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, InputError, population
from fedabm.common.random import generator
from fedabm.simulation.activation import Activation, RandomSubset, Sequential, Simultaneous
from fedabm.strategies import BestResponse, FreeRider, Honest
from tests.conftest import run, two_owners


def owners_of(activation: Activation, stayed, seed: int = 0) -> list[list[int]]:
    return [batch.tolist() for batch in activation.batches(np.array(stayed, dtype=bool), generator(seed, "activation"))]


def test_simultaneous_is_one_batch_of_all_that_stayed():
    assert owners_of(Simultaneous(), [1, 0, 1, 1]) == [[0, 2, 3]]


def test_sequential_is_one_batch_each_in_order():
    assert owners_of(Sequential(), [1, 0, 1, 1]) == [[0], [2], [3]]


def test_shuffled_sequential_reaches_everyone_once_in_another_order_each_time():
    orders = [tuple(owner for (owner,) in owners_of(Sequential(shuffle=True), np.ones(6), seed)) for seed in range(10)]
    assert all(sorted(order) == list(range(6)) for order in orders)
    assert len(set(orders)) > 5


def test_random_subsets_have_k_owners_that_stayed_and_reach_everyone():
    rng, stayed = generator(0, "activation"), np.array([1, 1, 0, 1, 1], dtype=bool)
    drawn = [next(RandomSubset(2).batches(stayed, rng)).tolist() for _ in range(60)]
    assert all(len(batch) == 2 and batch == sorted(set(batch)) for batch in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=5)
    assert counts[2] == 0
    assert np.all(counts[[0, 1, 3, 4]] > 15)


def test_a_random_subset_is_all_when_fewer_are_left():
    assert owners_of(RandomSubset(9), [1, 0, 1]) == [[0, 2]]


@pytest.mark.parametrize("activation", [Simultaneous(), Sequential(), Sequential(shuffle=True), RandomSubset(2)])
def test_nobody_left_is_no_error(activation):
    assert not [owner for batch in owners_of(activation, [0, 0]) for owner in batch]


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None])
def test_bad_subsets_are_refused(k):
    with pytest.raises(InputError, match="whole number"):
        RandomSubset(k)


def test_sequential_owners_see_what_earlier_ones_have_just_reported():
    """Best responses to (0, 0) are 2.1623 and 1; who comes second finds the first one's data and gives nothing."""
    both = Federation(two_owners(activation=Simultaneous()))
    both.step()
    np.testing.assert_allclose(both.population.contribution, [10**0.5 - 1, 1.0], atol=1e-6)
    turns = Federation(two_owners(activation=Sequential()))
    turns.step()
    np.testing.assert_allclose(turns.population.contribution, [10**0.5 - 1, 0.0], atol=1e-6)


def test_owners_outside_a_subset_repeat_their_last_action():
    owners = population([0.01] * 6, 10.0, Honest())
    model = Federation(replace(two_owners(), owners=owners, activation=RandomSubset(2)))
    before = model.population.contribution.copy()
    for _ in range(3):
        model.step()
        changed = model.population.contribution != before
        assert changed.sum() <= 2
        before = model.population.contribution.copy()


ACTIVATIONS = [Simultaneous(), Sequential(), Sequential(shuffle=True), RandomSubset(1), RandomSubset(2)]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_stops_by_itself_at_the_equilibrium(activation):
    strategies = BestResponse(0.4) if isinstance(activation, Simultaneous | RandomSubset) else BestResponse()
    model = run(two_owners(activation=activation, strategies=strategies, steps=500, tolerance=1e-10))
    assert model.converged
    assert model.steps < 500
    assert model.status == "converged"
    np.testing.assert_allclose(model.population.contribution, [10**0.5 - 1, 0.0], atol=1e-6)
    assert model.gap < 1e-9


def test_a_random_subset_is_converged_only_after_everyone_has_stood_still():
    """Five owners never move; the sixth, drawn late, would: the run must not end before it has had its turn."""
    owners = population([0.01] * 6, 10.0, [FreeRider()] * 5 + [Honest()])
    for seed in range(8):
        model = run(replace(two_owners(), owners=owners, activation=RandomSubset(1), steps=500), seed)
        assert (model.at_rest, model.status) == (True, "at rest")
        assert model.population.contribution[5] == 10.0


def test_steps_used_up_is_not_converged():
    model = run(two_owners(activation=Simultaneous(), strategies=BestResponse(0.01), steps=5))
    assert (model.steps, model.converged, model.status, model.running) == (5, False, "stopped", False)
