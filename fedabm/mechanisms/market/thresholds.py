"""Prices of models, and up to how much imported data a model is worth its price.

Importing j costs owner i the price c_j + lambda (N_j / N_i) d_ij.  Its threshold N_j^Th solves
g_i(N_j^Th) - g_i(N_j^Th - N_j) = price: as long as i imports less in total, j's model included, j is worth it.
iPFL 2025, Section 4.2.  Corrected: at price zero the threshold is infinite (printed: "no solution", 0), so that free
and useful models are not left out.
"""

from __future__ import annotations

import numpy as np

from fedabm.games.curves import Array, Rows
from fedabm.mechanisms.market.gains import Gain
from fedabm.mechanisms.market.reports import eagerness_of, unit_costs_of
from fedabm.views import Reports

__all__ = ["difference", "limits", "prices", "thresholds"]


def difference(importer: Array, giver: Array, distance: Array, similarity_weight: float) -> Array:
    """lambda (N_j / N_i) d_ij, elementwise: what the difference of two models costs; infinite for an unusable model.

    Parameters
    ----------
    importer : Array
        Data of the importer, N_i.
    giver : Array
        Data of the giver, N_j.
    distance : Array
        How different their models are, d_ij.
    similarity_weight : float
        lambda: how much the difference of two models counts.

    Returns
    -------
    Array
        What each difference costs, elementwise.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = similarity_weight / importer * giver * np.maximum(distance, 0.0)
    return np.where(np.isfinite(distance), found, np.inf)


def prices(reports: Reports, distances: Array, similarity_weight: float, rows: Rows | None = None) -> Array:
    """c_j + lambda (N_j / N_i) d_ij for importers i (all, or those in `rows`) and givers j.

    Parameters
    ----------
    reports : Reports
        What owners have told the server.
    distances : Array
        Shape (owners, owners): how different two models are.
    similarity_weight : float
        lambda: how much the difference of two models counts.
    rows : Rows | None, optional
        The owners that import; by default all.

    Returns
    -------
    Array
        Shape (importers, owners).
    """
    sizes = reports.size
    importers, apart = (sizes, distances) if rows is None else (sizes[rows], distances[rows])
    return difference(importers[:, None], sizes, apart, similarity_weight) + unit_costs_of(reports)


def limits(gain: Gain, reports: Reports, price: Array, rows: Rows | None = None) -> Array:
    """N_j^Th - N_j: with less imported data than this, adding j's model is worth its price; -inf for one's own.

    `price` has one row per importer: all owners, or those in `rows`.

    >>> from fedabm.mechanisms.market import SquareRootGain, market_reports
    >>> reports = market_reports([200.0, 100.0], 0.05, 100.0)
    >>> round(float(limits(SquareRootGain(), reports, np.full((2, 2), 0.05))[0, 1]) + 100.0, 6)
    316.399193

    Parameters
    ----------
    gain : Gain
        What imported data are worth to an owner, as a function of their amount.
    reports : Reports
        What owners have told the server.
    price : Array
        Shape (importers, givers): what an import costs the importer.
    rows : Rows | None, optional
        The owners that import; by default all.

    Returns
    -------
    Array
        Shape (importers, owners).
    """
    sizes = reports.size
    importers = np.arange(len(sizes)) if rows is None else np.asarray(rows)
    eager = eagerness_of(reports)[importers]
    found = gain.room(sizes, eager[:, None], price) - sizes[importers, None]
    found[price == 0.0] = np.inf
    found[np.isposinf(price)] = -np.inf
    found[eager == 0.0] = -np.inf
    found[np.arange(len(importers)), importers] = -np.inf
    return found


def thresholds(gain: Gain, reports: Reports, price: Array) -> Array:
    """N_j^Th of owner i; -inf where no import is ever worth it.

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
    Array
        Shape (owners, owners).
    """
    return limits(gain, reports, price) + reports.size
