"""Shapley shares of the sum of all owners' accuracies: exact for thousands of owners, sampled for any oracle.

`shapley` and `shapley_marginals` give the shares and their slopes, `shapley_curves` the shares as functions of the own
contribution, `shapley_jacobian` what Newton's method needs, `shapley_potential` the potential whose gains the shares
are.  One module per method.
"""

from fedabm.shapley.methods import (
    METHODS,
    choose_method,
    shapley,
    shapley_curves,
    shapley_jacobian,
    shapley_marginals,
    shapley_potential,
)
from fedabm.shapley.shares import Shares

__all__ = [
    "METHODS",
    "Shares",
    "choose_method",
    "shapley",
    "shapley_curves",
    "shapley_jacobian",
    "shapley_marginals",
    "shapley_potential",
]
