"""fedabm: an agent-based laboratory for strategic behaviour in federated learning.

Any mechanism meets any strategy on the same owners, data and seeds:

>>> from fedabm import Federation, Scenario, population
>>> from fedabm.games.accuracy import PowerLaw
>>> from fedabm.strategies import BestResponse
>>> from fedabm.simulation.activation import Sequential
>>> owners = population(costs=[0.1, 0.25], capacities=100.0, strategies=BestResponse())
>>> run = Federation(Scenario(owners, PowerLaw(), activation=Sequential())).run()
>>> run.converged, run.population.contribution.round(4).tolist(), run.gap < 1e-12
(True, [2.1623, 0.0], True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedabm.common.errors import InputError
    from fedabm.results.frames import Frames
    from fedabm.results.store import load, save
    from fedabm.simulation.model import Federation
    from fedabm.simulation.scenario import OwnerProfile, Scenario, population
    from fedabm.solving.equilibrium import Equilibrium, solve
    from fedabm.solving.game import Game
    from fedabm.solving.many import solve_many

__all__ = [
    "Equilibrium",
    "Federation",
    "Frames",
    "Game",
    "InputError",
    "OwnerProfile",
    "Scenario",
    "load",
    "population",
    "save",
    "solve",
    "solve_many",
]

_MODULES = {
    "common.errors": ("InputError",),
    "results.frames": ("Frames",),
    "results.store": ("load", "save"),
    "simulation.model": ("Federation",),
    "simulation.scenario": ("OwnerProfile", "Scenario", "population"),
    "solving.equilibrium": ("Equilibrium", "solve"),
    "solving.game": ("Game",),
    "solving.many": ("solve_many",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is asked for: Mesa, pandas and Matplotlib take seconds, which `fedabm --help` need not wait for."""
    if name == "__version__":
        from importlib.metadata import version

        return version("fedabm")
    if name not in _PLACES:
        raise AttributeError(f"module 'fedabm' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"fedabm.{_PLACES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
