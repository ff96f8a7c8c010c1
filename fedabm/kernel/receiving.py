"""Owners get their models and money, and bear their true costs:

u_i = gain_i + payment_i - cost_i,  by default  access_i * a_i(true contributions) + payment_i - c_i(true contribution).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedabm.games.costs import Cost
from fedabm.games.curves import Array, Flags
from fedabm.games.valuation import Deal, Valuation
from fedabm.views import Outcome

__all__ = ["Private", "Receipt", "imported", "receive", "utility"]


class Private(NamedTuple):
    """What is true of the owners in a round and known to themselves alone, one entry each (..., n).

    contribution  data it really used
    capacity      data it has
    cost          its true cost function
    eagerness     how eager it is for others' data
    person        who is behind it: owners of the same number are one person
    """

    contribution: Array
    capacity: Array
    cost: Cost
    eagerness: Array
    person: np.ndarray


class Receipt(NamedTuple):
    """What a round brings the owners: the worth of the model handed to each, gain, true cost, money and utility."""

    accuracy: Array
    gain: Array
    cost: Array
    payment: Array
    utility: Array


def receive(
    outcome: Outcome,
    worth: Array,
    valuation: Valuation,
    private: Private,
    *,
    handed: Array | None = None,
    payment: Array | None = None,
) -> Receipt:
    """What an outcome brings owners to whom the full model is worth `worth`, (..., n).

    `handed` is what the models are worth that owners really get, where that is more than a matter of access (None:
    access * worth); `payment` what they are really paid, where somebody cannot pay or pays later (None: what is due).
    """
    accuracy = outcome.access * worth if handed is None else handed
    paid = outcome.payments if payment is None else payment
    if not accuracy.size:
        nothing = np.zeros_like(accuracy)
        return Receipt(accuracy, nothing, nothing, paid, nothing)
    deal = Deal(accuracy, *private, imported(outcome))
    gain, cost = valuation.gain(deal), valuation.cost(deal)
    return Receipt(accuracy, gain, cost, paid, valuation.utility(deal, gain, paid, cost))


def utility(gain: Array, payment: Array, cost: Array) -> Array:
    """u = gain + payment - cost.

    >>> utility(np.array([0.9]), np.array([-0.1]), np.array([0.3])).round(3)
    array([0.5])
    """
    return gain + payment - cost


def imported(outcome: Outcome) -> Flags | None:
    """(n, n): whether i imports j's model, used or not, its own apart; None where all share one model."""
    if outcome.adjacency is None:
        return None
    linked = np.asarray(outcome.adjacency) != 0
    if outcome.exchange is not None and outcome.exchange.imported is not None:
        linked = linked | outcome.exchange.imported
    return linked & ~np.eye(len(linked), dtype=bool)
