"""Arithmetic in which a row's result does not depend, to the last bit, on the rows that are computed with it.

An owner decides the same alone, in a cohort and in any order of turns only if its curves are computed the same.  NumPy
promises less: a power takes another path where one exponent serves many numbers, a matrix product and `einsum` add in
another order for one row than for many.  Whatever is asked row by row goes through these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

__all__ = ["power", "product", "raised", "sum_last", "weighted_sum"]

#: powers that NumPy computes in a way of their own where one exponent serves a whole row of numbers
_OWN_WAY = {-1.0: np.reciprocal, 0.5: np.sqrt, 1.0: np.positive, 2.0: np.square}


def power(base: Array, exponent: Any) -> Array:
    """base ** exponent, number by number.

    The general power differs from a product or a root in the last bit on some processors; so squares, roots and
    inverses are taken as such wherever they occur.

    >>> power(np.array([[3.0], [4.0]]), np.array([[2.0], [0.5]])).ravel()
    array([9., 2.])
    """
    grown = np.power(base, exponent)
    for special, function in _OWN_WAY.items():
        which = np.equal(exponent, special)
        if np.any(which):
            function(base, out=grown, where=which)
    return grown


def raised(base: Array, exponent: Any) -> Array:
    """base ** exponent; NumPy's own way with one exponent for all, the same numbers with one for each."""
    return power(base, exponent) if np.ndim(exponent) else base**exponent


def sum_last(terms: Array) -> Array:
    """The sum over the last axis; the order of adding depends on the layout in memory, so that is made the same."""
    return np.ascontiguousarray(terms).sum(axis=-1)


def weighted_sum(terms: Array, weights: Array) -> Array:
    """sum_k terms[..., k] * weights[..., k]: one inner product for each of the leading entries.

    >>> weighted_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]))
    array([12., 34.])
    """
    terms, weights = np.ascontiguousarray(terms), np.ascontiguousarray(weights)
    return np.matmul(terms[..., None, :], weights[..., :, None])[..., 0, 0]


def product(rows: Array, table: Array) -> Array:
    """rows (..., k) @ table (k, m), one row at a time.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 4.0]]))
    array([[3., 8.]])
    """
    return np.matmul(np.ascontiguousarray(rows)[..., None, :], table)[..., 0, :]
