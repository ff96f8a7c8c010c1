"""Layers that act on many models at once, forward and backward, written for whole blocks of owners.

Two layouts: vectors as (owners, batch, features) and images as (batch, owners * channels, height, width).  With the
second, one grouped convolution does everybody's convolution, and the layout is kept from layer to layer.  A linear
layer is one batched matrix product; its weight gradient is another, which plain gradient descent adds to the weights
directly (`passes.Descent`), without ever storing the gradient.  A layer holds no state: what the backward pass needs is
on the tape.

Shared inputs, (batch, features) or (batch, channels, height, width), are the same for all models: the first linear
layer is then one ordinary matrix product and the first convolution an ordinary convolution with all models' filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.learning.engine.blocks import Quadratic, keep
from fedabm.learning.engine.passes import Pass

__all__ = [
    "Convolution",
    "Dropout",
    "Features",
    "Flatten",
    "GroupNorm",
    "Layer",
    "Linear",
    "MaxPool",
    "MeanPool",
    "ReLU",
    "ResidualBlock",
]

aten = torch.ops.aten


class Layer(Protocol):
    """A layer of all models."""

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        """The outputs of all models."""

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        """Hand parameter gradients to the sink and return the input's (anything, if `inputs` is False)."""


@dataclass(frozen=True)
class Linear(Layer):
    """y = x W' + b; parameters `index` and, with a bias, the next."""

    index: int
    bias: bool

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        run.save(x)
        weight, bias = run.blocks[self.index], run.blocks[self.index + 1] if self.bias else None
        if x.shape[-1] != weight.shape[-1]:
            raise InputError('a linear layer acts on samples as they are; put nn.Flatten before it or use path="vmap"')
        if x.dim() == 2:
            y = torch.nn.functional.linear(x, weight.flatten(0, 1), None if bias is None else bias.flatten())
            return y.view(len(x), run.owners, -1).transpose(0, 1)
        weight = weight.transpose(1, 2)
        return x.bmm(weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        (x,) = run.tape.pop()
        below = g.bmm(run.blocks[self.index]) if inputs else g
        run.product(self.index, g.transpose(1, 2), x)
        if self.bias:
            run.add(self.index + 1, g.sum(1))
        return below


@dataclass(frozen=True)
class Convolution(Layer):
    """A grouped convolution: the owners are groups; parameters as in `Linear`."""

    index: int
    bias: bool
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    def _weights(self, run: Pass) -> tuple[Tensor, Tensor | None]:
        return run.blocks[self.index].flatten(0, 1), run.blocks[self.index + 1].flatten() if self.bias else None

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        run.save(x)
        weight, bias = self._weights(run)
        shared = run.owners > 1 and x.shape[1] == weight.shape[1] * self.groups
        if shared and self.groups > 1:  # every model's filters look at all groups in turn, so each needs its own images
            x = x.repeat(1, run.owners, 1, 1)
        groups = 1 if shared and self.groups == 1 else self.groups * run.owners
        return torch.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, groups)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        (x,) = run.tape.pop()
        weight, _ = self._weights(run)
        groups = self.groups * run.owners
        halved = inputs and _gains_by_halves(weight, groups)
        below, dw, _ = self._gradients(g, x, weight, groups, [inputs and not halved, True, False])
        if halved:
            below = self._below_halves(g, x, weight, groups)
        run.add(self.index, dw.view(run.blocks[self.index].shape))
        if self.bias:
            run.add(self.index + 1, g.sum((0, 2, 3)).view(run.blocks[self.index + 1].shape))
        return below

    def _gradients(self, g: Tensor, x: Tensor, weight: Tensor, groups: int, wanted: list[bool]) -> Any:
        geometry = (self.stride, self.padding, self.dilation, False, (0, 0), groups)
        return aten.convolution_backward(g, x, weight, None, *geometry, wanted)

    def _below_halves(self, g: Tensor, x: Tensor, weight: Tensor, groups: int) -> Tensor:
        """The gradient of the inputs, found for each half of the filters apart, as if these were groups, and added."""
        shape = (len(x), 2 * x.shape[1], *x.shape[2:])
        like = torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)  # never read
        both, _, _ = self._gradients(g, like, weight, 2 * groups, [True, False, False])
        first, second = both.permute(0, 2, 3, 1).unflatten(3, (groups, 2, -1)).unbind(4)
        return (first + second).flatten(3).permute(0, 3, 1, 2)


def _gains_by_halves(weight: Tensor, groups: int) -> bool:
    """Whether the inputs' gradient is faster that way, as measured: a quarter with 5x5 filters, 18 to 32 per group.

    With vectors of 16 numbers PyTorch's convolutions sum over blocks of 16 filters, and a second block costs more than
    its share.  With 3x3 filters, or shorter vectors, halves are slower.
    """
    filters = len(weight) // groups
    fits = weight.device.type == "cpu" and weight.dtype == torch.float32 and weight.shape[2:] == (5, 5)
    return fits and filters in range(18, 33, 2) and torch.backends.cpu.get_cpu_capability() == "AVX512"


