"""What a market reads in owners' reports: data sizes N_i, unit costs c_i and eagerness K_i; true or as claimed.

Row i is the importer (buyer), column j the giver (seller), as in the paper's adjacency a_ij.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.common.errors import InputError, as_numbers, check_positive, finite_vector
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.views import Reports

__all__ = ["PROHIBITIVE", "check_distances", "eagerness_of", "market_reports", "unit_costs_of"]

#: the unit cost of an owner that never sells: from here on a cost counts as infinite
PROHIBITIVE = 1e9


def market_reports(size: Any, unit_cost: Any, eagerness: Any) -> Reports:
    """Reports of these sizes, costs of every import of the own model, and eagerness; single numbers serve everybody.

    An infinite cost becomes `PROHIBITIVE`: such an owner never sells.  An owner without eagerness never buys.

    >>> unit_costs_of(market_reports([100.0, 50.0], [1.0, np.inf], 2e4))
    array([ 1., inf])

    Parameters
    ----------
    size : Any
        How much data each owner has.
    unit_cost : Any
        What each import of its model costs an owner; infinite: it never sells.
    eagerness : Any
        How much each owner wants others' data; 0: it never buys.

    Returns
    -------
    Reports
        The reports.
    """
    sizes = finite_vector("size", size)
    check_positive("size", sizes)
    eager = finite_vector("eagerness", eagerness, len(sizes))
    check_positive("eagerness", eager, zero=True)
    stated = as_numbers("unit cost", unit_cost)
    costs = finite_vector("unit cost", np.where(np.isposinf(stated), PROHIBITIVE, stated), len(sizes))
    return Reports(sizes, sizes, Linear(costs), eager)


def unit_costs_of(reports: Reports) -> Array:
    """c_j: what one import of the own model costs its owner.

    Parameters
    ----------
    reports : Reports
        What owners have told the server.

    Returns
    -------
    Array
        Cost of one import of the own model, per owner.
    """
    if reports.cost is None:
        raise InputError("a model market needs the owners' reported costs, got none; report them")
    if not reports.cost.linear:
        raise InputError("a model market needs one price per import, got a cost that is not linear; use Linear")
    costs = reports.cost.unit(reports.size)
    return np.where(costs < PROHIBITIVE, costs, np.inf)


def eagerness_of(reports: Reports) -> Array:
    """K_i: how much an owner wants others' data.

    Parameters
    ----------
    reports : Reports
        What owners have told the server.

    Returns
    -------
    Array
        K_i of each owner.
    """
    if reports.eagerness is None:
        raise InputError("a model market needs the owners' reported eagerness, got none; report it")
    return reports.eagerness


def check_distances(distances: Array, owners: int) -> None:
    """Raise unless there is a distance for every pair; one that is not finite belongs to a model nobody can use."""
    if np.shape(distances) != (owners, owners):
        raise InputError(
            f"distances have shape {np.shape(distances)}, but {owners} owners report; give {owners} x {owners}"
        )
    if np.any(np.asarray(distances) < -1e-9):
        raise InputError(f"distances must not be negative, got {np.nanmin(distances):g}; use for instance 1 - cosine")
