"""Leave-one-out sums: what everybody else has in sum, for one owner after the other."""

from __future__ import annotations

import numpy as np

from fedabm.common.arrays import Array

__all__ = ["sum_of_others"]

#: from this many numbers on they are added in a table, with this many rows
_MANY, _TABLE_ROWS = 4096, 16


def sum_of_others(x: Array) -> Array:
    """What everybody else has in sum, added up from both sides: a difference from the total would lose the digits.

    >>> sum_of_others(np.array([1e20, 3.0, 4.0]))
    array([7.e+00, 1.e+20, 1.e+20])
    """
    if x.shape[-1] >= _MANY:
        return _sum_of_many_others(x)
    others = np.zeros(x.shape)
    np.cumsum(x[..., :-1], axis=-1, out=others[..., 1:])
    others[..., :-1] += np.cumsum(x[..., :0:-1], axis=-1)[..., ::-1]
    return others


def _sum_of_many_others(x: Array) -> Array:
    """The same by rows of a table: the others in the own column from above and below, and all other columns.

    A row is added at once, where running sums wait for every single number.  Who finds no place stands beside.
    """
    columns = x.shape[-1] // _TABLE_ROWS
    seated = columns * _TABLE_ROWS
    found, shape = np.empty(x.shape), (*x.shape[:-1], _TABLE_ROWS, columns)
    table, others = x[..., :seated].reshape(shape), found[..., :seated].reshape(shape)
    above = np.zeros(others[..., 0, :].shape)
    for row in range(_TABLE_ROWS):
        others[..., row, :] = above
        above += table[..., row, :]
    below = np.zeros(above.shape)
    for row in reversed(range(_TABLE_ROWS)):
        others[..., row, :] += below
        below += table[..., row, :]
    further = sum_of_others(np.concatenate([above, x[..., seated:]], axis=-1))
    others += further[..., None, :columns]
    found[..., seated:] = further[..., columns:]
    return found
