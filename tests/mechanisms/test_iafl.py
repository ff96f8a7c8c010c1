"""Whoever gives more gets more updates; kappa = 1 is averaging for everybody."""

from dataclasses import replace

import numpy as np
import pytest

from fedabm import Federation, Scenario, population
from fedabm.learning import Personal
from fedabm.mechanisms import IAFL, FedAvgExchange
from fedabm.strategies import Honest, Liar
from tests.knowledge.worlds import RECIPE, engine
from tests.learning.sent import claims
from tests.mechanisms.test_cgsv import sent

MOVES = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32).tolist()


def given(sizes):
    return replace(sent(MOVES), reports=claims(np.array(sizes)))


@pytest.mark.parametrize(("kappa", "expected"), [(0.0, [4, 3, 2, 2, 0]), (0.5, [4, 4, 3, 2, 0]), (1.0, [4] * 4 + [0])])
def test_how_many_updates_everybody_gets(kappa, expected):
    """The own and ceil(3 gamma^(1 - kappa)), gamma = 1, 1/2, 1/4, 1/10; who claims nothing is not heard either."""
    done = IAFL(kappa, recovery=0.0).exchange(given([40.0, 20.0, 10.0, 4.0, 0.0]))
    assert (done.imports > 0).sum(axis=1).tolist() == expected
    step = done.imports @ np.array(MOVES)
    np.testing.assert_allclose(done.kept.numpy(), step, atol=1e-6)


def test_without_differences_it_is_averaging():
    done = IAFL(kappa=1.0, recovery=0.0).exchange(given([10.0] * 5))
    np.testing.assert_allclose(done.kept.numpy(), FedAvgExchange().exchange(given([10.0] * 5)).kept.numpy(), atol=1e-6)


def test_with_certain_recovery_all_get_the_reference_model():
    done = IAFL(recovery=1.0).exchange(given([40.0, 20.0, 10.0, 4.0, 1.0]))
    np.testing.assert_allclose(done.kept.numpy(), np.tile(np.mean(MOVES, axis=0), (5, 1)), atol=1e-6)


def test_over_claiming_is_rewarded():
    """Its best lie, as the docstring says."""
    capacity = np.array([6.0, 6.0, 6.0, 6.0])
    starts = [
        population([0.001] * 4, capacity, kinds)
        for kinds in ([Honest()] * 4, [*[Honest()] * 3, Liar(Honest(), size_factor=9.0)])
    ]
    models = [
        Federation(Scenario(people, Personal(engine(), RECIPE), IAFL(kappa=0.0, recovery=0.0), steps=1), seed=0).run()
        for people in starts
    ]
    honest, lying = ((model.links[-1].weights > 0).sum(axis=1) for model in models)
    assert honest.tolist() == [3] * 4
    assert lying.tolist() == [1, 1, 1, 3]
