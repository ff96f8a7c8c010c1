"""Attacks of ByzFL in our training: what colluders send is what the library says, of their own updates alone."""

import sys
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch

from fedabm import Federation, InputError, Scenario, population
from fedabm.bridges.byzfl import Colluder
from fedabm.common.random import owner_streams
from fedabm.games.accuracy import PowerLaw
from fedabm.learning import CoordinateMedian, Engine, FedAvg, Learning, Recipe
from fedabm.strategies import Attacker, Honest
from tests.learning.plain import random_data

# ByzFL imports torchvision for its benchmarks, which attacks do without.
with pytest.MonkeyPatch.context() as patch:
    for name in ("torchvision", "torchvision.datasets", "torchvision.transforms"):
        patch.setitem(sys.modules, name, MagicMock())
    byzfl = pytest.importorskip("byzfl", reason="ByzFL is not installed; python -m tests.bridges runs this")


def test_a_little_is_enough_of_two_updates_by_hand():
    """Mean (2, 0) and deviation (1, 2) by coordinate (of a population): 1.5 deviations are added."""
    updates = torch.tensor([[1.0, -2.0], [3.0, 2.0]])
    attack = byzfl.ALittleIsEnough(tau=1.5)
    sent = Colluder(Honest(), attack)(updates, torch.zeros(2, 2), owner_streams(0, 2))
    assert sent.shape == (2, 2)
    torch.testing.assert_close(sent[0], sent[1])
    torch.testing.assert_close(sent[0], attack(updates))
    assert sent[0, 0] > 3.0


@pytest.mark.parametrize("rule", [FedAvg(), CoordinateMedian()])
def test_flipped_signs_reach_training(rule):
    """Two of three owners send minus their mean update, which is what sign flipping of each sends on average."""
    data = random_data((6,), sizes=(8, 8, 8))
    engine = Engine("logistic", data, device="cpu")

    def model(bad):
        people = population([0.0] * 3, data.capacities, [bad, bad, Honest()])
        run = Federation(Scenario(people, Learning(engine, Recipe(rule=rule)), steps=2)).run()
        return run.state.model

    colluding = model(Colluder(Honest(), byzfl.SignFlipping()))
    assert not torch.equal(colluding, model(Honest()))
    if isinstance(rule, FedAvg):
        torch.testing.assert_close(colluding, model(Attacker(Honest(), "sign_flip")))


def test_our_omniscient_attacks_are_those_of_the_library():
    """Ours takes the deviation of a population; ByzFL's is measured on 0 and 2, whose mean and deviation are 1."""
    data = random_data((6,), sizes=(8,) * 5, tests=(4,) * 5)
    engine = Engine("logistic", data, device="cpu")

    def model(bad):
        people = population([0.0] * 5, data.capacities, [bad, bad, *[Honest()] * 3])
        return Federation(Scenario(people, Learning(engine, Recipe()), steps=2)).run().state.model

    deviation = float(byzfl.ALittleIsEnough(tau=1.0)(torch.tensor([[0.0], [2.0]]))[0]) - 1.0
    of_sample = deviation > 1.2
    factor = np.sqrt(2 / 3) if of_sample else 1.0  # of three honest owners
    for attack, ours in (
        (byzfl.ALittleIsEnough(tau=float(-1.5 * factor)), "little_is_enough"),
        (byzfl.InnerProductManipulation(tau=0.5), "inner_product"),
    ):
        seeing = Colluder(Honest(), attack, omniscient=True)
        torch.testing.assert_close(model(seeing), model(Attacker(Honest(), ours)))


def test_attacks_that_draw_from_the_global_stream_are_refused():
    with pytest.raises(InputError, match=r"Gaussian of ByzFL does not fit here; use Attacker\(attack='gaussian'\)"):
        Colluder(Honest(), byzfl.Gaussian())
    with pytest.raises(InputError, match="an attack of ByzFL is wanted, got 'sign_flip'"):
        Colluder(Honest(), "sign_flip")
    people = population([0.0] * 2, 5.0, Colluder(Attacker(Honest(), "nan"), np.mean))
    with pytest.raises(InputError, match="attacks already"):
        Federation(Scenario(people, PowerLaw())).run()
