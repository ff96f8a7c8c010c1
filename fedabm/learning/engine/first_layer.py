"""The first layer of averaged models, found once for everybody and then mixed.

The first layer is linear, so what it gives for an averaged model is the average of what it gives for the members:

    (sum_i p_i W_i) x + sum_i p_i b_i = sum_i p_i (W_i x + b_i).

If a pool follows, the largest of each window is taken while mixing: the members' outputs are kept place by place of the
window, so that the mixtures of one place after the other are compared and never all stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fedabm.learning.engine.batched import Network
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.layers import Convolution, Linear, MaxPool
from fedabm.learning.engine.passes import Pass

__all__ = ["FirstLayer", "Members"]


class Members(NamedTuple):
    """Everybody's outputs (places of the window, members, numbers); `shape` is that of one member's numbers.

    The shape is (batch, features), or (batch, height, width, channels) behind the pool.
    """

    numbers: Tensor
    shape: torch.Size


@dataclass(frozen=True)
class FirstLayer:
    """The layers up to `place`, the first with parameters, and a pool behind it with windows of `window`, if any."""

    network: Network
    place: int
    parameters: int
    window: tuple[int, int] | None

    @classmethod
    def of(cls, engine: Engine, members: int) -> FirstLayer | None:
        """That layer, if mixing its outputs is cheaper than computing them; None otherwise."""
        network = engine.compiled if engine.path == "batched" else None
        if network is None:
            return None
        layer, place = network.layers[network.first], network.first
        if not isinstance(layer, Linear | Convolution) or members >= engine.layout.shapes[layer.index][1:].numel():
            return None
        after = network.layers[place + 1] if place + 1 < len(network.layers) else None
        window = after.window if isinstance(after, MaxPool) and network.images else None
        return cls(network, place, layer.index + 1 + layer.bias, window)

    def members(self, blocks: Sequence[Tensor], x: Tensor) -> Members:
        """Everybody's outputs for shared samples."""
        run, z = Pass(len(blocks[0]), blocks), self.network.share(x)
        for layer in self.network.layers[: self.place + 1]:
            z = layer.forward(run, z)
        if not self.network.images:
            return Members(z.reshape(1, len(z), -1), z.shape[1:])
        high, wide = self.window or (1, 1)
        z = z[:, :, : z.shape[2] // high * high, : z.shape[3] // wide * wide].unflatten(1, (len(blocks[0]), -1))
        z = z.unflatten(3, (-1, high)).unflatten(5, (-1, wide))
        z = z.permute(4, 6, 1, 0, 3, 5, 2)
        return Members(z.reshape(high * wide, len(blocks[0]), -1), z.shape[3:])

    def outputs(self, mixing: Tensor, members: Members, rest: Sequence[Tensor]) -> Tensor:
        """Outputs (k, batch, outputs) of k mixtures, whose other parameters are `rest`."""
        z = self.mixed(mixing, members)
        if not self.network.images or z.device.type != "cpu":
            return self.forward_all(z, rest)
        # One by one, the channels last in memory: that is how a CPU convolves fastest.
        models = range(len(z))
        return torch.cat([self.forward_all(z[k : k + 1], [block[k : k + 1] for block in rest]) for k in models])

    def mixed(self, mixing: Tensor, members: Members) -> Tensor:
        """What the first layer, and the pool behind it, give for k mixtures, (k, *shape)."""
        z = mixing @ members.numbers[0]
        for place in members.numbers[1:]:
            torch.maximum(z, mixing @ place, out=z)
        return z.view(len(mixing), *members.shape)

    def forward_all(self, z: Tensor, rest: Sequence[Tensor]) -> Tensor:
        """What the other layers make of it, all models at once."""
        if self.network.images:
            z = z.permute(1, 2, 3, 0, 4).flatten(3).permute(0, 3, 1, 2)
        return self.network.outputs(rest, z, self.place + 1 + (self.window is not None))
