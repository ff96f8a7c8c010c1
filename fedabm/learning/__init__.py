"""Real training under the game.

engine     trains and judges all owners' models as rows of one matrix: networks, layers, optimisers
rules      how a shared model is learned from what owners send: FedAvg, server optimisers, SCAFFOLD, robust rules
oracles    accuracies from training, which take the place of the closed forms in any scenario
personal   federations in which everyone has a model of its own
knowledge  what a server finds out of the worth of data by training or judging models

    from fedabm.learning import Engine, Krum, Learning, Recipe

    accuracy = Learning(Engine("mlp", data), Recipe(rule=Krum()))
"""

from fedabm.common.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
