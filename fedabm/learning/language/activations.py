"""What the frozen layers make of every sample, found once: in memory if it is little, else in a file.

A file is found again by all that it depends on, so that a second run of the same study need not wait for it.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np
import torch
from torch import Tensor

from fedabm.data.datasets.files import data_folder
from fedabm.learning.language.frozen import Front

__all__ = ["IN_MEMORY", "activations"]

#: bytes up to which activations stay in memory
IN_MEMORY = 64_000_000
#: texts that go through the front at once
_BATCH = 16


def activations(front: Front, tokens: Tensor, in_memory: float | None = None) -> Tensor:
    """What arrives at the tail, (n, L, width), of tokens (n, L)."""
    shape = (*tokens.shape, front.base.width)
    if 4 * np.prod(shape) <= (IN_MEMORY if in_memory is None else in_memory):
        found = torch.empty(shape)
        return _fill(front, tokens, found)
    folder = data_folder() / "activations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_key(front, tokens)}.npy"
    if not path.is_file():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        made = np.lib.format.open_memmap(draft, mode="w+", dtype=np.float32, shape=shape)
        _fill(front, tokens, torch.from_numpy(made))
        made.flush()
        draft.replace(path)
    # Read-only numbers cannot become a tensor; nothing writes into these, and if something did, not into the file.
    return torch.from_numpy(np.load(path, mmap_mode="c"))


def _fill(front: Front, tokens: Tensor, found: Tensor) -> Tensor:
    """Every text once, in the order of lengths, so that little padding goes through the front."""
    texts, places = tokens.unique(dim=0, return_inverse=True)
    order = (texts < front.base.tokens).sum(-1).argsort(stable=True)
    for some in order.split(_BATCH):
        batch = texts[some]
        used = (batch < front.base.tokens).any(0)
        made = found.new_zeros(len(some), *found.shape[1:])
        made[:, used] = front(batch[:, used])
        for text, states in zip(some.tolist(), made, strict=True):
            found[places == text] = states
    return found


def _key(front: Front, tokens: Tensor) -> str:
    """All that activations depend on."""
    sha = hashlib.sha256(f"{front.base.checksum} {front.last} {torch.__version__} {tuple(tokens.shape)}".encode())
    sha.update(np.ascontiguousarray(tokens.cpu().numpy()).data)
    return sha.hexdigest()[:32]
