"""What flows between owners and server when everyone has a model of its own.

    owners train (LocalTask) -> what reaches the server (Sent) -> the mechanism mixes -> what is sent back (Exchange)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedabm.curves import Array

__all__ = ["Exchange", "LocalTask", "Sent"]


@dataclass(frozen=True, eq=False)
class LocalTask:
    """What owners train on next: from `start` (n, P), with strength / 2 |w - pull|^2 added to their loss.

    `pull` (n, P) may be None: then nothing holds them.
    """

    start: Tensor
    pull: Tensor | None = None
    strength: float = 0.0


@dataclass(frozen=True, eq=False)
class Sent:
    """What reached the server in a round, one row per owner that takes part.

    models    (n, P) as sent, after tampering; a row that held NaN or infinity is the owner's start instead
    sound     (n,) whose model was usable; the others' must not be mixed into anybody's
    start     (n, P) what the owners started from
    initial   (P,) the model that everybody began with in the first round
    size      (n,) how much data each owner says it has
    judge     losses (k, n) of k models (k, P) on each owner's own training data, as the owners themselves measure them
    memory    what the mechanism asked to be reminded of in its last exchange, None in the first round
    """

    models: Tensor
    sound: NDArray[np.bool_]
    start: Tensor
    initial: Tensor
    size: Array
    judge: Callable[[Tensor], Array]
    memory: Any = None


@dataclass(frozen=True, eq=False)
class Exchange:
    """What the server sends back.

    task       what owners train on next and send
    personal   a second training whose result each owner keeps for itself (None: it keeps what it sends)
    imports    (n, n): how much of j's model goes into i's; every other non-zero entry is an import
    memory     handed back with the next `Sent`
    """

    task: LocalTask
    imports: Array
    personal: LocalTask | None = None
    memory: Any = None
