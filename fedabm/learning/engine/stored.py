"""Tensors in checkpoints, as plain numbers: see `fedabm.common.archive`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedabm.common.archive import foreign
from fedabm.learning.engine.host import pull

__all__: list[str] = []


_DTYPES = {str(kind).removeprefix("torch."): kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)}
#: numbers that a tensor may seem to have which repeats a few
_MOST = 2**34


def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether every number has a place of its own, and no place is free."""
    size = 1
    for step, length in sorted(zip(strides, shape, strict=True)):
        if length > 1 and step != size:
            return False
        size *= length
    return True


def _write(tensor: Tensor) -> list[Any]:
    """Kind, device, shape, strides and numbers; what is only repeated is kept once."""
    once = tensor.detach()[tuple(slice(0, 1) if step == 0 else slice(None) for step in tensor.stride())]
    once = once if _is_dense(once.shape, once.stride()) else once.contiguous()
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
    dtype = _DTYPES[kind]
    present = numbers.dtype == np.uint8 and numbers.size == math.prod(once) * dtype.itemsize
    if not present or not _is_dense(once, strides) or math.prod(shape) > _MOST:
        raise ValueError("a tensor without its numbers")
    made = torch.empty_strided(once, strides, dtype=dtype)
    if numbers.size:
        made.copy_(torch.from_numpy(numbers).view(dtype).reshape(once))
    made = made.to(device).expand(shape)
    return nn.Parameter(made, requires_grad=grows[1]) if grows[0] else made.requires_grad_(grows[1])


foreign("tensor", Tensor, nn.Parameter, write=_write, read=_read)
