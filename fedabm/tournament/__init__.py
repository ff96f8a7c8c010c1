"""Which behaviour survives under which mechanism?  Every strategy meets every mixture of all of them.

play         federations of all mixtures, run on the same owners and seeds
empirical    their payoffs as a symmetric game: what each strategy earns among others drawn from a mixture
replicator   how mixtures change when what earns more spreads, and where they end
equilibria   mixtures in which nothing else would earn more
finite       small populations: fixation of a mutant (Moran process), and alpha-rank
"""

from fedabm.tournament.empirical import EmpiricalGame
from fedabm.tournament.equilibria import symmetric_equilibria
from fedabm.tournament.finite import alpha_rank, fixation
from fedabm.tournament.play import Tournament, play
from fedabm.tournament.replicator import ends, velocity

__all__ = [
    "EmpiricalGame",
    "Tournament",
    "alpha_rank",
    "ends",
    "fixation",
    "play",
    "symmetric_equilibria",
    "velocity",
]
