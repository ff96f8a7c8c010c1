"""What importers pay: the marginal gain from a model less the difference of the models.

r_ij = a_ij [G_i(a_i) - G_i(a_i - e_j) - lambda (N_j / N_i) d_ij].  iPFL 2025, eq. (10).  A buyer keeps part of its
gain, since marginal gains of a concave function sum to at most the whole; a seller gets more than its cost, since the
model would not have been selected otherwise.
"""

from __future__ import annotations

import numpy as np

from fedabm.games.curves import Array, Rows
from fedabm.mechanisms.market.gains import Gain
from fedabm.mechanisms.market.reports import eagerness_of
from fedabm.mechanisms.market.thresholds import difference
from fedabm.views import Flags, Reports

__all__ = ["marginal_gains", "remittances"]


def marginal_gains(gain: Gain, reports: Reports, adjacency: Flags) -> Array:
    """G_i(a_i) - G_i(a_i - e_j) where i imports j, and G_i(a_i + e_j) - G_i(a_i) where it does not."""
    own, sizes = reports.size[:, None], reports.size
    total = own + (adjacency @ sizes)[:, None]
    before = np.where(adjacency, np.maximum(total - sizes, own), total)
    return gain.added(before, sizes, eagerness_of(reports)[:, None])


def remittances(
    gain: Gain,
    reports: Reports,
    distances: Array,
    adjacency: Flags,
    similarity_weight: float,
    rows: Rows | None = None,
) -> Array:
    """r_ij, money from importer i (all, or those in `rows`) to giver j, from reported sizes and eagerness.

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    reports : Reports
        What owners have told the server.
    distances : Array
        Shape (owners, owners): how different two models are.
    adjacency : Flags
        Shape (owners, owners): entry (i, j) is true where owner i imports the model of owner j.
    similarity_weight : float
        lambda: how much the difference of two models counts.
    rows : Rows | None, optional
        The owners that import; by default all.

    Returns
    -------
    Array
        Shape (importers, owners): money from importer to giver.
    """
    buyer, seller = np.nonzero(adjacency)
    importer = buyer if rows is None else np.asarray(rows)[buyer]
    own, bought = reports.size[importer], reports.size[seller]
    # A huge imported size swallows the own one in the sum; what is left is never less than the own data.
    others = np.maximum(own + (adjacency @ reports.size)[buyer] - bought, own)
    marginal = gain.added(others, bought, eagerness_of(reports)[importer])
    apart = difference(own, bought, distances[importer, seller], similarity_weight)
    paid = np.zeros(adjacency.shape)
    # Above the seller's cost, hence positive, but for rounding.
    paid[buyer, seller] = np.maximum(marginal - apart, 0.0)
    return paid
