"""Tensors in checkpoints, as plain numbers: see `fedabm.common.archive`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedabm.common.archive import foreign
from fedabm.learning.engine.host import pull

__all__: list[str] = []


def _write(tensor: Tensor) -> list[Any]:
    """Kind, device, shape, strides and numbers; what is only repeated is kept once."""
    once = tensor.detach()[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]
    numbers = pull(once.contiguous().reshape(-1).view(torch.uint8))
    kind = str(tensor.dtype).removeprefix("torch.")
    grows = [isinstance(tensor, nn.Parameter), tensor.requires_grad]
    return [kind, str(tensor.device), tuple(tensor.shape), tuple(once.shape), once.stride(), numbers, grows]


def _read(
    kind: str,
    device: str,
    shape: tuple[int, ...],
    once: tuple[int, ...],
    strides: tuple[int, ...],
    numbers: np.ndarray,
    grows: list[bool],
) -> Tensor:
    dtype = getattr(torch, kind)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"no kind of number: {kind}")
    made = torch.empty_strided(once, strides, dtype=dtype)
    if numbers.size:
        made.copy_(torch.from_numpy(numbers).view(dtype).reshape(once))
    made = made.to(device).expand(shape)
    return nn.Parameter(made, requires_grad=grows[1]) if grows[0] else made.requires_grad_(grows[1])


foreign("tensor", Tensor, nn.Parameter, write=_write, read=_read)
foreign("shape", torch.Size, write=lambda shape: [tuple(shape)], read=torch.Size)
foreign("device", torch.device, write=lambda device: [str(device)], read=torch.device)
