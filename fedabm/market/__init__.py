"""The model-sharing market iPFL: a mechanism of the agent-based model, and alone on given distances and sizes."""

from fedabm.market.distances import Cosine, Distance, Euclidean, cluster_distances
from fedabm.market.gains import Gain, LogarithmicGain, SquareRootGain
from fedabm.market.given import GivenModels
from fedabm.market.graphs import graph_measures, import_table, market_graph, money_table, owner_measures
from fedabm.market.lies import Sybil, misreport
from fedabm.market.model_market import ModelMarket
from fedabm.market.optimum import best_graph
from fedabm.market.payments import remittances
from fedabm.market.roles import INCLUSIVE_MARKET, PROHIBITIVE, ROLES, Role, market_owners, role_profiles
from fedabm.market.selection import select
from fedabm.market.thresholds import difference, limits, prices, thresholds
from fedabm.market.valuation import ImportGain
from fedabm.market.views import MarketOutcome, MarketView, Profiles
from fedabm.market.welfare import objectives, pooled, social_welfare, unstable, utilities

__all__ = [
    "INCLUSIVE_MARKET",
    "PROHIBITIVE",
    "ROLES",
    "Cosine",
    "Distance",
    "Euclidean",
    "Gain",
    "GivenModels",
    "ImportGain",
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
    "import_table",
    "limits",
    "market_graph",
    "market_owners",
    "misreport",
    "money_table",
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
