"""The mechanism iPFL: a market in which owners buy and sell models, without any training of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedabm.curves import Array
from fedabm.errors import check_positive
from fedabm.market.distances import Cosine, Distance, import_weights, proximal_centres
from fedabm.market.gains import Gain, SquareRootGain
from fedabm.market.payments import remittances
from fedabm.market.selection import select
from fedabm.market.thresholds import limits, prices
from fedabm.market.views import MarketOutcome, MarketView
from fedabm.views import Flags

__all__ = ["ModelMarket"]

# Pairs of owners that are worked on together.
_BLOCK = 2**17


@dataclass(frozen=True)
class ModelMarket:
    """Everyone imports the models that are worth their price, and pays their marginal gain.

    Owner i imports j's model at the price c_j + lambda (N_j / N_i) d_ij, lambda = `similarity_weight`, by Algorithm 2,
    and pays r_ij by eq. (10).  The algorithm is corrected as `fedabm.market.selection` says; `printed` gives it as
    printed, which leaves out free models, too.  `step` is the step size eta of the proximal centres, eq. (6).

    Pure: the same view gives the same outcome.  iPFL 2025, Section 4.2.

    >>> import numpy as np
    >>> from fedabm.market.views import Profiles
    >>> reports = Profiles(np.array([200.0, 200.0]), 1.0, 2e4)
    >>> outcome = ModelMarket().settle(MarketView(reports, np.zeros((2, 2))))
    >>> outcome.imports, outcome.payments
    (array([1, 1]), array([0., 0.]))
    """

    similarity_weight: float = 1.0
    step: float = 1.0
    gain: Gain = field(default_factory=SquareRootGain)
    distance: Distance = field(default_factory=Cosine)
    printed: bool = False

    def __post_init__(self) -> None:
        check_positive("similarity_weight", self.similarity_weight, zero=True)
        check_positive("step", self.step)

    def settle(self, view: MarketView) -> MarketOutcome:
        """Who imports whose model, and who pays whom."""
        adjacency, paid = np.zeros(view.distances.shape, dtype=bool), np.zeros(view.distances.shape)
        for rows in _blocks(len(adjacency)):
            adjacency[rows] = self._imports(view, rows)
            paid[rows] = remittances(self.gain, view, adjacency[rows], self.similarity_weight, rows)
        return MarketOutcome(adjacency, paid)

    def _imports(self, view: MarketView, rows: NDArray[np.intp]) -> Flags:
        """Algorithm 2 for some importers."""
        price = prices(view, self.similarity_weight, rows)
        limit = limits(self.gain, view.reports, price, rows)
        if self.printed:
            limit[price == 0.0] = -np.inf
        return select(limit, view.reports.size, printed=self.printed)

    def distances(self, models: Array, initial: Array) -> Array:
        """How far apart the uploaded models (rows) are, for the view."""
        return self.distance.between(models, initial)

    def centres(self, view: MarketView, outcome: MarketOutcome, models: Array, initial: Array) -> Array:
        """The proximal centre that each owner is sent, (owners, parameters)."""
        weights = import_weights(outcome.adjacency, view.reports.size)
        return proximal_centres(models, initial, weights, self.step, self.distance)


def _blocks(owners: int) -> Iterator[NDArray[np.intp]]:
    """Rows in blocks that stay in the processor's cache, since importers do not depend on each other."""
    rows = max(_BLOCK // max(owners, 1), 1)
    return (np.arange(start, min(start + rows, owners)) for start in range(0, owners, rows))
