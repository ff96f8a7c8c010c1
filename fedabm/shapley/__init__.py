"""Shapley shares of the sum of all owners' accuracies: exact for 100,000 owners, sampled for any oracle.

`shapley` and `shapley_marginals` give the shares and their slopes, `shapley_curves` the shares as functions of the own
contribution, `shapley_jacobian` what Newton's method needs, `shapley_potential` the potential whose gains the shares
are.  One module per method; `shared` is the quadrature where thousands of owners add to one total, by tables that all
of them share (`tabulated`).
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
