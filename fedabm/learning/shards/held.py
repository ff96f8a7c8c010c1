"""The training data that one worker holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedabm.learning.engine.training import DeviceSamples

__all__ = ["HeldSamples"]

#: room for this many times the samples that are there, so that an owner who comes does not move all others
_ROOM = 1.5


class HeldSamples:
    """Samples of owners who came one after the other, in one piece of memory with room for more."""

    def __init__(self) -> None:
        self._room: DeviceSamples | None = None
        self._used = 0
        self._begins: dict[int, int] = {}

    def add(self, owners: np.ndarray, sizes: np.ndarray, fresh: DeviceSamples) -> None:
        """Copy the samples of some owners more, which stand owner by owner."""
        needed = self._used + len(fresh.y)
        if self._room is None or needed > len(self._room.y):
            self._grow(fresh, int(_ROOM * needed))
        assert self._room is not None
        self._room.x[self._used : needed] = fresh.x
        self._room.y[self._used : needed] = fresh.y
        begins = self._used + np.cumsum(sizes) - sizes
        self._begins.update(zip(owners.tolist(), begins.tolist(), strict=True))
        self._used = needed

    def _grow(self, like: DeviceSamples, most: int) -> None:
        """Room for this many samples; memory that nobody has written to costs a computer nothing."""

        def wider(part: Tensor, old: Tensor | None) -> Tensor:
            found = torch.empty(most, *part.shape[1:], dtype=part.dtype, device=part.device)
            if old is not None:
                found[: self._used] = old[: self._used]
            return found

        x, y = (None, None) if self._room is None else (self._room.x, self._room.y)
        self._room = replace(like, x=wider(like.x, x), y=wider(like.y, y))

    @property
    def samples(self) -> DeviceSamples:
        """All that are there; raises RuntimeError before any came."""
        if self._room is None:
            raise RuntimeError("this worker has no samples yet; load some owners' first")
        return replace(self._room, x=self._room.x[: self._used], y=self._room.y[: self._used])

    def begins(self, owners: np.ndarray) -> np.ndarray:
        """Where the samples of some owners begin."""
        return np.array([self._begins[owner] for owner in owners.tolist()], dtype=np.int64)
