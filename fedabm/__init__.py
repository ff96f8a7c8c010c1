"""fedabm: an agent-based laboratory for strategic behaviour in federated learning.

Any mechanism meets any strategy on the same owners, data and seeds:

>>> from fedabm import Federation, Scenario, population
>>> from fedabm.accuracy import PowerLaw
>>> from fedabm.simulation import Sequential
>>> from fedabm.strategies import BestResponse
>>> owners = population(costs=[0.1, 0.25], capacities=100.0, strategies=BestResponse())
>>> run = Federation(Scenario(owners, PowerLaw(), activation=Sequential())).run()
>>> run.converged, run.population.contribution.round(4).tolist(), run.gap < 1e-12
(True, [2.1623, 0.0], True)

`dir(fedabm)` and `dir(fedabm.mechanisms)` show what is public; everything else is internal and may change.
"""

from fedabm.common.lazy import attach

_find, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> object:
    if name != "__version__":
        return _find(name)
    from importlib.metadata import version

    return version("fedabm")
