"""The model-sharing market iPFL on given distances and sizes: no training, so that sweeps take milliseconds."""

from fedabm.market.distances import Cosine, Distance, Euclidean, cluster_distances
from fedabm.market.gains import Gain, LogarithmicGain, SquareRootGain
from fedabm.market.graphs import graph_measures, market_graph, owner_measures
from fedabm.market.lies import Sybil, misreport
from fedabm.market.model_market import ModelMarket
from fedabm.market.optimum import best_graph
from fedabm.market.payments import remittances
from fedabm.market.roles import INCLUSIVE_MARKET, ROLES, Role, role_profiles
from fedabm.market.selection import select
from fedabm.market.thresholds import difference, limits, prices, thresholds
from fedabm.market.views import MarketOutcome, MarketView, Profiles
from fedabm.market.welfare import objectives, pooled, social_welfare, unstable, utilities

__all__ = [
    "INCLUSIVE_MARKET",
    "ROLES",
    "Cosine",
    "Distance",
    "Euclidean",
    "Gain",
    "LogarithmicGain",
    "MarketOutcome",
    "MarketView",
    "ModelMarket",
    "Profiles",
    "Role",
    "SquareRootGain",
    "Sybil",
    "best_graph",
    "cluster_distances",
    "difference",
    "graph_measures",
    "limits",
    "market_graph",
    "misreport",
    "objectives",
    "owner_measures",
    "pooled",
    "prices",
    "remittances",
    "role_profiles",
    "select",
    "social_welfare",
    "thresholds",
    "unstable",
    "utilities",
]
