"""The papers' networks by name, with their parameter counts.

Normalisation under averaging: batch normalisation keeps running statistics, which are no parameters and whose average
over owners describes nobody's data.  All networks here therefore use group normalisation (Wu & He 2018), which has the
same number of parameters, no state, and treats every sample alone, so that the average of models is itself a model.

References: cifar_cnn, femnist_cnn, sentiment_lstm: Doshi 2025, Tables 1-3 (there with a 10-class head for FEMNIST);
mnist_cnn, resmlp, quadratic: Murhekar 2025, Section 5; simple_cnn, femnist_net, char_lstm, resnet20: iPFL 2025.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from fedabm.common.errors import FedabmError, InputError, check_kind, nearest
from fedabm.learning.engine.blocks import LastState, Quadratic, Residual, SeededDropout, convolution

__all__ = ["NETWORKS", "build", "check_fit", "count", "try_out"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Task:
    """What a network is built for: sample shape, number of outputs, number of tokens (0 where there are none)."""

    shape: Shape
    outputs: int
    tokens: int

    @property
    def features(self) -> int:
        return int(torch.Size(self.shape).numel())

    @property
    def channels(self) -> int:
        return self.shape[0]


def _logistic(task: _Task) -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(task.features, task.outputs))


def _mlp(hidden: int) -> Callable[[_Task], nn.Sequential]:
    def made(task: _Task) -> nn.Sequential:
        head = nn.Linear(hidden, task.outputs)
        return nn.Sequential(nn.Flatten(), nn.Linear(task.features, hidden), nn.ReLU(), head)

    return made


def _lenet(channels: tuple[int, int], hidden: tuple[int, ...]) -> Callable[[_Task], nn.Sequential]:
    """Two 5x5 convolutions, each with a pool of 2, then linear layers."""

    def made(task: _Task) -> nn.Sequential:
        first, second = channels
        body = [nn.Conv2d(task.channels, first, 5), nn.ReLU(), nn.MaxPool2d(2)]
        body += [nn.Conv2d(first, second, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        side = [((s - 4) // 2 - 4) // 2 for s in task.shape[1:]]
        return nn.Sequential(*body, *_head((second * side[0] * side[1], *hidden, task.outputs)))

    return made


def _head(sizes: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers[:-1]


def _cifar_cnn(task: _Task) -> nn.Sequential:
    """1,250,858 parameters for CIFAR-10; Doshi 2025, Table 2."""
    body: list[nn.Module] = []
    for inputs, outputs in ((task.channels, 32), (32, 64)):
        body += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3), nn.ReLU()]
        body += [nn.MaxPool2d(2)]
    side = [((s - 2) // 2 - 2) // 2 for s in task.shape[1:]]
    return nn.Sequential(*body, nn.Flatten(), *_head((64 * side[0] * side[1], 512, task.outputs)))


def _femnist_cnn(task: _Task) -> nn.Sequential:
    """6,603,710 parameters with 62 classes; Doshi 2025, Table 1."""
    body: list[nn.Module] = []
    for inputs, outputs in ((task.channels, 32), (32, 64)):
        body += [nn.Conv2d(inputs, outputs, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    side = [s // 4 for s in task.shape[1:]]
    return nn.Sequential(*body, nn.Flatten(), *_head((64 * side[0] * side[1], 2048, task.outputs)))


def _femnist_net(task: _Task) -> nn.Sequential:
    """1,206,590 parameters with 62 classes; iPFL 2025."""
    side = [(s - 4) // 2 for s in task.shape[1:]]
    body = [nn.Conv2d(task.channels, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.Linear(64 * side[0] * side[1], 128), nn.ReLU(), SeededDropout(0.5), nn.Linear(128, task.outputs)]
    return nn.Sequential(*body, SeededDropout(0.25), nn.Flatten(), *head)


def _vgg11(task: _Task) -> nn.Sequential:
    """Configuration A of Simonyan & Zisserman 2015, which has no normalisation, with one linear layer on top."""
    body: list[nn.Module] = []
    inputs = task.channels
    for outputs, pooled in ((64, 1), (128, 1), (256, 0), (256, 1), (512, 0), (512, 1), (512, 0), (512, 1)):
        body += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), *([nn.MaxPool2d(2)] * pooled)]
        inputs = outputs
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, task.outputs))


def _resnet(widths: tuple[int, ...], blocks: int) -> Callable[[_Task], nn.Sequential]:
    """He et al. 2016 for small images: a 3x3 stem and stages of residual blocks, the side halved each time."""

    def made(task: _Task) -> nn.Sequential:
        body: list[nn.Module] = [*convolution(task.channels, widths[0]), nn.ReLU()]
        inputs = widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks):
                body.append(Residual.convolutional(inputs, width, stride=2 if stage and not block else 1))
                inputs = width
        return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, task.outputs))

    return made


def _resmlp(task: _Task) -> nn.Sequential:
    """Two residual blocks of 64 for tables, in the spirit of Touvron et al. 2022."""
    body = [Residual.dense(64) for _ in range(2)]
    return nn.Sequential(nn.Flatten(), nn.Linear(task.features, 64), nn.ReLU(), *body, nn.Linear(64, task.outputs))


def _quadratic(task: _Task) -> nn.Sequential:
    """Linear in the variables and all their products."""
    quadratic = Quadratic(task.features)
    return nn.Sequential(nn.Flatten(), quadratic, nn.Linear(quadratic.outputs, task.outputs))


def _token_mlp(task: _Task) -> nn.Sequential:
    """Embedding 8 and one hidden layer of 64 on all tokens at once, after Bengio et al. 2003."""
    body = [nn.Embedding(task.tokens, 8), nn.Flatten(), nn.Linear(8 * task.features, 64), nn.ReLU()]
    return nn.Sequential(*body, nn.Linear(64, task.outputs))


def _char_lstm(task: _Task) -> nn.Sequential:
    """Embedding 8 and two LSTM layers of 256; the state after the last character predicts the next one."""
    lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
    return nn.Sequential(nn.Embedding(task.tokens, 8), LastState(lstm), nn.Linear(256, task.outputs))


def _sentiment_lstm(task: _Task) -> nn.Sequential:
    """120,255,086 parameters with 400,001 words and 2 classes; Doshi 2025, Table 3 (two LSTM layers)."""
    lstm = nn.LSTM(300, 100, num_layers=2, batch_first=True)
    return nn.Sequential(nn.Embedding(task.tokens, 300), LastState(lstm), *_head((100, 128, task.outputs)))


#: every network by name, and how many dimensions a sample must have (0: any)
NETWORKS: dict[str, tuple[Callable[[_Task], nn.Sequential], int]] = {
    "logistic": (_logistic, 0),
    "mlp": (_mlp(64), 0),
    "tiny_mlp": (_mlp(32), 0),
    "resmlp": (_resmlp, 0),
    "quadratic": (_quadratic, 0),
    "small_cnn": (_lenet((10, 20), (50,)), 3),
    "simple_cnn": (_lenet((6, 16), (120, 84)), 3),
    "mnist_cnn": (_lenet((20, 50), (500,)), 3),
    "cifar_cnn": (_cifar_cnn, 3),
    "femnist_cnn": (_femnist_cnn, 3),
    "femnist_net": (_femnist_net, 3),
    "vgg11": (_vgg11, 3),
    "resnet18": (_resnet((64, 128, 256, 512), 2), 3),
    "resnet20": (_resnet((16, 32, 64), 3), 3),
    "token_mlp": (_token_mlp, 1),
    "char_lstm": (_char_lstm, 1),
    "sentiment_lstm": (_sentiment_lstm, 1),
}


def build(
    name: str, shape: Shape, classes: int | None, tokens: int | None = None, device: str = "cpu"
) -> nn.Sequential:
    """The named network for samples of `shape`; `classes` None means one real target.

    >>> count(build("mlp", (1, 28, 28), 10))
    50890
    """
    if name not in NETWORKS:
        raise InputError(f"unknown network {name!r}; {nearest(name, NETWORKS)}")
    maker, dimensions = NETWORKS[name]
    if dimensions and len(shape) != dimensions:
        wanted = {1: "sequences (length,)", 3: "images (channels, height, width)"}[dimensions]
        raise InputError(f"network {name} needs {wanted}, got samples of shape {shape}; choose another network")
    if dimensions == 1 and not tokens:
        raise InputError(f"network {name} needs the number of tokens, got {tokens}; choose another network")
    try:
        with torch.device(device):
            return maker(_Task(shape, classes or 1, tokens or 0))
    except (RuntimeError, ValueError):
        raise InputError(f"network {name} does not fit samples of shape {shape}; choose a smaller network") from None


def count(network: nn.Module) -> int:
    """How many parameters a network has."""
    return sum(parameter.numel() for parameter in network.parameters())


def check_fit(
    network: nn.Module, shape: Shape, classes: int | None, dtype: torch.dtype, answers: tuple[int, ...] = ()
) -> None:
    """Raise unless the network, on whatever device it is, maps samples of this shape to one output per class.

    Where an answer is several labels, `answers` says how many.
    """
    check_kind("network", network, nn.Module)
    _check_modules(network)
    wanted = classes or 1
    try:
        out = try_out(network, shape, dtype, 2)
    except FedabmError:
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the network does not fit samples of shape {shape}: {reason}; choose another") from None
    if tuple(out.shape) != (2, *answers, wanted):
        raise InputError(f"the network gives {tuple(out.shape[1:])} outputs but the data has {wanted}; rebuild it")


def _check_modules(network: nn.Module) -> None:
    """Raise unless a row of parameters, wholly trained, is all that there is to a model."""
    if any(True for _ in network.buffers()) or any(isinstance(part, _BatchNorm) for part in network.modules()):
        raise InputError(
            "the network takes or keeps statistics of batches, which cannot be averaged; "
            "fedabm.learning.adapt(network) puts group normalisation in their place"
        )
    if not count(network) or not all(parameter.requires_grad for parameter in network.parameters()):
        raise InputError("the network has no parameters, or frozen ones; all are trained, so unfreeze or remove them")


@torch.no_grad()
def try_out(network: nn.Module, shape: Shape, dtype: torch.dtype, samples: int = 1) -> Tensor:
    """The network's outputs for samples of zeros; it may draw no random number, whose stream would be everybody's."""
    device = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    with torch.random.fork_rng(devices=[]):
        before = torch.random.get_rng_state()
        outputs = network(torch.zeros(samples, *shape, dtype=dtype, device=device))
        if not torch.equal(torch.random.get_rng_state(), before):
            raise InputError(
                "the network draws random numbers, also when it is judged; fedabm.learning.adapt(network) gives it "
                "dropout that draws from the owner's own stream, network.eval() none"
            )
    return outputs
