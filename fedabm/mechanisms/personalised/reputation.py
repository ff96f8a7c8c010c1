"""What rules share that remember how far each owner's updates lie along the common one."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.games.curves import Array
from fedabm.views import Sent

__all__ = ["along", "numbers", "remembered"]


def along(cosines: Array, weights: Array) -> Array:
    """The cosines (n,) of unit vectors with their weighted sum, from those with each other."""
    products = cosines @ weights
    length = np.sqrt(max(float(weights @ products), 0.0))
    return np.where(weights > 0, products, 0.0) / max(length, 1e-12)


def numbers(sent: Sent) -> list[int]:
    """The owners' numbers."""
    owners = sent.reports.owners
    return list(range(len(sent.usable))) if owners is None else owners.tolist()


def remembered(sent: Sent, newcomer: float) -> Array | None:
    """Everybody's number of the last round, (n,), and that of a newcomer; None in the first round."""
    known: Any = sent.reports.memory
    if not known:
        return None
    return np.array([known.get(owner, newcomer) for owner in numbers(sent)])
