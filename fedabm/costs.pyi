from fedabm.games.costs.base import Cost as Cost
from fedabm.games.costs.checks import check_costs as check_costs
from fedabm.games.costs.many import costs_of as costs_of
from fedabm.games.costs.piecewise import Piecewise as Piecewise
from fedabm.games.costs.piecewise import PiecewiseCost as PiecewiseCost
from fedabm.games.costs.piecewise import Tabulated as Tabulated
from fedabm.games.costs.power import (
    Affine as Affine,
)
from fedabm.games.costs.power import (
    Linear as Linear,
)
from fedabm.games.costs.power import (
    Power as Power,
)
from fedabm.games.costs.power import (
    PowerCost as PowerCost,
)
from fedabm.games.costs.power import (
    Quadratic as Quadratic,
)
