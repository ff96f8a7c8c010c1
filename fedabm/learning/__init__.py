"""Real training under the game.

engine     trains and judges all owners' models as rows of one matrix: networks, layers, optimisers
rules      how a shared model is learned from what owners send: FedAvg, server optimisers, SCAFFOLD, robust rules
oracles    accuracies from training, which take the place of the closed forms in any scenario
personal   federations in which everyone has a model of its own

    from fedabm.learning import Engine, Learning, Recipe
    from fedabm.learning.rules import Krum

    accuracy = Learning(Engine("mlp", data), Recipe(rule=Krum()))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedabm.learning.engine.adapt import adapt
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.engine.networks import NETWORKS
    from fedabm.learning.engine.optimisers import SGD, Adam
    from fedabm.learning.oracles.coalition import Coalition
    from fedabm.learning.oracles.curve import Curve
    from fedabm.learning.oracles.fitted import fit_groups, measure_groups
    from fedabm.learning.oracles.learning import Learning
    from fedabm.learning.oracles.rounds import Rounds
    from fedabm.learning.oracles.scores import Measure
    from fedabm.learning.oracles.trained import Trained
    from fedabm.learning.personal.models import Personal
    from fedabm.learning.rules.recipe import Recipe

__all__ = [
    "NETWORKS",
    "SGD",
    "Adam",
    "Coalition",
    "Curve",
    "Engine",
    "Learning",
    "Measure",
    "Personal",
    "Recipe",
    "Rounds",
    "Trained",
    "adapt",
    "fit_groups",
    "measure_groups",
]

_MODULES = {
    "engine.adapt": ("adapt",),
    "engine.engine": ("Engine",),
    "engine.networks": ("NETWORKS",),
    "engine.optimisers": ("SGD", "Adam"),
    "oracles.coalition": ("Coalition",),
    "oracles.curve": ("Curve",),
    "oracles.fitted": ("fit_groups", "measure_groups"),
    "oracles.learning": ("Learning",),
    "oracles.rounds": ("Rounds",),
    "oracles.scores": ("Measure",),
    "oracles.trained": ("Trained",),
    "personal.models": ("Personal",),
    "rules.recipe": ("Recipe",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is asked for: PyTorch takes a second, which need not be waited for before anything is trained."""
    if name not in _PLACES:
        raise AttributeError(f"module 'fedabm.learning' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"fedabm.learning.{_PLACES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
