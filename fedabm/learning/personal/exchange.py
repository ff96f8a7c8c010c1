"""What flows between owners and server when everyone has a model of its own.

owners train (LocalTask) -> what reaches the server (Sent) -> the mechanism mixes -> what is sent back (Exchange)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.games.curves import Array
from fedabm.mechanisms.market.distances import Distance, proximal_centres

__all__ = ["Exchange", "LocalTask", "Sent"]


@dataclass(frozen=True, eq=False)
class LocalTask:
    """What owners train on next: from `start` (n, P), with strength / 2 |w - pull|^2 added to their loss.

    Without a `start` everyone goes on from the model that it keeps, which the server need not know; without a `pull`
    (n, P) nothing holds them.
    """

    start: Tensor | None = None
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
    owners    (n,) the owners' numbers, by which a mechanism that remembers tells them apart when some come or go
    memory    what the mechanism asked to be reminded of in its last exchange, None in the first round
    """

    models: Tensor
    sound: NDArray[np.bool_]
    start: Tensor
    initial: Tensor
    size: Array
    judge: Callable[[Tensor], Array]
    owners: NDArray[np.intp]
    memory: Any = None

    def apart(self, distance: Distance) -> Array:
        """How far apart the models are, relative to the initial one; not a number for models that are not sound."""
        found = distance.between(*self._arrays())
        found[~self.sound], found[:, ~self.sound] = np.nan, np.nan
        return found

    def held(self, weights: Array, step: float, distance: Distance, strength: float) -> Exchange:
        """Everyone goes on from its own model, held to the centre that its imports pull to by `weights` (n, n)."""
        centres = proximal_centres(*self._arrays(), weights, step, distance)
        task = LocalTask(None, torch.from_numpy(centres).to(self.models), strength)
        return Exchange(task, imports=weights)

    def _arrays(self) -> tuple[Array, Array]:
        """Models and initial model on the host, in double precision, in which squares of any model are finite."""
        return self.models.cpu().numpy().astype(float), self.initial.cpu().numpy().astype(float)


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
