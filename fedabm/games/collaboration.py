"""How fair a collaboration is: do those who have more get more, and is anybody worse off than alone?"""

from __future__ import annotations

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError

__all__ = ["collaborative_fairness", "share_as_well_as_alone"]


def collaborative_fairness(alone: Array, received: Array) -> float:
    """The Pearson correlation of what owners reach alone and what they receive.

    Lyu et al. 2020; Xu et al. 2021, Section 5.  1 where who brings more receives more, in proportion.

    Parameters
    ----------
    alone, received
        Accuracies of everybody's own model and of the model that it receives, (n,).

    Returns
    -------
    float
        Between -1 and 1; not a number where all are alike alone, or receive the same.

    Examples
    --------
    >>> round(collaborative_fairness(np.array([0.5, 0.6, 0.8]), np.array([0.7, 0.75, 0.85])), 3)
    1.0
    """
    one, other = _columns(alone, received)
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def share_as_well_as_alone(alone: Array, received: Array, tolerance: float = 0.0) -> float:
    """The share of owners that receive at least what they reach alone, up to a tolerance.

    Parameters
    ----------
    alone, received
        Accuracies of everybody's own model and of the model that it receives, (n,).
    tolerance
        By how much less still counts as as well.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> share_as_well_as_alone(np.array([0.5, 0.9]), np.array([0.7, 0.8]))
    0.5
    """
    one, other = _columns(alone, received)
    return float(np.mean(other >= one - tolerance))


def _columns(alone: Array, received: Array) -> tuple[Array, Array]:
    one, other = np.asarray(alone, dtype=float), np.asarray(received, dtype=float)
    if one.shape != other.shape or one.ndim != 1 or not len(one):
        raise InputError(f"accuracies of shapes {one.shape} and {other.shape}; give one of each per owner")
    return one, other
