"""Networks of one's own: dropout, batch normalisation and free parameters."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from fedabm.learning import Engine, adapt
from fedabm.learning.engine.blocks import SeededDropout
from tests.learning.plain import random_data

DATA = random_data((6,))


def usual() -> nn.Sequential:
    """As written for training alone."""
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))


def trained(network: nn.Module, path: str = "auto") -> Tensor:
    engine = Engine(network, DATA, device="cpu", path=path)
    return engine.train(engine.initial(0), DATA.capacities, epochs=2, seed=3)


def test_what_was_written_for_training_alone_is_adapted_by_a_call():
    before = usual()
    network = adapt(before)
    assert [type(part) for part in network] == [nn.Linear, nn.GroupNorm, nn.ReLU, SeededDropout, nn.Linear]
    assert network[1].num_groups == 2
    assert [name for name, _ in network.named_parameters()] == [name for name, _ in before.named_parameters()]
    assert isinstance(before[1], nn.BatchNorm1d)
    models = trained(network)
    torch.testing.assert_close(trained(network, "serial"), models)
    engine = Engine(network, DATA, device="cpu")
    alone = engine.train(engine.initial(0), DATA.capacities[1:2], epochs=2, seed=3, owners=[1])
    torch.testing.assert_close(alone[0], models[1])  # whoever else is trained beside it


def test_modules_within_modules_are_adapted():
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = usual()

        def forward(self, x: Tensor) -> Tensor:
            return self.body(x)

    network = adapt(Block())
    torch.testing.assert_close(trained(network), trained(adapt(usual())))  # one by hand, one by the module itself


@pytest.mark.parametrize("path", ["batched", "vmap", "serial"])
def test_dropout_in_evaluation_mode_drops_nothing(path):
    plain = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    with_dropout = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)).eval()
    torch.testing.assert_close(trained(with_dropout, path), trained(plain, path))


class Scaled(nn.Module):
    """A linear layer, and a free parameter that begins at 2."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((6,), 2.0))
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x * self.scale)


def test_a_free_parameter_begins_as_it_is_in_the_network_and_is_trained():
    engine = Engine(Scaled(), DATA, device="cpu")
    first, second = engine.initial(0), engine.initial(1)
    assert first[:6].tolist() == second[:6].tolist() == [2.0] * 6
    assert not torch.equal(first[6:], second[6:])
    models = trained(Scaled())
    assert (models[:, :6] != 2.0).all()
    torch.testing.assert_close(trained(Scaled(), "serial"), models)
    other = copy.deepcopy(Scaled())
    other.scale.data += 1.0
    assert Engine(other, DATA, device="cpu").content != engine.content  # what was trained before is not theirs
