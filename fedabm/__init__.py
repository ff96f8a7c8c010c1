"""fedabm: an agent-based laboratory for strategic behaviour in federated learning.

Any mechanism meets any strategy on the same owners, data and seeds:

>>> from fedabm import Federation, Scenario, population
>>> from fedabm.accuracy import PowerLaw
>>> from fedabm.strategies import BestResponse
>>> from fedabm.activation import Sequential
>>> owners = population(costs=[0.1, 0.25], capacities=100.0, strategies=BestResponse())
>>> run = Federation(Scenario(owners, PowerLaw(), activation=Sequential())).run()
>>> run.converged, run.population.contribution.round(4).tolist(), run.gap < 1e-12
(True, [2.1623, 0.0], True)
"""

from importlib.metadata import version

from fedabm.equilibrium import Equilibrium, solve
from fedabm.errors import InputError
from fedabm.frames import Frames
from fedabm.game import Game
from fedabm.model import Federation
from fedabm.scenario import OwnerProfile, Scenario, population
from fedabm.store import load, save

__version__ = version("fedabm")
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
]
