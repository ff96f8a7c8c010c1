"""What data costs its owner: c(s), private, never falling, and convex between its kinks.

- `base`       the protocol, and how to write a cost of your own: a subclass of `Cost` with `value(x)`
- `power`      the closed family fixed + rate * s^exponent: `Linear`, `Affine`, `Power`, `Quadratic`
- `piecewise`  straight pieces with kinks and jumps: `Piecewise`, `Tabulated`
- `many`       the costs of many owners as one: `stack`, `costs_of`
- `checks`     whether a cost of your own keeps what it promises
"""

from fedabm.games.costs.base import Cost
from fedabm.games.costs.checks import check_costs
from fedabm.games.costs.many import costs_of, covers, of_one_kind, replaced, single, stack
from fedabm.games.costs.piecewise import Piecewise, PiecewiseCost, Tabulated
from fedabm.games.costs.power import Affine, Linear, Power, PowerCost, Quadratic

__all__ = [
    "Affine",
    "Cost",
    "Linear",
    "Piecewise",
    "PiecewiseCost",
    "Power",
    "PowerCost",
    "Quadratic",
    "Tabulated",
    "check_costs",
    "costs_of",
    "covers",
    "of_one_kind",
    "replaced",
    "single",
    "stack",
]
