"""A network on its way to workers: what nobody trains goes apart, as arrays that all workers of a machine share.

A frozen language model is by far the largest part of such a network.  As plain arrays it lies once in the cluster's
memory on every machine, and workers on processors read it there; on a GPU each keeps a copy.
"""

from __future__ import annotations

import io
import pickle
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["frozen_bytes", "packed", "unpacked"]


class _Apart:
    """Which tensors of a network go apart: all that are no parameters of its own, each memory once."""

    def __init__(self, network: nn.Module) -> None:
        self._own = {parameter.data_ptr() for parameter in network.parameters()}
        self._known: dict[tuple[Any, ...], int] = {}
        self.arrays: list[np.ndarray] = []

    def place(self, thing: object) -> int | None:
        """Where a tensor stands among the arrays; None: it stays with its module."""
        if type(thing) is not Tensor or thing.device.type != "cpu" or thing.dtype is not torch.float32:
            return None
        if thing.requires_grad or thing.data_ptr() in self._own:
            return None
        key = thing.data_ptr(), tuple(thing.shape), thing.stride()
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(thing.numpy())
        return self._known[key]


class _Unpickler(pickle.Unpickler):
    """Puts tensors on arrays where these stood apart."""

    def __init__(self, file: io.BytesIO, arrays: list[np.ndarray]) -> None:
        super().__init__(file)
        with warnings.catch_warnings():
            # Arrays in the cluster's memory are read-only, which is as it should be: nobody trains these numbers.
            warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
            self._tensors = [torch.from_numpy(array) for array in arrays]

    def persistent_load(self, place: int) -> Tensor:
        """The tensor that was left out."""
        return self._tensors[place]


def packed(network: nn.Module) -> tuple[bytes, list[np.ndarray]]:
    """The modules with their parameters, and the frozen numbers as views of those of the network."""
    from ray.cloudpickle import CloudPickler

    apart, file = _Apart(network), io.BytesIO()

    class Pickler(CloudPickler):
        def persistent_id(self, thing: object) -> int | None:
            return apart.place(thing)

    Pickler(file, protocol=5).dump(network)
    return file.getvalue(), apart.arrays


def frozen_bytes(network: nn.Module) -> int:
    """How many bytes of a network nobody trains, each memory counted once."""
    return sum(array.nbytes for array in packed(network)[1])


def unpacked(modules: bytes, arrays: list[np.ndarray]) -> nn.Module:
    """The network again, whose frozen tensors are these arrays."""
    made = _Unpickler(io.BytesIO(modules), arrays).load()
    assert isinstance(made, nn.Module)
    return made
