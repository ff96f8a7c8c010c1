"""Convolutions of many models: the order of their filters in memory, and gradients found by halves."""

from __future__ import annotations

import pytest
import torch

from fedabm.learning.engine import layers
from fedabm.learning.engine.batched import compile_network
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.flat import Layout
from fedabm.learning.engine.networks import build
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.engine.passes import Collect, Pass
from fedabm.learning.engine.training import Proximal
from tests.learning.plain import plain_round, random_data

OWNERS = 3
GEOMETRIES = {
    "plain": ((1, 1), (0, 0), (1, 1), 1),
    "padded": ((1, 1), (2, 2), (1, 1), 1),
    "strided": ((2, 1), (1, 0), (1, 1), 1),
    "dilated": ((1, 1), (0, 4), (2, 1), 1),
    "in groups": ((1, 1), (0, 0), (1, 1), 2),
}


@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("filters", [18, 20, 32])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_gradients_are_those_of_each_model_alone(geometry, filters, halved, monkeypatch):
    """By halves of the filters or not; also where this processor would not gain by it."""
    monkeypatch.setattr(layers, "_gains_by_halves", lambda weight, groups: halved)
    stride, padding, dilation, groups = GEOMETRIES[geometry]
    chance = torch.Generator().manual_seed(1)
    x = torch.randn(4, OWNERS, 2 * groups, 12, 11, generator=chance)
    weight = torch.randn(OWNERS, filters * groups, 2, 5, 5, generator=chance)
    bias = torch.randn(OWNERS, filters * groups, generator=chance)
    layer = layers.Convolution(0, True, stride, padding, dilation, groups)
    run = Pass(OWNERS, [weight, bias], Collect([weight, bias]))
    y = layer.forward(run, x.flatten(1, 2).contiguous(memory_format=torch.channels_last))
    g = torch.randn(y.shape, generator=chance).contiguous(memory_format=torch.channels_last)
    below = layer.backward(run, g, inputs=True)
    assert below.is_contiguous(memory_format=torch.channels_last)
    for owner in range(OWNERS):
        mine = [part.clone().requires_grad_() for part in (x[:, owner], weight[owner], bias[owner])]
        alone = torch.conv2d(*mine, stride, padding, dilation, groups)
        alone.backward(g.unflatten(1, (OWNERS, -1))[:, owner])
        found = (below.unflatten(1, (OWNERS, -1))[:, owner], *(part[owner] for part in run.sink.gradients))
        for ours, theirs in zip(found, mine, strict=True):
            torch.testing.assert_close(ours, theirs.grad, rtol=1e-4, atol=1e-3)


def test_halves_are_taken_where_they_were_measured_to_be_faster(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")

    def taken(filters: int, side: int, dtype: torch.dtype = torch.float32) -> bool:
        return layers._gains_by_halves(torch.zeros(OWNERS * filters, 1, side, side, dtype=dtype), OWNERS)

    assert [filters for filters in range(1, 70) if taken(filters, 5)] == [18, 20, 22, 24, 26, 28, 30, 32]
    assert not taken(20, 3)
    assert not taken(20, 5, torch.bfloat16)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert not taken(20, 5)


def test_filters_stand_in_memory_as_convolutions_read_them():
    network = build("small_cnn", (3, 28, 28), 10)
    layout = Layout.of(network)
    rows = torch.randn(OWNERS, layout.size, generator=torch.Generator().manual_seed(0))
    blocks = compile_network(network).settle(layout.gather(rows))
    for block in blocks:
        if block.dim() == 5:
            assert block.flatten(0, 1).is_contiguous(memory_format=torch.channels_last)
            assert block.flatten(0, 1).data_ptr() == block.data_ptr()
    back = torch.empty_like(rows)
    layout.scatter(blocks, back, torch.arange(OWNERS))
    assert torch.equal(back, rows)


@pytest.mark.parametrize("how", [{}, {"proximal": 0.7}, {"drift": True}, {"momentum": 0.9}])
def test_whatever_else_changes_filters_meets_them_in_that_order(how):
    data = random_data((3, 28, 28), sizes=(9, 4, 6), tests=(1, 1, 1))
    engine = Engine("small_cnn", data, device="cpu")
    start, momentum = engine.initial(3), how.get("momentum", 0.0)
    more = {"batch": 4, "epochs": 2}
    if "drift" in how:
        more["drift"] = 0.1 * torch.randn(3, engine.size, generator=torch.Generator().manual_seed(0))
    prox = Proximal(how["proximal"], start) if "proximal" in how else None
    ours = engine.train(start, [8, 4, 5], optimiser=SGD(0.05, momentum), proximal=prox, **more)
    more |= {"proximal": how["proximal"]} if "proximal" in how else {}
    plain = plain_round(
        "small_cnn", data, start, [8, 4, 5], lambda p: torch.optim.SGD(p, lr=0.05, momentum=momentum), **more
    )
    torch.testing.assert_close(ours, plain, rtol=0.0, atol=3e-5)
