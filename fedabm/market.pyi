from fedabm.mechanisms.market.distances import (
    CosineDistance as CosineDistance,
)
from fedabm.mechanisms.market.distances import (
    Distance as Distance,
)
from fedabm.mechanisms.market.distances import (
    EuclideanDistance as EuclideanDistance,
)
from fedabm.mechanisms.market.distances import (
    cluster_distances as cluster_distances,
)
from fedabm.mechanisms.market.fixed_models import GivenModels as GivenModels
from fedabm.mechanisms.market.gains import (
    Gain as Gain,
)
from fedabm.mechanisms.market.gains import (
    LogarithmicGain as LogarithmicGain,
)
from fedabm.mechanisms.market.gains import (
    SquareRootGain as SquareRootGain,
)
from fedabm.mechanisms.market.optimum import best_graph as best_graph
from fedabm.mechanisms.market.payments import remittances as remittances
from fedabm.mechanisms.market.reports import (
    PROHIBITIVE as PROHIBITIVE,
)
from fedabm.mechanisms.market.reports import (
    eagerness_of as eagerness_of,
)
from fedabm.mechanisms.market.reports import (
    market_reports as market_reports,
)
from fedabm.mechanisms.market.reports import (
    unit_costs_of as unit_costs_of,
)
from fedabm.mechanisms.market.selection import select as select
from fedabm.mechanisms.market.thresholds import (
    difference as difference,
)
from fedabm.mechanisms.market.thresholds import (
    limits as limits,
)
from fedabm.mechanisms.market.thresholds import (
    prices as prices,
)
from fedabm.mechanisms.market.thresholds import (
    thresholds as thresholds,
)
from fedabm.mechanisms.market.valuation import ImportGain as ImportGain
from fedabm.mechanisms.market.welfare import (
    objectives as objectives,
)
from fedabm.mechanisms.market.welfare import (
    pooled as pooled,
)
from fedabm.mechanisms.market.welfare import (
    social_welfare as social_welfare,
)
from fedabm.mechanisms.market.welfare import (
    unstable as unstable,
)
from fedabm.mechanisms.market.welfare import (
    utilities as utilities,
)
from fedabm.results.market_graphs import (
    graph_measures as graph_measures,
)
from fedabm.results.market_graphs import (
    import_table as import_table,
)
from fedabm.results.market_graphs import (
    market_graph as market_graph,
)
from fedabm.results.market_graphs import (
    money_table as money_table,
)
from fedabm.results.market_graphs import (
    owner_measures as owner_measures,
)
from fedabm.simulation.lies import Sybil as Sybil
from fedabm.simulation.lies import misreport as misreport
from fedabm.simulation.roles import (
    INCLUSIVE_MARKET as INCLUSIVE_MARKET,
)
from fedabm.simulation.roles import (
    ROLES as ROLES,
)
from fedabm.simulation.roles import (
    Role as Role,
)
from fedabm.simulation.roles import (
    market_owners as market_owners,
)
from fedabm.simulation.roles import (
    role_reports as role_reports,
)
