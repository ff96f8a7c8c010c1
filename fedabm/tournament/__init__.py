"""Which behaviour survives under which mechanism?  Every strategy meets every mixture of all of them.

play         federations of all mixtures, run on the same owners and seeds
empirical    their payoffs as a symmetric game: what each strategy earns among others drawn from a mixture
replicator   how mixtures change when what earns more spreads, and where they end
equilibria   mixtures in which nothing else would earn more
finite       small populations: fixation of a mutant (Moran process), and alpha-rank
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
