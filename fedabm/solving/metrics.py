"""How good and how fair an outcome is: plain functions on arrays with one entry per owner.

Murhekar et al. 2025, Section 3.1, defines its metrics over all equilibria of a mechanism.  Where that matters, an array
(k, n) of k equilibria is accepted in place of (n,), and the worst counts (of the baseline: the best).  Ratios that mean
nothing are nan, as each function says, so that tables of many runs stay complete.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_kind, check_positive, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.best import best_response
from fedabm.games.costs import check_costs, costs_of
from fedabm.games.curves import Array
from fedabm.games.offers import full_access, nothing
from fedabm.games.welfare import Optimum, p_mean_welfare, welfare_optimum

__all__ = [
    "Optimum",
    "accuracy_gain",
    "alone_utilities",
    "budget",
    "data_gain",
    "equal_treatment",
    "gini",
    "individually_rational",
    "information_rent",
    "p_mean_welfare",
    "price_of_anarchy",
    "reciprocities",
    "reciprocity",
    "welfare_optimum",
]


def reciprocities(
    accuracies: Array, payments: Array, shares: Array, baseline: Array | float = 0.0, tolerance: float = 1e-12
) -> Array:
    """What each owner gets from the federation over what it gives: (a_i + p_i - a_i(0)) / phi_i.

    Murhekar et al. 2025, eq. (4), where a_i(0) = 0; `baseline` is a_i(0) for accuracies that are positive without data,
    because the Shapley shares phi then share A(s) - A(0).  An owner that gives nothing (a share within `tolerance` of
    0) has infinity if it gets something, 1 if it gets nothing and minus infinity if it loses: it pays, or its model is
    worse than one without any data.

    >>> reciprocities(np.array([0.5, 0.5]), np.array([0.1, -0.1]), np.array([0.6, 0.8]))
    array([1. , 0.5])

    Parameters
    ----------
    accuracies : Array
        Accuracy of each owner's model, shape (owners,).
    payments : Array
        Money to each owner.
    shares : Array
        Shapley share of each owner.
    baseline : Array | float, optional
        Accuracy without any data, a_i(0).
    tolerance : float, optional
        Shares up to this count as nothing given.

    Returns
    -------
    Array
        One ratio per owner.
    """
    given = np.asarray(shares, dtype=float)
    _check_alike(accuracies=accuracies, payments=payments, shares=shares)
    benefit = np.asarray(accuracies, dtype=float) + payments - baseline
    benefit, given = np.broadcast_arrays(benefit, given)
    for_nothing = np.where(benefit > tolerance, np.inf, np.where(benefit < -tolerance, -np.inf, 1.0))
    return np.divide(benefit, given, out=for_nothing, where=np.abs(given) > tolerance)


def reciprocity(
    accuracies: Array, payments: Array, shares: Array, baseline: Array | float = 0.0, tolerance: float = 1e-12
) -> float:
    """The least any owner gets per share it gives, over all owners and equilibria.

    min_i (a_i + p_i - a_i(0)) / phi_i.  Murhekar et al. 2025, Definition 3.3, eq. (4); see `reciprocities`.

    Parameters
    ----------
    accuracies : Array
        Accuracy of each owner's model, shape (owners,) or (equilibria, owners).
    payments : Array
        Money to each owner, of the same shape.
    shares : Array
        Shapley share of each owner, of the same shape.
    baseline : Array | float, optional
        Accuracy without any data, a_i(0).
    tolerance : float, optional
        Shares up to this count as nothing given.

    Returns
    -------
    float
        The least ratio.
    """
    return float(np.min(reciprocities(accuracies, payments, shares, baseline, tolerance)))


def data_gain(profile: Array, baseline: Array) -> float:
    """Data in the worst equilibrium over data in the best equilibrium without payments.

    min_s sum_i s_i / max_s0 sum_i s0_i.  Murhekar et al. 2025, Definition 3.6, eq. (5).  Infinite if only the
    baseline is empty, 1 if both are.

    Parameters
    ----------
    profile : Array
        Contributions in the equilibria of the rule, shape (owners,) or (equilibria, owners).
    baseline : Array
        The same without payments.

    Returns
    -------
    float
        Their ratio, worst over best.
    """
    return _worst_over_best(profile, baseline)


def accuracy_gain(accuracies: Array, baseline: Array) -> float:
    """Total accuracy in the worst equilibrium over that in the best equilibrium without payments.

    min_s sum_i a_i(s) / max_s0 sum_i a_i(s0).  Murhekar et al. 2025, Definition 3.7, eq. (6).  Infinite if only the
    baseline is worth nothing, 1 if both are.

    Parameters
    ----------
    accuracies : Array
        Accuracies in the equilibria of the rule, shape (owners,) or (equilibria, owners).
    baseline : Array
        The same without payments.

    Returns
    -------
    float
        Their ratio, worst over best.
    """
    return _worst_over_best(accuracies, baseline)


def _worst_over_best(outcome: Array, baseline: Array) -> float:
    worst, best = np.sum(outcome, axis=-1).min(), np.sum(baseline, axis=-1).max()
    if best == 0:
        return math.inf if worst > 0 else 1.0
    return float(worst / best)


def budget(payments: Array) -> float:
    """What the server pays out in all, sum_i p_i; 0 if balanced.  Murhekar et al. 2025, Definition 3.2."""
    return math.fsum(finite_vector("payments", payments))


def individually_rational(utilities: Array, outside: Array | float = 0.0, tolerance: float = 1e-9) -> bool:
    """Whether nobody is worse off than outside the federation: u_i >= outside_i.

    Murhekar et al. 2025, Section 3.1, with outside = 0; Karimireddy et al. 2022 compare with working alone, see
    `alone_utilities`.

    Parameters
    ----------
    utilities : Array
        Utility of each owner, shape (owners,).
    outside : Array | float, optional
        What each owner has outside the federation.
    tolerance : float, optional
        By how much a utility may fall below that.

    Returns
    -------
    bool
        Whether nobody is worse off.
    """
    _check_alike(utilities=utilities, outside=outside)
    return bool(np.all(np.asarray(utilities) >= np.asarray(outside) - tolerance))


def equal_treatment(outcome: Array, *traits: Array) -> float:
    """The largest difference of an outcome (payments, accuracies received) between owners that are identical.

    Murhekar et al. 2025, Definition 3.5: owners with equal accuracies, costs and contributions must be paid the same.
    Each of `traits` holds one number per owner; owners are identical if they agree in all of them (without traits, all
    are).  0 means equal treatment.

    >>> equal_treatment(np.array([1.0, 3.0, 9.0]), np.array([0.1, 0.1, 0.2]))
    2.0

    Parameters
    ----------
    outcome : Array
        One number per owner, such as its payment.
    *traits : Array
        Each one number per owner; owners that agree in all of them are identical.

    Returns
    -------
    float
        0 if identical owners are treated alike, else the largest difference.
    """
    outcome = finite_vector("outcome", outcome)
    _check_alike(outcome=outcome)
    columns = [finite_vector("traits", trait, len(outcome)) for trait in traits]
    kinds = np.unique(np.column_stack([np.zeros(len(outcome)), *columns]), axis=0, return_inverse=True)[1].ravel()
    low, high = np.full(kinds.max() + 1, np.inf), np.full(kinds.max() + 1, -np.inf)
    np.minimum.at(low, kinds, outcome)
    np.maximum.at(high, kinds, outcome)
    return float(np.max(high - low))


def price_of_anarchy(welfare: Array | float, optimum: float) -> float:
    """The best welfare over that of the worst equilibrium: max_s W(s) / min_{s in NE} W(s), at least 1.

    Koutsoupias and Papadimitriou 1999; `welfare` holds one number per equilibrium, `optimum` is from `welfare_optimum`
    with the same p.  Infinite if an equilibrium is worth nothing or less, 1 if nothing can be gained at all, nan if
    even the optimum is a loss.  An optimum that an equilibrium exceeds was none: the best that is known counts.

    Parameters
    ----------
    welfare : Array | float
        Welfare of each equilibrium.
    optimum : float
        The best welfare, from `welfare_optimum` with the same p.

    Returns
    -------
    float
        At least 1; infinite, or nan, where the docstring says so.
    """
    _check_alike(welfare=welfare)
    worst = float(np.min(welfare))
    if optimum < 0:
        return math.nan
    best = max(optimum, float(np.max(welfare)))
    if worst <= 0:
        return 1.0 if worst == best else math.inf
    return best / worst


def gini(utilities: Array) -> float:
    """Inequality of utilities: sum_ij |u_i - u_j| / (2 n sum_i u_i), from 0 (all equal) to 1 - 1/n (one has all).

    Nothing is shifted: losses are allowed as long as the sum is positive, and then the number can exceed 1.  Equal
    utilities have 0, unequal ones whose sum is not positive have nan.

    >>> gini([0.0, 0.0, 6.0])
    0.6666666666666666

    Parameters
    ----------
    utilities : Array
        Utility of each owner, shape (owners,).

    Returns
    -------
    float
        Between 0 and 1 - 1/n where nobody loses.
    """
    u = np.sort(finite_vector("utilities", utilities))
    _check_alike(utilities=u)
    spread, total = float((2 * np.arange(1, len(u) + 1) - len(u) - 1) @ u), float(u.sum())
    if u[0] == u[-1]:
        return 0.0
    return spread / (len(u) * total) if total > 0 else math.nan


def information_rent(utilities: Array, known: Array) -> Array:
    """What each owner gains because the server does not know its cost: u_i - u_i(costs known).

    Karimireddy et al. 2022, Theorem VIII.  With known costs data-maximising value shaping leaves an owner what it has
    alone (their Theorem V), so `known` is `alone_utilities(...)` or the utilities at that mechanism's equilibrium.

    Parameters
    ----------
    utilities : Array
        Utility of each owner under the rule, shape (owners,).
    known : Array
        The same where the server knows the costs.

    Returns
    -------
    Array
        The differences, shape (owners,).
    """
    utilities = finite_vector("utilities", utilities)
    return utilities - finite_vector("utilities with known costs", known, len(utilities))


def alone_utilities(accuracy: Accuracy, costs: Any, capacities: Array | float) -> Array:
    """What each owner has by itself: max_x a_i(x, 0) - c_i(x) for x up to capacity.  Karimireddy 2022, Theorem I.

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    costs : Any
        What contributions cost: one `Cost` per owner, one stacked `Cost`, or numbers (rates of linear costs).
    capacities : Array | float
        How much data each owner has: one number per owner, or one for all.

    Returns
    -------
    Array
        Utility of each owner by itself, shape (owners,).
    """
    check_kind("accuracy", accuracy, Accuracy)
    cost = costs_of(costs, np.size(capacities))
    top = finite_vector("capacities", capacities, cost.owners)
    check_positive("capacities", top)
    check_costs(cost, top)
    offers = full_access(accuracy, np.zeros(len(top)), nothing(len(top)))
    return best_response(offers, cost, top).utility


def _check_alike(**columns: Any) -> None:
    """Raise unless all have one number per owner (last axis) and there is an owner; single numbers serve everybody."""
    shapes = {name: np.shape(column) for name, column in columns.items() if np.ndim(column)}
    if len({shape[-1:] for shape in shapes.values()}) > 1 or any(0 in shape for shape in shapes.values()):
        raise InputError(f"{', '.join(f'{name} {shape}' for name, shape in shapes.items())}; give one number per owner")
