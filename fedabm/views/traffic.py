"""Communication of a step: how many models, and how many bytes, went up to the server and down to owners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedabm.games.curves import Array, Flags
from fedabm.views.exchange import Exchange

__all__ = ["NO_TRAFFIC", "Traffic", "traffic_of"]


class Traffic(NamedTuple):
    """Models and bytes, up and down."""

    models_up: int = 0
    models_down: int = 0
    bytes_up: int = 0
    bytes_down: int = 0


#: nothing is trained
NO_TRAFFIC = Traffic()


def traffic_of(sent: NDArray[np.int64] | None, model_bytes: int, access: Array, exchange: Exchange | None) -> Traffic:
    """The traffic of a step in which owners `sent` this many models each (None: nothing was trained).

    One shared model goes to every owner with any `access` to it (0: it is absent).  Of an exchange an owner gets the
    models that it takes where it mixes them itself, else those that the server has mixed for it; where nobody gets any,
    nobody need send any.

    >>> traffic_of(np.array([1, 0, 1]), 400, np.array([1.0, 1.0, 0.0]), None)
    Traffic(models_up=2, models_down=2, bytes_up=800, bytes_down=800)

    Parameters
    ----------
    sent : NDArray[np.int64] | None
        How many models each owner sent; None: nothing was trained.
    model_bytes : int
        Size of a model.
    access : Array
        Share of the full model that each owner gets.
    exchange : Exchange | None
        What the server sends back.

    Returns
    -------
    Traffic
        Models and bytes, up and down.
    """
    if sent is None:
        return NO_TRAFFIC
    up = int(np.sum(sent))
    there = np.asarray(access) > 0
    down = int(np.count_nonzero(there)) if exchange is None else _handed(exchange, there)
    up = up if down or exchange is None else 0
    return Traffic(up, down, up * model_bytes, down * model_bytes)


def _handed(exchange: Exchange, there: Flags) -> int:
    """How many models the owners that are there get in an exchange."""
    if exchange.imported is not None:
        others = exchange.imported & ~np.eye(len(exchange.imported), dtype=bool)
        return int(np.count_nonzero(others[there]))
    tasks = [exchange.task] if exchange.personal is None else [exchange.task, exchange.personal]
    given = [part for task in tasks for part in (task.start, task.pull)] + [exchange.kept]
    kinds = {id(part) for part in given if part is not None}  # one that serves two ends is sent once
    return len(kinds) * int(np.count_nonzero(there))
