"""The papers' networks: parameter counts, shapes, no state, and what does not fit."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

from fedabm.common.errors import InputError
from fedabm.learning.engine.blocks import LastState, keep
from fedabm.learning.engine.networks import NETWORKS, build, check_fit, count
from fedabm.learning.engine.sizing import measure

IMAGE, COLOUR = (1, 28, 28), (3, 32, 32)
COUNTS = [
    ("cifar_cnn", COLOUR, 10, None, 1_250_858),
    ("femnist_cnn", IMAGE, 62, None, 6_603_710),
    ("femnist_cnn", IMAGE, 10, None, 6_497_162),
    ("mnist_cnn", IMAGE, 10, None, 431_080),
    ("small_cnn", IMAGE, 10, None, 21_840),
    ("simple_cnn", COLOUR, 10, None, 62_006),
    ("simple_cnn", IMAGE, 10, None, 44_426),
    ("femnist_net", IMAGE, 62, None, 1_206_590),
    ("mlp", IMAGE, 10, None, 784 * 64 + 64 + 64 * 10 + 10),
    ("tiny_mlp", (20,), 2, None, 20 * 32 + 32 + 32 * 2 + 2),
    ("logistic", IMAGE, 10, None, 7_850),
    ("vgg11", COLOUR, 10, None, 9_225_610),
    ("resnet18", COLOUR, 10, None, 11_173_962),
    ("resnet20", COLOUR, 10, None, 272_474),
    ("resnet20", (3, 64, 64), 7, None, 272_474 - 3 * 65),
    ("token_mlp", (80,), 80, 80, 80 * 8 + 641 * 64 + 65 * 80),
    ("char_lstm", (80,), 80, 80, 819_920),
    ("sentiment_lstm", (25,), 2, 400_001, 120_255_086),
    ("resmlp", (16,), 2, None, 17 * 64 + 4 * 65 * 64 + 65 * 2),
    ("quadratic", (10,), 2, None, (10 + 55 + 1) * 2),
]


@pytest.mark.parametrize(("name", "shape", "classes", "tokens", "parameters"), COUNTS)
def test_parameter_counts(name: str, shape: tuple, classes: int, tokens: int | None, parameters: int) -> None:
    network = build(name, shape, classes, tokens, device="meta")
    assert count(network) == parameters
    assert not list(network.buffers())
    check_fit(network, shape, classes, torch.int32 if tokens else torch.float32)


def test_every_network_is_counted() -> None:
    assert {name for name, *_ in COUNTS} == set(NETWORKS)


def test_work_of_the_cifar_network_is_the_papers() -> None:
    work = measure(build("cifar_cnn", COLOUR, 10, device="meta"), COLOUR, torch.float32)
    assert work.multiplications == pytest.approx(20.83e6, rel=0.02)


def test_quadratic_is_linear_in_products() -> None:
    features = build("quadratic", (2,), 2)[1](torch.tensor([[2.0, 3.0]]))
    assert features.tolist() == [[2, 3, 4, 6, 9]]


@pytest.mark.parametrize(
    ("name", "shape", "tokens", "message"),
    [
        ("cifar_cn", COLOUR, None, "did you mean 'cifar_cnn'"),
        ("cifar_cnn", (784,), None, "needs images"),
        ("char_lstm", IMAGE, 80, "needs sequences"),
        ("char_lstm", (80,), None, "number of tokens"),
        ("mnist_cnn", (1, 8, 8), None, "does not fit"),
    ],
)
def test_what_does_not_fit_is_told(name: str, shape: tuple, tokens: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_fit(build(name, shape, 10, tokens), shape, 10, torch.float32)


def test_running_statistics_and_wrong_heads_are_refused() -> None:
    with pytest.raises(InputError, match="group normalisation"):
        check_fit(nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)), (3,), 2, torch.float32)
    with pytest.raises(InputError, match="outputs but the data has 4"):
        check_fit(nn.Linear(3, 2), (3,), 4, torch.float32)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5, track_running_stats=False), nn.Linear(5, 3)), "statistics"),
        (nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 3).requires_grad_(False)), "frozen"),
        (nn.Flatten(), "no parameters"),
        (
            nn.Sequential(nn.Linear(6, 5), nn.Dropout(0.5), nn.Linear(5, 3)),
            "^the network draws .*; fedabm.learning.adapt",
        ),
        ("mlp", "network must be a Module, got 'mlp'"),
    ],
)
def test_what_is_more_than_a_row_of_parameters_is_refused(network: nn.Module, message: str) -> None:
    """Judged together or twice, such models would give other numbers; drawn afresh, they would hold anything."""
    with pytest.raises(InputError, match=message):
        check_fit(network, (6,), 3, torch.float32)


def test_dropout_inside_a_recurrent_network_is_refused_too() -> None:
    reader = LastState(nn.LSTM(4, 5, num_layers=2, batch_first=True, dropout=0.5))
    network = nn.Sequential(nn.Embedding(7, 4), reader, nn.Linear(5, 3))
    with pytest.raises(InputError, match="draws random numbers"):
        check_fit(network, (6,), 3, torch.int32)
    check_fit(network.eval(), (6,), 3, torch.int32)


def test_trying_out_leaves_the_network_and_the_random_numbers_alone() -> None:
    network = nn.Sequential(nn.Linear(6, 3), nn.Dropout(0.5))
    before = torch.random.get_rng_state()
    with pytest.raises(InputError, match="draws random numbers"):
        measure(network, (6,), torch.float32)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert network.training
    assert not any(module._forward_hooks for module in network.modules())


def test_making_an_engine_does_not_import_the_compiler() -> None:
    """It takes seconds to import and is not needed."""
    code = (
        "import sys, numpy as np\n"
        "from fedabm.learning.engine.engine import Engine\n"
        "from tests.learning.plain import random_data\n"
        "engine = Engine('small_cnn', random_data((1, 28, 28)), device='cpu')\n"
        "engine.evaluate(engine.train(engine.initial(0), [1, 1, 1], epochs=1))\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dropout_keeps_the_mean_and_depends_on_the_key_only() -> None:
    keys = torch.arange(2000)
    mask = keep(keys, torch.Size((30,)), 0.25)
    assert mask.mean().item() == pytest.approx(1.0, abs=0.01)
    assert (mask.mean(0) - 1).abs().max().item() < 0.07
    torch.testing.assert_close(keep(keys[[7, 3]], torch.Size((30,)), 0.25), mask[[7, 3]])
