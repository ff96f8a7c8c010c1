"""What a market is worth to its owners, judged by the truth: utilities, social welfare, condition (9).

Accounting: who imports what follows from reports, and so do payments; gains come from true sizes and true eagerness,
and the costs charged are true.  `truth` is what owners would report if they were honest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedabm.games.curves import Array, Rows
from fedabm.mechanisms.market.gains import Gain
from fedabm.mechanisms.market.payments import marginal_gains
from fedabm.mechanisms.market.reports import eagerness_of, unit_costs_of
from fedabm.views import Flags, Reports

__all__ = ["gains", "objectives", "pooled", "sharing_costs", "social_welfare", "unstable", "utilities"]


def gains(gain: Gain, truth: Reports, adjacency: Flags) -> Array:
    """G_i(a_i), from true sizes.  iPFL 2025, eq. (2)."""
    return gain.added(truth.size, adjacency @ truth.size, eagerness_of(truth))


def sharing_costs(truth: Reports, exports: Array | NDArray[np.intp]) -> Array:
    """c_i times how often i's model is imported; nothing, even at infinite cost, for a model that nobody imports."""
    return np.where(exports > 0, unit_costs_of(truth), 0.0) * exports.astype(float)


def utilities(gain: Gain, truth: Reports, adjacency: Flags, paid: Array, persons: Rows | None = None) -> Array:
    """U_i = G_i(a_i) - sum_j a_ji c_i - p_i, where i `paid` j r_ij.  iPFL 2025, eq. (1).

    With `persons`, entry k names the person behind participant k of the graph, and `truth` has one row per person:
    data imported twice count once, data imported from oneself not at all, money between one's own accounts is nothing,
    and every import of any of a person's models by somebody else costs it once.

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    truth : Reports
        True sizes, costs and eagerness.
    adjacency : Flags
        Shape (owners, owners): entry (i, j) is true where owner i imports the model of owner j.
    paid : Array
        Shape (owners, owners): money from importer to giver.
    persons : Rows | None, optional
        The person behind each participant.

    Returns
    -------
    Array
        Utility of each owner or person.
    """
    payments = paid.sum(axis=0) - paid.sum(axis=1)
    if persons is None:
        return gains(gain, truth, adjacency) - sharing_costs(truth, adjacency.sum(axis=0)) + payments
    belongs = np.equal.outer(np.arange(len(truth.size)), np.asarray(persons)).astype(float)
    imports = belongs @ adjacency @ belongs.T
    np.fill_diagonal(imports, 0.0)
    costs = sharing_costs(truth, imports.sum(axis=0))
    return gains(gain, truth, imports > 0) - costs + belongs @ payments


def social_welfare(gain: Gain, truth: Reports, adjacency: Flags) -> float:
    """SW(A) = sum_i [G_i(a_i) - c^T a_i], whoever pays whom.  iPFL 2025, eq. (3).

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    truth : Reports
        True sizes, costs and eagerness.
    adjacency : Flags
        Shape (owners, owners): entry (i, j) is true where owner i imports the model of owner j.

    Returns
    -------
    float
        The welfare SW(A).
    """
    return float(np.sum(gains(gain, truth, adjacency) - sharing_costs(truth, adjacency.sum(axis=0))))


def objectives(gain: Gain, reports: Reports, adjacency: Flags, price: Array) -> Array:
    """phi_i(a_i) = sum_j a_ij [c_j + lambda (N_j / N_i) d_ij] - G_i(a_i), which i minimises.  iPFL 2025, eq. (8).

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    reports : Reports
        What owners have told the server.
    adjacency : Flags
        Shape (owners, owners): entry (i, j) is true where owner i imports the model of owner j.
    price : Array
        Shape (importers, givers): what an import costs the importer.

    Returns
    -------
    Array
        phi_i of each owner.
    """
    return np.where(adjacency, price, 0.0).sum(axis=1) - gains(gain, reports, adjacency)


def unstable(gain: Gain, reports: Reports, adjacency: Flags, price: Array, tolerance: float = 1e-9) -> Flags:
    """Which owners would gain more than `tolerance` by adding or dropping one model, against iPFL 2025, eq. (9).

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    reports : Reports
        What owners have told the server.
    adjacency : Flags
        Shape (owners, owners): entry (i, j) is true where owner i imports the model of owner j.
    price : Array
        Shape (importers, givers): what an import costs the importer.
    tolerance : float, optional
        Gains up to this count as none.

    Returns
    -------
    Flags
        Shape (owners,): who would gain by one change.
    """
    surplus = marginal_gains(gain, reports, adjacency) - price
    np.fill_diagonal(surplus, 0.0)
    return np.any(np.where(adjacency, -surplus, surplus) > tolerance, axis=1)


def pooled(utility: Array, members: Rows) -> float:
    """What colluding owners have together.

    Parameters
    ----------
    utility : Array
        Utility of each owner.
    members : Rows
        The owners that collude.

    Returns
    -------
    float
        The sum of theirs.
    """
    return float(np.sum(utility[np.asarray(members)]))
