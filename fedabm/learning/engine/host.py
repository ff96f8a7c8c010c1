"""The only way for numbers from the device to the host: `pull`, which is counted.

Nothing else in this room asks a tensor for its values, so that a round can run on a GPU without waiting; only what a
mechanism decides by (tables of one number per owner or pair) comes over, once per question.  The device "meta" proves
it: there is nothing behind its tensors, and whoever asks them by another way gets an error.  What `pull` gives for such
a tensor stands for numbers that were never computed: zeros, and True for flags.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["Pulled", "counted", "fingerprint", "pull"]

#: odd numbers by which places are told apart, and what they are mixed with
_MIXERS = ((-7046029254386353131, 29), (-4417276706812531889, 32))


class Pulled:
    """How often something was pulled, and how many bytes."""

    def __init__(self) -> None:
        self.times, self.bytes = 0, 0


_open: list[Pulled] = []
_lock = threading.Lock()


@contextlib.contextmanager
def counted() -> Iterator[Pulled]:
    """Count what is pulled meanwhile."""
    count = Pulled()
    _open.append(count)
    try:
        yield count
    finally:
        _open.remove(count)


def pull(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor, on the host.

    >>> pull(torch.ones(2)), pull(torch.ones(2, device="meta")), pull(torch.zeros(1, device="meta").bool())
    (array([1., 1.], dtype=float32), array([0., 0.], dtype=float32), array([ True]))
    """
    with _lock:
        for count in _open:
            count.times += 1
            count.bytes += tensor.element_size() * tensor.nelement()
    if tensor.device.type != "meta":
        return tensor.cpu().numpy()
    unknown: Any = np.ones if tensor.dtype == torch.bool else np.zeros
    return unknown(tuple(tensor.shape), dtype=torch.empty(0, dtype=tensor.dtype).numpy().dtype)


def fingerprint(models: Tensor) -> bytes:
    """Bytes that stand for the numbers of models, computed on their device: sum_k bits_k * odd(k) mod 2^64, twice."""
    bits = models.contiguous().view(torch.int32).flatten().to(torch.int64)
    place = torch.arange(len(bits), device=models.device)
    sums = []
    for factor, shift in _MIXERS:
        mixed = (place + 1) * factor
        mixed = (mixed ^ (mixed >> shift)) * factor
        sums.append((bits * (mixed | 1)).sum())
    return pull(torch.stack(sums)).tobytes() + str(tuple(models.shape)).encode()