@dataclass(frozen=True)
class GroupNorm(Layer):
    """Group normalisation of images; everybody's groups side by side."""

    index: int
    groups: int
    epsilon: float

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        sizes = (x.shape[0], x.shape[1], x.shape[2] * x.shape[3], self.groups * run.owners)
        weight, bias = run.blocks[self.index].flatten(), run.blocks[self.index + 1].flatten()
        x = _dense(x)
        y, mean, spread = aten.native_group_norm(x, weight, bias, *sizes, self.epsilon)
        run.save(x, mean, spread, sizes)
        return y

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        x, mean, spread, sizes = run.tape.pop()
        weight = run.blocks[self.index].flatten()
        wanted = [inputs, True, True]
        below, dw, db = aten.native_group_norm_backward(_like(g, x), x, mean, spread, weight, *sizes, wanted)
        run.add(self.index, dw.view(run.blocks[self.index].shape))
        run.add(self.index + 1, db.view(run.blocks[self.index + 1].shape))
        return below


def _dense(x: Tensor) -> Tensor:
    """The same numbers without gaps, channels last where they already are."""
    return x if x.is_contiguous(memory_format=torch.channels_last) else x.contiguous()


def _like(g: Tensor, x: Tensor) -> Tensor:
    """A gradient in the memory layout of what it belongs to."""
    return g.contiguous(memory_format=_format(x))


def _format(x: Tensor) -> torch.memory_format:
    """Whether the channels of images are the last in memory."""
    last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format


@dataclass(frozen=True)
class ReLU(Layer):
    """max(x, 0)."""

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        y = x.relu()
        run.save(y)
        return y

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        return aten.threshold_backward(g, run.tape.pop()[0], 0)


@dataclass(frozen=True)
class MaxPool(Layer):
    """The largest of each window."""

    geometry: tuple[Any, ...]

    @property
    def window(self) -> tuple[int, int] | None:
        """Height and width if windows stand side by side without gaps, overlap or border; else None."""
        kernel, stride, padding, dilation, ceil = self.geometry
        plain = kernel == (stride or kernel) and padding == [0, 0] and dilation == [1, 1] and not ceil
        return (kernel[0], kernel[1]) if plain else None

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        y, places = aten.max_pool2d_with_indices(x, *self.geometry)
        run.save(x.shape, _format(x), places)  # not x, whose memory the gradient takes over
        return y

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        shape, form, places = run.tape.pop()
        below = torch.empty(shape, dtype=g.dtype, device=g.device, memory_format=form)
        return aten.max_pool2d_with_indices_backward.grad_input(g, below, *self.geometry, places, grad_input=below)


@dataclass(frozen=True)
class MeanPool(Layer):
    """The mean over the whole image, as an image of one pixel."""

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        run.save(x.shape)
        return x.mean((2, 3), keepdim=True)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        (shape,) = run.tape.pop()
        return (g / (shape[2] * shape[3])).expand(shape)


@dataclass(frozen=True)
class Flatten(Layer):
    """Images become vectors; vectors stay."""

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        run.save(x.shape, _format(x))
        if x.dim() != 4:
            return x
        return x.reshape(len(x), run.owners, -1).transpose(0, 1)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        shape, form = run.tape.pop()
        if len(shape) != 4:
            return g
        if form != torch.channels_last:
            return g.transpose(0, 1).reshape(shape)
        pixels = g.unflatten(2, (-1, *shape[2:])).permute(1, 3, 4, 0, 2).flatten(3)
        return pixels.permute(0, 3, 1, 2)


@dataclass(frozen=True)
class Dropout(Layer):
    """Seeded dropout; the mask of a sample does not depend on who else is in the batch."""

    rate: float
    number: int

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        batch = len(x) if x.dim() == 4 else x.shape[1]
        keys = run.sample_keys(batch, self.number)
        mask = None if keys is None else self._mask(keys, x, run.owners)
        run.save(mask)
        return x if mask is None else x * mask

    def _mask(self, keys: Tensor, x: Tensor, owners: int) -> Tensor:
        if x.dim() == 4:
            each = torch.Size((x.shape[1] // owners, *x.shape[2:]))
            return keep(keys.T, each, self.rate).flatten(1, 2)
        return keep(keys, x.shape[2:], self.rate)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        (mask,) = run.tape.pop()
        return g if mask is None else g * mask


@dataclass(frozen=True)
class Features(Layer):
    """Products of the inputs; stands before any parameter, so nothing flows back through it."""

    module: Quadratic

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        return self.module(x)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        return g


@dataclass(frozen=True)
class ResidualBlock(Layer):
    """relu(body(x) + shortcut(x))."""

    body: tuple[Layer, ...]
    shortcut: tuple[Layer, ...]

    def forward(self, run: Pass, x: Tensor) -> Tensor:
        y, short = x, x
        for layer in self.body:
            y = layer.forward(run, y)
        for layer in self.shortcut:
            short = layer.forward(run, short)
        return ReLU().forward(run, y + short)

    def backward(self, run: Pass, g: Tensor, inputs: bool) -> Tensor:
        g = ReLU().backward(run, g, inputs=True)
        short = below = g
        for layer in reversed(self.shortcut):
            short = layer.backward(run, short, inputs=True)
        for layer in reversed(self.body):
            below = layer.backward(run, below, inputs=True)
        return below + short
