"""Equilibria without simulating.

game           accuracies, costs, capacities and a mechanism; its utilities, slopes and certified gap
equilibrium    `solve`; `candidates` names what it certifies: `newton` and `interior_point` from an `opening`, best
               responses (`search`, then `polish`) and `potential`
many           `solve_many`: small games of one kind as one table, by the same methods
table          what the two methods ask of games: one is a table of one; `jacobian` and `linear_model` for both
several        `solve_all` and `equilibria`: is there another one?  `uniqueness`: what can be proven about that
dynamics       the papers' best-response dynamics; `rates`: how large their steps may be
truth          reports of costs as strategies: is truth an equilibrium, ex post or on average?
metrics        how good and how fair an outcome is
coalitions     who joins whom: partitions that are stable in the core or one by one
tuning         `tune`: the parameters of any rule for a goal; `goals`: measures of its equilibria
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
