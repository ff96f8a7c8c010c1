"""The mechanism iPFL: a market in which owners buy and sell models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_positive
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.mechanisms.base import Mechanism
from fedabm.mechanisms.market.distances import Cosine, Distance, import_weights, proximal_centres
from fedabm.mechanisms.market.gains import Gain, SquareRootGain
from fedabm.mechanisms.market.payments import remittances
from fedabm.mechanisms.market.selection import select
from fedabm.mechanisms.market.thresholds import limits, prices
from fedabm.mechanisms.market.views import MarketOutcome, MarketView, Profiles
from fedabm.views import Flags, Outcome, Reports, ServerView

__all__ = ["ModelMarket"]

# Pairs of owners that are worked on together.
_BLOCK = 2**17


@dataclass(frozen=True)
class ModelMarket(Mechanism):
    """Everyone imports the models that are worth their price, and pays their marginal gain.

    Owner i imports j's model at the price c_j + lambda (N_j / N_i) d_ij, lambda = `similarity_weight`, by Algorithm 2,
    and pays r_ij by eq. (10).  The algorithm is corrected as `select` says; `printed` gives it as
    printed, which leaves out free models, too.  Owners go on from their own models, held to proximal centres, which
    are one gradient step of size eta = `step` on the distances to their imports, eq. (6), by lambda / (2 eta), eq. (7).

    In a federation it settles on what owners send (`fedabm.learning.personal`, or `GivenModels` without training);
    `clear` is the market alone, on given distances.  Pure: the same view gives the same outcome.  iPFL 2025, Section 4.

    >>> import numpy as np
    >>> from fedabm.mechanisms.market.views import Profiles
    >>> reports = Profiles(np.array([200.0, 200.0]), 1.0, 2e4)
    >>> outcome = ModelMarket().clear(MarketView(reports, np.zeros((2, 2))))
    >>> outcome.imports, outcome.payments
    (array([1, 1]), array([0., 0.]))
    """

    similarity_weight: float = 1.0
    step: float = 1.0
    gain: Gain = field(default_factory=SquareRootGain)
    distance: Distance = field(default_factory=Cosine)
    printed: bool = False
    asks_cost: ClassVar[bool] = True
    asks_eagerness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("similarity_weight", self.similarity_weight, zero=True)
        check_positive("step", self.step)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The own model, whatever is contributed; nothing is proven about contributions, so no gap is certified."""
        return full_access(accuracy, reports.contribution, nothing(len(reports.contribution)), "unknown")

    def settle(self, view: ServerView) -> Outcome:
        """Clear the market among those who sent a usable model and claim data, and tell everyone what to train on."""
        if view.updates is None:
            raise InputError("a model market needs everyone's own model, got one shared; use Personal or GivenModels")
        market = self._market(view)
        outcome = self.clear(market)
        weights = import_weights(outcome.adjacency, market.reports.size)
        exchange = view.updates.held(weights, self.step, self.distance, self.similarity_weight / self.step)
        offers = self.offers(view.oracle, view.reports)
        full = np.ones(len(weights))
        return Outcome(full, outcome.payments, outcome.transfers, offers, weights, exchange=exchange)

    def _market(self, view: ServerView) -> MarketView:
        """Reports and distances; who claims no data is as far from all as an unusable model."""
        reports, size = view.reports, view.updates.size
        apart = view.updates.apart(self.distance)
        apart[size <= 0], apart[:, size <= 0] = np.nan, np.nan
        rate = np.zeros(len(size)) if reports.cost is None else reports.cost.rate
        eager = np.zeros(len(size)) if reports.eagerness is None else reports.eagerness
        return MarketView(Profiles(np.where(size > 0, size, 1.0), rate, eager), apart)

    def clear(self, view: MarketView) -> MarketOutcome:
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
