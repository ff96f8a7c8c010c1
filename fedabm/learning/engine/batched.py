"""Training many owners at once with hand-written layers: a network of known layers, compiled to batched ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from fedabm.learning.engine import layers as batched
from fedabm.learning.engine.blocks import Quadratic, Residual, SeededDropout
from fedabm.learning.engine.passes import Collect, Descent, Pass, Sink

__all__ = ["Network", "compile_network", "error_signal"]


@dataclass(frozen=True)
class Network:
    """Batched layers; `images` says that the first layer with parameters is a convolution."""

    layers: tuple[batched.Layer, ...]
    images: bool

    @property
    def first(self) -> int:
        """The first layer with parameters."""
        return next(place for place, layer in enumerate(self.layers) if hasattr(layer, "index"))

    def arrange(self, x: Tensor, owners: int) -> Tensor:
        """Samples (owners * batch, ...), owner by owner, in the layout of the first layer."""
        x = x.unflatten(0, (owners, -1))
        if not self.images:
            return x.flatten(2)
        return self._in_memory(x.transpose(0, 1).flatten(1, 2))

    def share(self, x: Tensor) -> Tensor:
        """Samples (batch, ...) that all models see."""
        if not self.images:
            return x.flatten(1)
        return self._in_memory(x)

    def settle(self, blocks: list[Tensor]) -> list[Tensor]:
        """The blocks in the order of memory that convolutions would else copy filters to in every step."""
        return [_channels_last(block) if block.dim() == 5 and block.device.type == "cpu" else block for block in blocks]

    def _in_memory(self, images: Tensor) -> Tensor:
        """On a CPU convolutions and pools are about twice as fast with the channels last in memory."""
        return images.contiguous(memory_format=torch.channels_last) if images.device.type == "cpu" else images

    def outputs(self, blocks: Sequence[Tensor], x: Tensor, first: int = 0) -> Tensor:
        """The models' outputs (models, batch, outputs) for arranged or shared samples, from layer `first` on."""
        run = Pass(len(blocks[0]), blocks)
        for layer in self.layers[first:]:
            x = layer.forward(run, x)
        return x

    def gradients(self, blocks: Sequence[Tensor], x: Tensor, y: Tensor, weights: Tensor, keys: Tensor | None) -> list:
        """The gradient of every block of the weighted loss of each owner."""
        sink = Collect(list(blocks))
        self._learn(Pass(len(blocks[0]), blocks, sink, keys), x, y, weights)
        return sink.gradients

    def descend(
        self, blocks: Sequence[Tensor], x: Tensor, y: Tensor, weights: Tensor, keys: Tensor | None, rate: float
    ) -> None:
        """One step of plain gradient descent, each layer updated as soon as its gradient is known."""
        sink: Sink = Descent(blocks, rate)
        self._learn(Pass(len(blocks[0]), blocks, sink, keys), x, y, weights)

    def _learn(self, run: Pass, x: Tensor, y: Tensor, weights: Tensor) -> None:
        x = self.arrange(x, run.owners)
        for layer in self.layers:
            x = layer.forward(run, x)
        signal = error_signal(x.float(), y, weights).to(x.dtype)
        first = self.first
        for place in range(len(self.layers) - 1, first - 1, -1):
            signal = self.layers[place].backward(run, signal, inputs=place > first)


def _channels_last(filters: Tensor) -> Tensor:
    """Everybody's filters (owners, filters, channels, height, width), the channels last in memory."""
    return filters.movedim(2, -1).contiguous().movedim(-1, 2)


