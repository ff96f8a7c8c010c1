"""What a round of the market is worth to owners by its own accounting: data imported, and models given away.

Gains come from true sizes and true eagerness, and the costs charged are true, whatever was reported; every mechanism is
judged alike, so that one that pays nothing still causes costs to whoever's model is used.  iPFL 2025, eq. (1) and (2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.games.valuation import Deal, Valuation
from fedabm.mechanisms.market.gains import Gain, SquareRootGain

__all__ = ["ImportGain"]


@dataclass(frozen=True)
class ImportGain(Valuation):
    """G_i of the data behind the models that owner i imports; the cost c_i of as many imports of its own model.

    Data are counted as truly used by the giver, the own ones as owned.  Accounts of one person are one: data that two
    of them import count once, their own not at all, and the gain is booked on the first of them.

    Parameters
    ----------
    function : Gain, optional
        What an amount of imported data is worth.
    """

    function: Gain = field(default_factory=SquareRootGain)

    def gain(self, deal: Deal) -> Array:
        """G_i = V_i(N_i + imported data) - V_i(N_i)."""
        imports, first, accounts = _by_person(deal)
        more = imports @ deal.contribution
        own, eager = accounts @ deal.capacity, np.where(accounts, deal.eagerness, 0.0).max(axis=1, initial=0.0)
        gained = np.zeros(len(deal.capacity))
        gained[first] = self.function.added(own, more, eager)
        return gained

    def cost(self, deal: Deal) -> Array:
        """c_i at the number of others that import the own model, less c_i(0): one rate each, if the cost is linear."""
        foreign = _imports(deal) & np.not_equal.outer(deal.person, deal.person)
        exports = foreign.sum(axis=0).astype(float)
        return deal.cost.value(exports) - deal.cost.value(np.zeros(len(exports)))


def _imports(deal: Deal) -> NDArray[np.bool_]:
    if deal.imports is None:
        raise InputError(
            "gains by imports need a mechanism that exchanges models, got one shared model; use ModelMarket"
        )
    return deal.imports.astype(bool)


def _by_person(deal: Deal) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.bool_]]:
    """Which accounts each person imports (persons, n), its first account, and which accounts are its own."""
    _, first, number = np.unique(deal.person, return_index=True, return_inverse=True)
    accounts = np.equal.outer(np.arange(len(first)), number)
    imports = _imports(deal)
    if len(first) < len(number):
        imports = (accounts.astype(float) @ imports > 0) & ~accounts
        return imports, first, accounts
    return imports[first], first, accounts
