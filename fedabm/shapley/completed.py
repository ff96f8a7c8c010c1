"""A table of which some entries were seen, completed by the few patterns that all its rows are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_positive, check_whole
from fedabm.games.curves import Array

__all__ = ["completed"]


def completed(table: Array, rank: int = 3, weight: float = 1e-4, sweeps: int = 200, tolerance: float = 1e-8) -> Array:
    """The table with what was not seen (not a number) filled in by a product of two thin tables.

        min_{W, H}  sum_{seen (t, X)} (U_tX - w_t . h_X)^2 + weight (|W|^2 + |H|^2)

    by alternating least squares from the singular vectors of the table with zeros for what was not seen.  Fan et al.
    2022 (ComFedSV), eq. (9); the weight is relative to the mean square of what was seen.

    Parameters
    ----------
    table
        (rows, columns); not a number where nothing was seen.
    rank
        How many patterns rows are made of.
    weight
        How much large factors are held down.
    sweeps, tolerance
        How often the factors are solved for in turn, at most, and the relative change at which that ends.

    Returns
    -------
    numpy.ndarray
        What was seen as it was, the rest as completed; a row or column of which nothing was seen is 0 there.
    """
    check_whole("rank", rank)
    check_positive("weight of the factors", weight)
    seen = np.isfinite(table)
    if table.ndim != 2 or not seen.any():
        raise InputError(f"a table of shape {table.shape} with {int(seen.sum())} entries cannot be completed; see some")
    scale = float(np.sqrt(np.mean(table[seen] ** 2))) or 1.0
    known = np.where(seen, table, 0.0) / scale
    patterns = min(rank, *table.shape)
    left, sizes, right = np.linalg.svd(known, full_matrices=False)
    rows, columns = left[:, :patterns] * np.sqrt(sizes[:patterns]), right[:patterns].T * np.sqrt(sizes[:patterns])
    found = rows @ columns.T
    for _ in range(sweeps):
        rows = _solved(known, seen, columns, weight)
        columns = _solved(known.T, seen.T, rows, weight)
        before, found = found, rows @ columns.T
        if np.abs(found - before).max() <= tolerance * max(np.abs(found).max(), 1e-300):
            break
    return np.where(seen, table, scale * found)


def _solved(known: Array, seen: NDArray[np.bool_], factors: Array, weight: float) -> Array:
    """For each row the coefficients that explain what was seen of it, (rows, rank)."""
    products = np.einsum("rc,ca,cb->rab", seen.astype(float), factors, factors, optimize=True)
    products += weight * np.eye(factors.shape[1])
    return np.linalg.solve(products, (known @ factors)[..., None])[..., 0]
