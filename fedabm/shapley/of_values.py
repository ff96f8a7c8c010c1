"""Shapley values of a game that is given by what its coalitions are worth, without an accuracy or a profile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.shapley.enumeration import of_values

__all__ = ["coalitions_of", "shapley_of_values"]


def coalitions_of(players: int, members: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
    """All coalitions of some `members` (default: of all players), (2^k, players), nobody first and all of them last.

    >>> coalitions_of(3, np.array([0, 2])).astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]

    Parameters
    ----------
    players : int
        How many players there are.
    members : NDArray[np.intp] | None, optional
        Those that coalitions are made of; by default all.

    Returns
    -------
    NDArray[np.bool_]
        Shape (2^members, players), nobody first and all last.
    """
    who = np.arange(players) if members is None else np.asarray(members)
    found = np.zeros((2 ** len(who), players), dtype=bool)
    found[:, who] = (np.arange(2 ** len(who))[:, None] >> np.arange(len(who))) & 1
    return found


def shapley_of_values(values: Array) -> Array:
    """phi_i = sum_{X without i} |X|! (n - |X| - 1)! / n! (v(X + i) - v(X)).  Shapley 1953.

    Parameters
    ----------
    values
        What all coalitions are worth, (..., 2^n), in the order of `coalitions_of`; one game or many.

    Returns
    -------
    numpy.ndarray
        A share for each player, (..., n); they sum to v(all) - v(nobody).

    Examples
    --------
    Two players that are worth 1 and 2 alone and 5 together share what both add by halves:

    >>> shapley_of_values(np.array([0.0, 1.0, 2.0, 5.0]))
    array([2., 3.])
    """
    values = np.asarray(values, dtype=float)
    players = values.shape[-1].bit_length() - 1
    if players < 0 or values.shape[-1] != 2**players:
        raise InputError(f"{values.shape[-1]} values are not those of all coalitions; give 2^n of them")
    return of_values(values) if players else np.zeros((*values.shape[:-1], 0))
