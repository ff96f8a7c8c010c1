"""What an owner would do on its own, without a federation: the benchmark of rationality and of value shaping."""

from __future__ import annotations

import numpy as np

from fedabm.common.errors import check_positive
from fedabm.games.accuracy.base import Accuracy, Exposure
from fedabm.games.best import best_response
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.games.offers import Offers, all_kinks, full_access, nothing
from fedabm.games.roots import falling_root, just_inside

__all__ = ["best_alone", "individual_optimum", "smallest_federation", "viability_cost"]


def individual_optimum(accuracy: Accuracy, cost: Cost, capacity: Array) -> tuple[Array, Array]:
    """Each owner's best contribution and utility when it is alone, over its whole range [0, capacity].

    m_i* maximises v_i(m) - c_i(m); it is 0 unless that beats doing nothing.  Karimireddy et al. 2022, Theorem I.

    >>> from fedabm.games.accuracy.power_law import PowerLaw
    >>> from fedabm.games.costs import PowerCost
    >>> individual_optimum(PowerLaw(), PowerCost(np.array([0.1, 0.25])), np.full(2, 100.0))
    (array([2.16227766, 1.        ]), array([0.46754447, 0.25      ]))

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    cost : Cost
        The cost function of each owner, one row each.
    capacity : Array
        How much data each owner has, shape (owners,).

    Returns
    -------
    tuple[Array, Array]
        Best contribution and utility of each owner alone.
    """
    capacity = np.asarray(capacity, dtype=float)
    alone = full_access(accuracy, np.zeros(len(capacity)), nothing(len(capacity)))
    return best_alone(alone, cost, capacity)


def best_alone(alone: Offers, cost: Cost, capacity: Array) -> tuple[Array, Array]:
    """The same from the curves that owners face while nobody else contributes."""
    nobody = np.zeros(len(capacity))
    best = best_response(alone, cost, capacity)
    idle = alone.received.value(nobody) - cost.value(nobody)
    found = _sharpened(alone, cost, capacity, best.contribution)
    contribution = np.where(best.utility > idle, found, 0.0)
    return contribution, alone.received.value(contribution) - cost.value(contribution)


def viability_cost(accuracy: Exposure) -> float:
    """The largest cost per unit of exposure at which an owner alone still contributes: max_m (v(m) - v(0)) / m.

    Where v is zero up to a viable total the maximum is at the tangent through the origin, m v'(m) = v(m); where v is
    positive from the start it is v'(0).  The vertical lines of Karimireddy et al. 2022, Figure 2.

    Parameters
    ----------
    accuracy : Exposure
        What models are worth to owners at a profile of contributions.

    Returns
    -------
    float
        The largest unit cost at which an owner alone contributes.
    """
    if accuracy.viable <= 0:
        return float(accuracy.curve_slope(np.zeros(1))[0])

    def excess(m: Array) -> Array:
        return m * accuracy.curve_slope(m) - accuracy.curve(m)

    # At the viable total itself rounding could pick the flat side of the kink.
    low = high = np.array([accuracy.viable * (1 + 1e-12)])
    while excess(high)[0] > 0:
        high = 2.0 * high
    tangent = falling_root(excess, low, high)
    return float((accuracy.curve(tangent) / tangent)[0])


def smallest_federation(accuracy: Exposure, cost: float) -> int:
    """The fewest owners with this unit cost that can begin together under value shaping: c/n must be a viable cost.

    Each then gives S/n with v(S) = c S/n, which has a solution S > 0 from there on.  Karimireddy et al. 2022, Remark 3
    and Figure 4.

    >>> from fedabm.games.accuracy.pac_bound import PacBound
    >>> smallest_federation(PacBound(ceiling=0.95, complexity=1.0), 0.1)
    48

    Parameters
    ----------
    accuracy : Exposure
        What models are worth to owners at a profile of contributions.
    cost : float
        The unit cost that all owners have.

    Returns
    -------
    int
        The fewest owners.
    """
    check_positive("unit cost", cost)
    return int(np.ceil(cost / viability_cost(accuracy)))


def _sharpened(alone: Offers, cost: Cost, capacity: Array, found: Array) -> Array:
    """Interior optima to rounding width: utility alone, flat at its top, tells only half of the digits."""
    if alone.shape != "concave":
        return found
    top = capacity[:, None]
    edges = np.hstack([np.zeros_like(top), np.clip(all_kinks(alone, cost), 0.0, top), top])
    here = found[:, None]
    low = np.max(np.where(edges < here, edges, 0.0), axis=1)
    high = np.min(np.where(edges > here, edges, top), axis=1)
    left, right = just_inside(low, high)
    root = falling_root(lambda x: alone.received.slope(x) - cost.slope(x), left, right)
    # The slope of a user's own cost may have fewer digits than what was found.
    inside = ~np.any(edges == here, axis=1) & (root > left) & (root < right) & cost.convex & cost.closed
    return np.where(inside, root, found)
