"""What flows through a model-sharing market: owners' profiles, what the server sees, and what it decides.

Row i is the importer (buyer), column j the giver (seller), as in the paper's adjacency a_ij.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_positive, finite_vector
from fedabm.games.curves import Array, Rows
from fedabm.views import Flags, Transfers

__all__ = ["MODEL_IMPORT", "MarketOutcome", "MarketView", "Profiles"]

#: why owners pay each other in a market, as the ledger says
MODEL_IMPORT = "model import"


@dataclass(frozen=True)
class Profiles:
    """Data sizes N_i, costs c_i of every import of the own model, eagerness K_i for data; true or as reported.

    A cost may be infinite: such an owner never sells.  An owner without eagerness never buys.

    >>> Profiles(np.array([100.0, 50.0]), 1.0, 2e4).unit_cost
    array([1., 1.])
    """

    size: Array
    unit_cost: Array
    eagerness: Array

    def __post_init__(self) -> None:
        size = finite_vector("size", self.size)
        check_positive("size", size)
        object.__setattr__(self, "size", size)
        eagerness = finite_vector("eagerness", self.eagerness, len(size))
        check_positive("eagerness", eagerness, zero=True)
        object.__setattr__(self, "eagerness", eagerness)
        object.__setattr__(self, "unit_cost", _costs(self.unit_cost, len(size)))

    def __len__(self) -> int:
        return len(self.size)

    def take(self, rows: Rows) -> Profiles:
        """The profiles of some owners, in the order of `rows`; a row may be taken twice."""
        return Profiles(self.size[rows], self.unit_cost[rows], self.eagerness[rows])


@dataclass(frozen=True)
class MarketView:
    """All that the server knows when it settles a round: what owners report, and how far apart their models are.

    A distance that is not finite belongs to a model that cannot be used: nobody imports it.
    """

    reports: Profiles
    distances: Array

    def __post_init__(self) -> None:
        distances, owners = np.asarray(self.distances, dtype=float), len(self.reports)
        if distances.shape != (owners, owners):
            raise InputError(
                f"distances have shape {distances.shape}, but {owners} owners report; give {owners} x {owners}"
            )
        if np.any(distances < -1e-9):
            raise InputError(
                f"distances must not be negative, got {np.nanmin(distances):g}; use for instance 1 - cosine"
            )
        object.__setattr__(self, "distances", distances)


@dataclass(frozen=True)
class MarketOutcome:
    """Who imports whose model, and who pays whom.

    `adjacency[i, j]`: i imports j's model; `remittances[i, j]` is what i pays j for it; `payments` is money to each
    owner (negative: it pays), so that they sum to zero; `transfers` are the same remittances as ledger entries.
    """

    adjacency: Flags
    remittances: Array

    @property
    def payments(self) -> Array:
        """What each owner receives less what it pays: -p_i of eq. (10)."""
        return self.remittances.sum(axis=0) - self.remittances.sum(axis=1)

    @property
    def transfers(self) -> Transfers:
        """One ledger entry per remittance; the server's account is not touched."""
        payer, payee = np.nonzero(self.remittances)
        return Transfers(payer, payee, self.remittances[payer, payee], MODEL_IMPORT)

    @property
    def imports(self) -> NDArray[np.intp]:
        """How many models each owner imports."""
        return self.adjacency.sum(axis=1)

    @property
    def exports(self) -> NDArray[np.intp]:
        """How many others import each owner's model."""
        return self.adjacency.sum(axis=0)


def _costs(value: Array | float, owners: int) -> Array:
    costs = np.atleast_1d(np.asarray(value, dtype=float))
    if np.any(np.isnan(costs)) or np.any(costs < 0):
        raise InputError(f"costs must be zero, positive or infinite, got {np.nanmin(costs):g}; mend the reported costs")
    if costs.ndim != 1 or costs.size not in (1, owners):
        raise InputError(f"{costs.size} costs but {owners} owners; give one per owner, or one for all")
    return np.repeat(costs, owners) if costs.size == 1 and owners != 1 else costs
