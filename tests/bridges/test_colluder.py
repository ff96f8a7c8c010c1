"""Colluders with an attack of any library: of their own updates, or of all honest ones, as ours that see them."""

import numpy as np
import pytest
import torch

from fedabm import Federation, InputError, Scenario, population
from fedabm.bridges.byzfl import Colluder
from fedabm.common.random import owner_streams
from fedabm.games.messages import Surroundings
from fedabm.learning import CoordinateMedian, Engine, FedAvg, Learning, Recipe
from fedabm.strategies import Attacker, Honest
from tests.learning.plain import random_data


def a_little_is_enough(rows):
    """The mean less 1.5 standard deviations of the rows, which are taken for the honest ones."""
    return rows.mean(dim=0) - 1.5 * rows.std(dim=0, correction=0)


def inner_product(rows):
    """Minus half the mean."""
    return -0.5 * rows.mean(dim=0)


def learned(bad, rule=None):
    """The model after two rounds with three honest owners and two of these."""
    data = random_data((6,), sizes=(8,) * 5, tests=(4,) * 5)
    people = population([0.0] * 5, data.capacities, [bad, Honest(), bad, Honest(), Honest()])
    learning = Learning(Engine("logistic", data, device="cpu"), Recipe(rule=rule or FedAvg()))
    return Federation(Scenario(people, learning, steps=2)).run().state.model


@pytest.mark.parametrize("rule", [FedAvg(), CoordinateMedian()], ids=repr)
@pytest.mark.parametrize(
    ("attack", "ours"), [(a_little_is_enough, "little_is_enough"), (inner_product, "inner_product")]
)
def test_an_omniscient_colluder_sends_what_our_omniscient_attack_sends(rule, attack, ours):
    found = learned(Colluder(Honest(), attack, omniscient=True), rule)
    torch.testing.assert_close(found, learned(Attacker(Honest(), ours), rule))
    assert not torch.allclose(found, learned(Colluder(Honest(), attack), rule), atol=1e-3)


def test_what_it_sees_by_hand():
    """Owners 1 and 3 are honest; their mean is (2, 3), of which -0.5 is sent by both colluders."""
    seen = []

    def attack(rows):
        seen.append(rows.tolist())
        return inner_product(rows)

    everyone = torch.tensor([[9.0, 9.0], [1.0, 2.0], [7.0, 7.0], [3.0, 4.0]])
    rows, received = everyone[[0, 2]], torch.zeros(2, 2)
    around = Surroundings(np.array([0, 2]), 0, torch.zeros(2), np.arange(4), everyone)
    rng = owner_streams(0, 2)
    sent = Colluder(Honest(), attack, omniscient=True)(rows, received, rng, around)
    assert sent.tolist() == [[-1.0, -1.5]] * 2
    assert Colluder(Honest(), attack)(rows, received, rng).tolist() == [[-4.0, -4.0]] * 2
    assert seen == [[[1.0, 2.0], [3.0, 4.0]], [[9.0, 9.0], [7.0, 7.0]]]


def test_results_say_that_it_saw_everything_and_where_nothing_is_shown_it_is_refused():
    omniscient = Colluder(Honest(), inner_product, omniscient=True)
    assert omniscient.label == "omniscient_colluder_function(honest)"
    with pytest.raises(InputError, match="sees all updates"):
        omniscient(torch.ones(1, 2), torch.zeros(1, 2), owner_streams(0, 1))
