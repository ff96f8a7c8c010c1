"""A federation as an environment for reinforcement learners; needs the extra `rl` (Gymnasium and PettingZoo).

actions      what a learner's numbers mean: data given, and what is said about it
federation   `FederationEnv`, a PettingZoo environment in which several owners learn
single       `OwnerEnv`, a Gymnasium environment in which one owner learns beside strategies
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, extra="rl")
