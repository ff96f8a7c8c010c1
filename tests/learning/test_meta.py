"""A round without values: nothing is pulled to the host and no tensor is made on a device of its own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Adam
from fedabm.learning.engine.training import Proximal
from fedabm.learning.rules.aggregate import aggregate
from tests.learning.plain import random_data


def flip(updates: Tensor, attackers: list[int]) -> Tensor:
    """Sign-flipped updates of some owners."""
    rows = torch.tensor(attackers, device=updates.device)
    return updates.index_copy(0, rows, -updates.index_select(0, rows))


@pytest.mark.parametrize("path", ["batched", "vmap", "serial"])
@pytest.mark.parametrize("optimiser", [SGD(0.1), SGD(0.1, 0.9, 1e-4), Adam()])
@pytest.mark.parametrize("name", ["mlp", "small_cnn"])
def test_a_round_passes_without_values(name: str, optimiser: SGD | Adam, path: str) -> None:
    data = random_data((1, 28, 28), sizes=(7, 3, 9), bytes_=True)
    engine = Engine(name, data, device="meta", path=path)
    start = engine.initial(0)
    proximal = Proximal(0.1, start)
    models = engine.train(start, [7, 2, 0], epochs=2, batch=3, optimiser=optimiser, proximal=proximal)
    updates = flip(models - start, [1])
    mixed = aggregate(torch.ones(3, 3, device="meta") / 3, updates)
    for tensor, shape in ((models, (3, engine.size)), (mixed, (3, engine.size))):
        assert tensor.device.type == "meta"
        assert tuple(tensor.shape) == shape
    assert engine.evaluate(start).accuracy.shape == (1, 3)


@pytest.mark.parametrize("name", ["femnist_net", "resnet20"])
def test_dropout_and_residual_blocks_pass_too(name: str) -> None:
    engine = Engine(name, random_data((1, 14, 14)), device="meta")
    assert engine.train(engine.initial(0), [7, 5, 9], epochs=1).device.type == "meta"
