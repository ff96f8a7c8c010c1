"""The best graph by exact search: what Algorithm 2 approximates.

For given models, eq. (8) of iPFL 2025 is one problem per owner, the best subset of the others' models.
It is NP-hard, so small markets only.
"""

from __future__ import annotations

import numpy as np

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.mechanisms.market.gains import Gain
from fedabm.mechanisms.market.reports import eagerness_of
from fedabm.views import Flags, Reports

__all__ = ["best_graph"]

_MOST = 22


def best_graph(gain: Gain, reports: Reports, price: Array) -> Flags:
    """The adjacency that minimises every owner's phi_i(a_i) over all subsets of the others.

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    reports : Reports
        What owners have told the server.
    price : Array
        Shape (importers, givers): what an import costs the importer.

    Returns
    -------
    Flags
        Shape (owners, owners): who imports whose model.
    """
    if len(reports.size) > _MOST:
        raise InputError(f"exact search takes at most {_MOST} owners, got {len(reports.size)}; use ModelMarket instead")
    best = np.zeros(price.shape, dtype=bool)
    for i in range(len(reports.size)):
        best[i] = _best_imports(gain, reports, price[i], i)
    return best


def _best_imports(gain: Gain, reports: Reports, price: Array, importer: int) -> Flags:
    """The best subset for one importer; subset number b holds candidate k if bit k of b is set."""
    candidates = np.flatnonzero(np.isfinite(price) & (np.arange(len(price)) != importer))
    data, cost = _subset_sums(reports.size[candidates]), _subset_sums(price[candidates])
    phi = cost - gain.added(reports.size[importer], data, eagerness_of(reports)[importer])
    chosen = int(np.argmin(phi)) >> np.arange(len(candidates)) & 1
    imports = np.zeros(len(price), dtype=bool)
    imports[candidates] = chosen == 1
    return imports


def _subset_sums(values: Array) -> Array:
    """The sum of every subset.

    >>> _subset_sums(np.array([1.0, 10.0]))
    array([ 0.,  1., 10., 11.])
    """
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