def error_signal(outputs: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """The derivative of sum_b weight_b loss_b in the outputs (owners, batch, k), for y and weights (owners, batch).

    The loss is the cross-entropy for whole-number labels and the squared error for real targets.
    """
    if y.is_floating_point():
        return 2.0 * (outputs - y.unsqueeze(-1)) * weights.unsqueeze(-1)
    signal = outputs.softmax(-1)
    signal.scatter_add_(-1, y.unsqueeze(-1), signal.new_full((), -1.0).expand(*y.shape, 1))
    return signal.mul_(weights.unsqueeze(-1))


def compile_network(network: nn.Module) -> Network | None:
    """The network as batched layers, or None if it has a module that is not known here, or the same one twice."""
    if not isinstance(network, nn.Sequential):
        return None
    counters = {"parameters": 0, "dropouts": 0, "images": 0}
    layers = _sequence(network, counters)
    firsts = [layer for layer in layers or () if hasattr(layer, "index")]
    if layers is None or not firsts or counters["parameters"] != len(list(network.parameters())):
        return None
    return Network(layers, isinstance(firsts[0], batched.Convolution))


def _sequence(modules: nn.Sequential, counters: dict[str, int]) -> tuple[batched.Layer, ...] | None:
    layers = []
    for module in modules:
        if isinstance(module, nn.Identity) or (isinstance(module, _DropoutNd) and not module.training):
            continue
        maker = _MAKERS.get(type(module))
        layer = None if maker is None else maker(module, counters)
        if layer is None:
            return None
        layers.append(layer)
    return _pooled_first(layers)


def _pooled_first(layers: list[batched.Layer]) -> tuple[batched.Layer, ...]:
    """The largest of rectified numbers is the rectified largest: rectify after pooling, where fewer are left."""
    for place in range(len(layers) - 1):
        if isinstance(layers[place], batched.ReLU) and isinstance(layers[place + 1], batched.MaxPool):
            layers[place], layers[place + 1] = layers[place + 1], layers[place]
    return tuple(layers)


def _next(counters: dict[str, int], what: str, number: int) -> int:
    counters[what] += number
    return counters[what] - number


def _linear(module: nn.Linear, counters: dict[str, int]) -> batched.Layer:
    bias = module.bias is not None
    return batched.Linear(_next(counters, "parameters", 1 + bias), bias)


def _convolution(module: nn.Conv2d, counters: dict[str, int]) -> batched.Layer | None:
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        return None
    bias = module.bias is not None
    counters["images"] = 1
    geometry = (tuple(module.stride), tuple(module.padding), tuple(module.dilation), module.groups)
    return batched.Convolution(_next(counters, "parameters", 1 + bias), bias, *geometry)


def _group_norm(module: nn.GroupNorm, counters: dict[str, int]) -> batched.Layer | None:
    if not module.affine or not counters["images"]:  # of rows of numbers it is not written by hand
        return None
    return batched.GroupNorm(_next(counters, "parameters", 2), module.num_groups, module.eps)


def _max_pool(module: nn.MaxPool2d, counters: dict[str, int]) -> batched.Layer | None:
    sides = (module.kernel_size, module.stride, module.padding, module.dilation)
    pairs = tuple([side, side] if isinstance(side, int) else list(side) for side in sides)
    return batched.MaxPool((*pairs, module.ceil_mode))


def _mean(module: nn.AdaptiveAvgPool2d, counters: dict[str, int]) -> batched.Layer | None:
    return batched.MeanPool() if module.output_size in (1, (1, 1)) else None


def _residual(module: Residual, counters: dict[str, int]) -> batched.Layer | None:
    body = _sequence(module.body, counters)
    shortcut = _sequence(module.shortcut, counters)
    return None if body is None or shortcut is None else batched.ResidualBlock(body, shortcut)


def _flatten(module: nn.Flatten, counters: dict[str, int]) -> batched.Layer | None:
    counters["images"] = 0
    return batched.Flatten() if (module.start_dim, module.end_dim) == (1, -1) else None


_MAKERS: dict[type, Callable[..., batched.Layer | None]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.GroupNorm: _group_norm,
    nn.MaxPool2d: _max_pool,
    nn.AdaptiveAvgPool2d: _mean,
    nn.Flatten: _flatten,
    nn.ReLU: lambda module, counters: batched.ReLU(),
    SeededDropout: lambda module, counters: batched.Dropout(module.rate, _next(counters, "dropouts", 1)),
    Quadratic: lambda module, counters: batched.Features(module),
    Residual: _residual,
}
