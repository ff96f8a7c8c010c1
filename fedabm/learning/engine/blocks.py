"""Building blocks of networks beyond PyTorch's own: residual blocks, seeded dropout, products, a recurrent reader."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["LastState", "Quadratic", "Residual", "SeededDropout", "convolution", "group_norm", "keep"]

_GROUP = 8


def convolution(inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> tuple[nn.Module, nn.Module]:
    """A convolution without bias that keeps the side, and group normalisation in groups of eight channels."""
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return layer, group_norm(outputs)


def group_norm(channels: int, eps: float = 1e-5, *, affine: bool = True) -> nn.GroupNorm:
    """Group normalisation in groups of eight channels, or of as many more as divide them.

    >>> [group_norm(channels).num_groups for channels in (64, 12, 20, 5)]
    [8, 1, 2, 1]
    """
    groups = max(channels // _GROUP, 1)
    while channels % groups:
        groups -= 1
    return nn.GroupNorm(groups, channels, eps, affine)


class Residual(nn.Module):
    """relu(body(x) + shortcut(x)); an empty shortcut is the identity."""

    def __init__(self, body: nn.Sequential, shortcut: nn.Sequential) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        return torch.relu(self.body(x) + self.shortcut(x))

    @classmethod
    def convolutional(cls, inputs: int, outputs: int, stride: int) -> Residual:
        """Two 3x3 convolutions; the shortcut is a 1x1 convolution where the shape changes."""
        body = nn.Sequential(*convolution(inputs, outputs, 3, stride), nn.ReLU(), *convolution(outputs, outputs))
        same = stride == 1 and inputs == outputs
        return cls(body, nn.Sequential() if same else nn.Sequential(*convolution(inputs, outputs, 1, stride)))

    @classmethod
    def dense(cls, width: int) -> Residual:
        """Two linear layers of the same width."""
        return cls(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)), nn.Sequential())


class Quadratic(nn.Module):
    """The variables and all their products x_i x_j, i <= j."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, inputs + inputs * (inputs + 1) // 2

    def forward(self, x: Tensor) -> Tensor:
        """Features (..., outputs) of variables (..., inputs)."""
        row, column = torch.triu_indices(self.inputs, self.inputs, device=x.device)
        return torch.cat([x, x.index_select(-1, row) * x.index_select(-1, column)], dim=-1)


class LastState(nn.Module):
    """The output of a recurrent network (batch first) after the last token."""

    def __init__(self, network: nn.LSTM) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (batch, width) of sequences (batch, length, features)."""
        return self.network(x)[0][:, -1]


class SeededDropout(nn.Module):
    """Dropout whose mask is a function of `keys`, one per sample: the same whoever else is trained beside it.

    The engine sets fresh keys before every training step, from the owner's own generator, and None for evaluation.
    """

    keys: Tensor | None

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate, self.keys = rate, None

    def forward(self, x: Tensor) -> Tensor:
        """The samples with features dropped, or all of them without keys."""
        return x if self.keys is None else x * keep(self.keys, x.shape[1:], self.rate)


def keep(keys: Tensor, shape: torch.Size, rate: float) -> Tensor:
    """What remains of features of this shape: 0 with chance `rate`, else 1 / (1 - rate); (*keys.shape, *shape).

    A key and a feature's number are mixed by the finaliser of SplitMix64 (Steele et al. 2014) in 64-bit integers.
    """
    place = torch.arange(shape.numel(), device=keys.device)
    bits = keys.unsqueeze(-1) + place * -7046029254386353131
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        bits = (bits ^ ((bits >> shift) & ((1 << (64 - shift)) - 1))) * factor
    kept = (bits ^ ((bits >> 31) & ((1 << 33) - 1))) & 0xFFFFFF
    return ((kept >= round(rate * 2**24)) / (1.0 - rate)).view(*keys.shape, *shape)
