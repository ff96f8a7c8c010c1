from fedabm.common.arrays import Array as Array
from fedabm.games.best import best_response as best_response
from fedabm.games.budgets import Budgeted as Budgeted
from fedabm.games.budgets import CobbDouglas as CobbDouglas
from fedabm.games.collaboration import collaborative_fairness as collaborative_fairness
from fedabm.games.collaboration import share_as_well_as_alone as share_as_well_as_alone
from fedabm.games.curves import Line as Line
from fedabm.games.individual import (
    individual_optimum as individual_optimum,
)
from fedabm.games.individual import (
    smallest_federation as smallest_federation,
)
from fedabm.games.individual import (
    viability_cost as viability_cost,
)
from fedabm.games.intervals import ProofLimits as ProofLimits
from fedabm.games.offers import Offers as Offers
from fedabm.games.offers import full_access as full_access
from fedabm.games.rivals import Rivalry as Rivalry
from fedabm.games.spillovers import CostSpillover as CostSpillover
from fedabm.games.valuation import ReceivedAccuracy as ReceivedAccuracy
from fedabm.games.valuation import Valuation as Valuation
