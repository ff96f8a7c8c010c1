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
from fedabm.mechanisms.market.views import MarketView, Profiles

__all__ = ["difference", "limits", "prices", "thresholds"]


def difference(importer: Array, giver: Array, distance: Array, similarity_weight: float) -> Array:
    """lambda (N_j / N_i) d_ij, elementwise: what the difference of two models costs; infinite for an unusable model."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = similarity_weight / importer * giver * np.maximum(distance, 0.0)
    return np.where(np.isfinite(distance), found, np.inf)


def prices(view: MarketView, similarity_weight: float, rows: Rows | None = None) -> Array:
    """c_j + lambda (N_j / N_i) d_ij for importers i (all, or those in `rows`) and givers j."""
    sizes, distances = view.reports.size, view.distances
    importers, apart = (sizes, distances) if rows is None else (sizes[rows], distances[rows])
    return difference(importers[:, None], sizes, apart, similarity_weight) + view.reports.unit_cost


def limits(gain: Gain, reports: Profiles, price: Array, rows: Rows | None = None) -> Array:
    """N_j^Th - N_j: with less imported data than this, adding j's model is worth its price; -inf for one's own.

    `price` has one row per importer: all owners, or those in `rows`.

    >>> from fedabm.mechanisms.market.gains import SquareRootGain
    >>> reports = Profiles(np.array([200.0, 100.0]), 0.05, 100.0)
    >>> round(float(limits(SquareRootGain(), reports, np.full((2, 2), 0.05))[0, 1]) + 100.0, 6)
    316.399193
    """
    importers = np.arange(len(reports)) if rows is None else np.asarray(rows)
    eagerness = reports.eagerness[importers]
    found = gain.room(reports.size, eagerness[:, None], price) - reports.size[importers, None]
    found[price == 0.0] = np.inf
    found[np.isposinf(price)] = -np.inf
    found[eagerness == 0.0] = -np.inf
    found[np.arange(len(importers)), importers] = -np.inf
    return found


def thresholds(gain: Gain, reports: Profiles, price: Array) -> Array:
    """N_j^Th of owner i; -inf where no import is ever worth it."""
    return limits(gain, reports, price) + reports.size
