"""Local trainings that need not be done twice: rivals begin alike, and runs that differ in one owner often go alike.

What owners train to follows from their starts, centres, data and draws alone.  A training of the same owners from the
same numbers is therefore looked up, bit for bit, and never done again: the first round of all rules on the same data,
all rounds of FedAvg for the model that Ditto sends, rounds of a market in which a lie changes nothing.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from torch import Tensor

from fedabm.common.errors import check_positive
from fedabm.learning.engine.host import fingerprint, pull

__all__ = ["Remembered", "digest"]


class Remembered:
    """Results of trainings by what they depend on, the least recently used forgotten first beyond `limit` bytes.

    It belongs to one engine.  It is not stored with checkpoints: what is forgotten is trained again, to the same bits.
    """

    #: all that counts when two runs are compared: nothing hangs on what is remembered
    content = "trainings already done"

    def __init__(self, limit: float = 5e8) -> None:
        check_positive("limit", limit, zero=True)
        self.limit = limit
        #: how many trainings were looked up, and how many done
        self.found, self.done = 0, 0
        self._kept: OrderedDict[Hashable, Tensor] = OrderedDict()
        self._bytes = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembered, (self.limit,)

    def get(self, key: Hashable, train: Callable[[], Tensor]) -> Tensor:
        """What was trained under this key, or else what `train` gives; not to be changed in place."""
        if key in self._kept:
            self.found += 1
            self._kept.move_to_end(key)
            return self._kept[key]
        self.done += 1
        made = self._kept[key] = train()
        self._bytes += _size(made)
        while self._bytes > self.limit and self._kept:
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return made


def _size(models: Tensor) -> int:
    return models.element_size() * models.nelement()


def digest(models: Tensor | None) -> bytes:
    """What stands for these numbers in a key."""
    if models is None:
        return b""
    if models.device.type != "cpu":
        return fingerprint(models)
    return hashlib.sha256(pull(models.contiguous()).data).digest()
