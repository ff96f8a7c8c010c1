"""How much work and memory a network needs, and which way of training it is the fastest.

The rules, for 50 samples per owner in batches of 10; `python -m tests.benchmarks.training` puts them to the test:
- small networks are bound by the cost of starting operators and by memory traffic: batch over owners, as many as fit
  into the cache with parameters and activations, so that a chunk stays there for the whole round;
- large convolutions on a CPU lose by batching (the working set leaves the cache): chunks of one owner.  The layers
  written by hand are still up to 1.6 times as fast as the module itself, except for large networks with normalisation;
- on a CPU chunks are shared by workers, one per core with one thread each, which beats threads inside operators;
- on a GPU operators are started one by one and memory is fast: batch until the memory is full (not measured here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psutil
import torch
from torch import Tensor, nn

from fedabm.common.device import here
from fedabm.common.errors import InputError
from fedabm.learning.engine.batched import compile_network
from fedabm.learning.engine.blocks import SeededDropout
from fedabm.learning.engine.networks import count, try_out

__all__ = [
    "BUSY",
    "CACHE_JUDGED",
    "IMAGES_JUDGED",
    "LARGE",
    "PATHS",
    "SMALL_JUDGED",
    "WIDE",
    "Work",
    "choose_path",
    "chunk_size",
    "default_memory",
    "even",
    "measure",
]

PATHS = ("auto", "batched", "vmap", "serial")

#: multiplications per sample from which a network is large: mnist_cnn (2.3 million) still gains by batching,
#: femnist_net (12 million) and cifar_cnn (21 million) do not
LARGE = 4_000_000
#: bytes of parameters and activations that a chunk of owners keeps in a CPU's cache; 6 to 24 million are much alike
CACHE = 12_000_000
#: multiplications in a step of a chunk from which a second worker pays; below, starting operators is all the work
BUSY = 1_000_000
#: bytes of parameters and activations when models are judged; 12 to 48 million are equally fast
CACHE_JUDGED = 24_000_000
#: multiplications per sample below which models with convolutions are judged together, since their first layers see the
#: same images: simple_cnn (0.65 million on CIFAR-10) takes half the time of one model after the other
SMALL_JUDGED = 1_000_000
#: the same bytes for these networks: 3 models together take 31 microseconds per image and model, 9 take 26, one 53
IMAGES_JUDGED = 96_000_000


#: numbers stored per sample from which few samples are judged at once: layers of transformers
WIDE = 250_000


@dataclass(frozen=True)
class Work:
    """Parameters of a network; multiplications and numbers stored per sample."""

    parameters: int
    multiplications: int
    activations: int


def measure(network: nn.Module, shape: tuple[int, ...], dtype: torch.dtype) -> Work:
    """Count while one sample of zeros goes through."""
    found = {"multiplications": 0, "activations": torch.Size(shape).numel()}

    def note(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and not list(module.children()):
            found["activations"] += output[0].numel()
        if isinstance(module, nn.Linear | nn.Conv2d) and isinstance(output, Tensor):
            found["multiplications"] += output[0].numel() * module.weight[0].numel()
        if isinstance(module, nn.RNNBase):
            steps = inputs[0].shape[1]
            found["multiplications"] += steps * count(module)
            found["activations"] += steps * 6 * module.hidden_size * module.num_layers

    hooks = [module.register_forward_hook(note) for module in network.modules()]
    try:
        try_out(network, shape, dtype)
    finally:
        for hook in hooks:
            hook.remove()
    return Work(count(network), found["multiplications"], found["activations"])


def choose_path(path: str, network: nn.Module, work: Work, device: torch.device) -> str:
    """The way to train: what was asked for, if it is possible, or the fastest."""
    if path not in PATHS:
        raise InputError(f"path must be one of {', '.join(PATHS)}, got {path!r}; auto chooses the fastest")
    known = compile_network(network) is not None
    if path == "batched" and not known:
        raise InputError('the network has layers that cannot be batched by hand; use path="vmap" or path="serial"')
    if path != "auto":
        return path
    large = device.type == "cpu" and work.multiplications >= LARGE
    if known and not (large and any(isinstance(module, nn.GroupNorm) for module in network.modules())):
        return "batched"
    if large:
        return "serial"
    alone = any(isinstance(module, nn.RNNBase | SeededDropout) for module in network.modules())
    return "serial" if alone or getattr(network, "alone", False) else "vmap"


def chunk_size(work: Work, batch: int, copies: int, path: str, device: torch.device, memory: float) -> int:
    """How many owners to train at once, each with `copies` of its parameters, within `memory` bytes."""
    bytes_each = 4 * (copies * work.parameters + 3 * batch * work.activations)
    fits = int(memory // bytes_each)
    if fits < 1:
        raise InputError(
            f"one owner needs {bytes_each / 1e6:.0f} MB to train but {max(memory, 0) / 1e6:.0f} MB are left; "
            "raise memory_limit, or take fewer owners, a smaller batch or a smaller network"
        )
    if path == "serial":
        return 1
    cached = CACHE // (4 * (work.parameters + batch * work.activations))
    return min(fits, max(1, cached)) if device.type == "cpu" else fits


def even(owners: int, most: int, busy: bool = False, sharers: int = 2) -> int:
    """The size of chunks of at most `most` owners: if there are several, an even number, so that two workers share.

    With much to do (`busy`) there are at least two.  The size must not depend on the number of workers, as rounding may
    depend on the size; where GPUs share them, which round anyhow, their number is a multiple of that of the `sharers`.

    >>> even(100, 40), even(30, 40), even(30, 40, busy=True), even(90, 30, sharers=3)
    (25, 30, 15, 30)
    """
    chunks = max(-(-owners // max(most, 1)), 2 if busy else 1)
    return max(-(-owners // (chunks + -chunks % sharers)) if chunks > 1 else owners, 1)


def default_memory(device: torch.device) -> float:
    """Half of a computer's memory; of four fifths of a GPU's free memory the part of one of the workers on it."""
    if device.type == "cuda":
        return 0.8 * torch.cuda.mem_get_info(device)[0] / here().share(torch.cuda.device_count())
    return 0.5 * psutil.virtual_memory().total
