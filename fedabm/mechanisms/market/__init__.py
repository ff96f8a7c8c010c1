"""The model-sharing market iPFL, part by part, for given reports and distances; `ModelMarket` is the mechanism."""

from fedabm.mechanisms.market.distances import CosineDistance, Distance, EuclideanDistance, cluster_distances
from fedabm.mechanisms.market.fixed_models import GivenModels
from fedabm.mechanisms.market.gains import Gain, LogarithmicGain, SquareRootGain
from fedabm.mechanisms.market.optimum import best_graph
from fedabm.mechanisms.market.payments import remittances
from fedabm.mechanisms.market.reports import PROHIBITIVE, eagerness_of, market_reports, unit_costs_of
from fedabm.mechanisms.market.selection import select
from fedabm.mechanisms.market.thresholds import difference, limits, prices, thresholds
from fedabm.mechanisms.market.valuation import ImportGain
from fedabm.mechanisms.market.welfare import objectives, pooled, social_welfare, unstable, utilities

__all__ = [
    "PROHIBITIVE",
    "CosineDistance",
    "Distance",
    "EuclideanDistance",
    "Gain",
    "GivenModels",
    "ImportGain",
    "LogarithmicGain",
    "SquareRootGain",
    "best_graph",
    "cluster_distances",
    "difference",
    "eagerness_of",
    "limits",
    "market_reports",
    "objectives",
    "pooled",
    "prices",
    "remittances",
    "select",
    "social_welfare",
    "thresholds",
    "unit_costs_of",
    "unstable",
    "utilities",
]
