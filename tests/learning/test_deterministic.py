"""Deterministic algorithms are used if asked for, and change no bit on a CPU."""

import os

import pytest
import torch

from fedabm.common.device import deterministic, repeatable
from fedabm.learning.engine.engine import Engine
from tests.learning.plain import random_data


@pytest.fixture
def as_before():
    """Leave PyTorch as it was."""
    yield
    torch.use_deterministic_algorithms(False)


def trained(name, shape):
    engine = Engine(name, random_data(shape), device="cpu")
    return engine.train(engine.initial(0), [7, 5, 9], epochs=2, batch=5)


@pytest.mark.parametrize(("name", "shape"), [("tiny_mlp", (20,)), ("small_cnn", (1, 28, 28))])
def test_bits_on_a_cpu_are_the_same_with_deterministic_algorithms(name, shape, as_before):
    usual = trained(name, shape)
    assert not torch.are_deterministic_algorithms_enabled()
    with repeatable(active=True):
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        same = trained(name, shape)
        assert torch.are_deterministic_algorithms_enabled()
    assert torch.equal(usual, same)


def test_nothing_is_left_behind():
    with repeatable(active=True):
        assert deterministic()
        with repeatable(active=False):
            assert deterministic()
    assert not deterministic()
