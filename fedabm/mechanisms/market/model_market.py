"""The mechanism iPFL: a market in which owners buy and sell models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedabm.common.bounds import within
from fedabm.common.errors import check_kind, check_positive
from fedabm.games.curves import Array
from fedabm.mechanisms.market.distances import CosineDistance, Distance, import_weights
from fedabm.mechanisms.market.gains import Gain, SquareRootGain
from fedabm.mechanisms.market.payments import remittances
from fedabm.mechanisms.market.reports import check_distances
from fedabm.mechanisms.market.selection import select
from fedabm.mechanisms.market.thresholds import limits, prices
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.views import Exchange, Flags, LocalTask, Reports, Sent

__all__ = ["ModelMarket"]

# Pairs of owners that are worked on together.
_BLOCK = 2**17


@dataclass(frozen=True)
class ModelMarket(Personalised):
    """Everyone imports the models that are worth their price, and pays their marginal gain.

    Owner i imports j's model at the price c_j + lambda (N_j / N_i) d_ij, lambda = `similarity_weight`, by Algorithm 2,
    and pays r_ij by eq. (10).  The algorithm is corrected as `select` says; `printed` gives it as
    printed, which leaves out free models, too.  Owners go on from their own models, held to proximal centres, which
    are one gradient step of size eta = `step` on the distances to their imports, eq. (6), by lambda / (2 eta), eq. (7):
    to their loss `strength` / 2 |w - centre|^2 is added, lambda / eta unless another is given.

    In a federation it settles on what owners send (`fedabm.learning.personal`, or `GivenModels` without training);
    `clear` is the market alone, on given distances.  Pure: the same view gives the same outcome.  iPFL 2025, Section 4.

    >>> from fedabm.mechanisms.market import market_reports
    >>> adjacency, paid = ModelMarket().clear(market_reports([200.0, 200.0], 1.0, 2e4), np.zeros((2, 2)))
    >>> adjacency.sum(axis=1), paid.sum(axis=0) - paid.sum(axis=1)
    (array([1, 1]), array([0., 0.]))

    Parameters
    ----------
    similarity_weight : float, optional
        lambda: how much the difference of two models counts.
    step : float, optional
        eta: the step from the own model towards those imported.
    gain : Gain, optional
        What imported data are worth, as a function of their amount.
    distance : Distance, optional
        How the difference of two models is measured.
    printed : bool, optional
        Whether Algorithm 2 is taken as printed, which leaves out free models.
    strength : float | None, optional
        The weight of the pull to the centre in the owner's loss; by default lambda / eta.
    """

    similarity_weight: float = field(default=1.0, metadata=within(0.0, 10.0))
    step: float = field(default=1.0, metadata=within(0.01, 10.0, log=True))
    gain: Gain = field(default_factory=SquareRootGain)
    distance: Distance = field(default_factory=CosineDistance)
    printed: bool = False
    strength: float | None = field(default=None, metadata=within(0.0, 10.0))
    #: an importer that needs one of two equal models takes the one of the owner with the lower number
    equal_treatment: ClassVar[bool] = False
    asks_cost: ClassVar[bool] = True
    asks_eagerness: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("similarity_weight", self.similarity_weight, zero=True)
        check_positive("step", self.step)
        if self.strength is not None:
            check_positive("strength", self.strength, zero=True)
        check_kind("gain", self.gain, Gain)
        check_kind("distance", self.distance, Distance)

    def exchange(self, sent: Sent) -> Exchange:
        """Clear the market among those who sent a usable model and claim data, and hold everyone to its centre."""
        silent, apart = sent.size <= 0, sent.distances(self.distance.between)
        apart[silent], apart[:, silent] = np.nan, np.nan
        size = np.where(silent, 1.0, sent.size)
        adjacency, paid = self.clear(replace(sent.reports, size=size), apart)
        weights = import_weights(adjacency, size)
        centres = sent.pulled(lambda products: self.step * self.distance.pull(products, weights))
        strength = self.similarity_weight / self.step if self.strength is None else self.strength
        return Exchange(LocalTask(None, centres, strength), weights, paid=paid)

    def clear(self, reports: Reports, distances: Array) -> tuple[Flags, Array]:
        """Who imports (row) whose model (column), and what it pays for it."""
        check_distances(distances, len(reports.size))
        adjacency, paid = np.zeros(distances.shape, dtype=bool), np.zeros(distances.shape)
        for rows in _blocks(len(adjacency)):
            adjacency[rows] = self._imports(reports, distances, rows)
            bought = adjacency[rows]
            paid[rows] = remittances(self.gain, reports, distances, bought, self.similarity_weight, rows)
        return adjacency, paid

    def _imports(self, reports: Reports, distances: Array, rows: NDArray[np.intp]) -> Flags:
        """Algorithm 2 for some importers."""
        price = prices(reports, distances, self.similarity_weight, rows)
        limit = limits(self.gain, reports, price, rows)
        if self.printed:
            limit[price == 0.0] = -np.inf
        return select(limit, reports.size, printed=self.printed)


def _blocks(owners: int) -> Iterator[NDArray[np.intp]]:
    """Rows in blocks that stay in the processor's cache, since importers do not depend on each other."""
    rows = max(_BLOCK // max(owners, 1), 1)
    return (np.arange(start, min(start + rows, owners)) for start in range(0, owners, rows))
