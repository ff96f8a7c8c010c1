"""Money that is not there: what a rule pays from outside, and welfare without it.

Welfare is the sum of utilities, so whatever a server pays from its own pocket counts as if it came from nowhere:

    outside money = sum_i p_i,      net welfare = welfare - outside money = sum_i (gain_i - c_i).

Outside money is negative where a rule leaves money with the server.  Every table, ranking and audit uses these two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.texts import readable

__all__ = ["deficit", "net_welfare", "outside_money"]

#: sums of payments below this share of the amounts are what rounding left
_ROUNDING = 1e-12


def outside_money(payments: Array) -> Any:
    """What owners are paid from outside less what they leave there, along the last axis; rounding is none.

    Parameters
    ----------
    payments
        Money to each owner, (..., owners); negative where it pays.

    Returns
    -------
    One number per run: positive is a deficit that somebody outside must bear.

    >>> float(outside_money(np.array([3.0, -1.0]))), float(outside_money(np.array([0.3, -0.1, -0.2])))
    (2.0, 0.0)
    """
    paid = np.asarray(payments, dtype=float)
    total = paid.sum(axis=-1)
    return np.where(np.abs(total) <= _ROUNDING * np.abs(paid).sum(axis=-1), 0.0, total)


def net_welfare(utilities: Array, payments: Array) -> Any:
    """The sum of utilities less the money that came from outside, along the last axis.

    Parameters
    ----------
    utilities, payments
        Of each owner, (..., owners).

    Returns
    -------
    One number per run.

    >>> float(net_welfare(np.array([4.0, 1.0]), np.array([3.0, -1.0])))
    3.0
    """
    return np.asarray(utilities, dtype=float).sum(axis=-1) - outside_money(payments)


def deficit(label: str, welfare: float, outside: float) -> str | None:
    """A line for a rule that pays more than it takes; None where it does not.

    >>> deficit("Clarke", 12.0, 3.0)
    'Clarke: owners get 3 from outside in a step; without it welfare is 9, not 12'
    >>> deficit("Clarke", 12.0, -3.0) is None
    True
    """
    if not outside > 1e-9 * max(abs(welfare), 1e-12):
        return None
    net = f"without it welfare is {readable(welfare - outside, 5)}, not {readable(welfare, 5)}"
    return f"{label}: owners get {readable(outside)} from outside in a step; {net}"
